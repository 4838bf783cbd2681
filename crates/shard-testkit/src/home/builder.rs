//! Describes a home before it is made.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde_json::{Value, json};

use super::{Home, write};
use crate::child;
use crate::model::{Provider, ScriptedModel};

const README: &str = "# Readme\n\nThe first line of the text.\nThe second line of the text.\n";

const GIT_CONFIG: &str = "[user]\n\tname = Tester\n\temail = tester@example.invalid\n\
                          [init]\n\tdefaultBranch = main\n[commit]\n\tgpgsign = false\n";

/// Describes a home; see [`Home::builder`].
#[derive(Debug)]
pub struct HomeBuilder {
    base_urls: Option<[String; 2]>,
    provider: Provider,
    rules: Value,
    window: u64,
    extra_config: Vec<Value>,
    extra_env: BTreeMap<String, String>,
    binary: Option<PathBuf>,
    git: bool,
}

impl Default for HomeBuilder {
    fn default() -> Self {
        Self {
            base_urls: None,
            provider: Provider::OpenAi,
            rules: allow_all(),
            window: 100_000,
            extra_config: Vec::new(),
            extra_env: BTreeMap::new(),
            binary: None,
            git: true,
        }
    }
}

/// Permission rules that allow every tool.
#[must_use]
pub fn allow_all() -> Value {
    json!([{"action": "allow", "tool": "*"}])
}

/// Permission rules that ask for every tool.
#[must_use]
pub fn ask_all() -> Value {
    json!([{"action": "ask", "tool": "*"}])
}

impl HomeBuilder {
    /// Configures a provider `mock` that is this model, with the models `m1` (the default), `m2`
    /// and `plain` (no images). Without it there is no `config.json` unless
    /// [`HomeBuilder::config`] gives one.
    #[must_use]
    pub fn model(mut self, model: &ScriptedModel) -> Self {
        let urls = [Provider::OpenAi, Provider::Anthropic].map(|p| model.base_url(p));
        self.base_urls = Some(urls);
        self
    }

    /// Configures the provider `mock` at another address.
    #[must_use]
    pub fn base_url(mut self, url: &str) -> Self {
        self.base_urls = Some([url.to_owned(), url.to_owned()]);
        self
    }

    /// Chooses the wire format; OpenAI's otherwise.
    #[must_use]
    pub fn provider(mut self, provider: Provider) -> Self {
        self.provider = provider;
        self
    }

    /// Sets the permission rules; [`allow_all`] otherwise. They are written only where a provider
    /// is configured, so that a home without one starts without any configuration.
    #[must_use]
    pub fn rules(mut self, rules: Value) -> Self {
        self.rules = rules;
        self
    }

    /// Sets the context window of the models, in tokens; 100 000 otherwise.
    #[must_use]
    pub fn window(mut self, tokens: u64) -> Self {
        self.window = tokens;
        self
    }

    /// Merges more into `config.json`: objects key by key, all else by replacing. Can be called
    /// several times; later ones win.
    #[must_use]
    pub fn config(mut self, more: Value) -> Self {
        self.extra_config.push(more);
        self
    }

    /// Merges more into `permissions`.
    #[must_use]
    pub fn permissions(self, more: Value) -> Self {
        self.config(json!({"permissions": more}))
    }

    /// Merges more into the provider `mock`.
    #[must_use]
    pub fn provider_config(self, more: Value) -> Self {
        self.config(json!({"providers": {"mock": more}}))
    }

    /// Adds a variable to the environment of children.
    #[must_use]
    pub fn env(mut self, name: &str, value: &str) -> Self {
        self.extra_env.insert(name.to_owned(), value.to_owned());
        self
    }

    /// Starts this program instead of the one that cargo built.
    #[must_use]
    pub fn binary(mut self, path: impl Into<PathBuf>) -> Self {
        self.binary = Some(path.into());
        self
    }

    /// Makes the work directory an empty folder instead of a git repository.
    #[must_use]
    pub fn without_git(mut self) -> Self {
        self.git = false;
        self
    }

    /// Makes the home.
    ///
    /// # Panics
    /// When a file cannot be written, or git cannot be run.
    #[must_use]
    pub fn build(self) -> Home {
        let config = self.merged_config();
        let made = tempfile::Builder::new().prefix("shard-").tempdir();
        let root = made.unwrap_or_else(|error| panic!("cannot make a temporary folder: {error}"));
        let path = std::fs::canonicalize(root.path()).unwrap_or_else(|_| root.path().to_owned());
        let home = Home {
            root,
            path,
            binary: self.binary.unwrap_or_else(child::default_binary),
            config,
            extra_env: self.extra_env,
        };
        write(&home.home().join(".gitconfig"), GIT_CONFIG.as_bytes());
        for folder in [home.work(), home.config_home().join("shard")] {
            let made = std::fs::create_dir_all(&folder);
            made.unwrap_or_else(|error| panic!("cannot make {}: {error}", folder.display()));
        }
        if !home.config.is_null() {
            home.write_config(&format!("{:#}\n", home.config));
        }
        if self.git {
            home.git(&["init", "--quiet"]);
            home.write("README.md", README);
            home.git(&["add", "--all"]);
            home.git(&["commit", "--quiet", "--message", "Begin"]);
        }
        home
    }

    fn merged_config(&self) -> Value {
        let mut config = match &self.base_urls {
            Some(urls) => self.mock_config(urls),
            None => Value::Null,
        };
        for more in &self.extra_config {
            merge(&mut config, more);
        }
        config
    }

    fn mock_config(&self, [openai, anthropic]: &[String; 2]) -> Value {
        let (kind, url) = match self.provider {
            Provider::OpenAi | Provider::Responses => ("openai", openai),
            Provider::Anthropic => ("anthropic", anthropic),
        };
        let output = 4096.min(self.window / 5);
        let model = |id: &str, images: bool| json!({"id": id, "context_window": self.window, "max_output_tokens": output, "images": images});
        let mut models = [model("m1", true), model("m2", true), model("plain", false)];
        for thinker in &mut models[..2] {
            thinker["reasoning"] = json!(["low", "medium", "high"]);
        }
        let mut config = json!({
            "model": "mock/m1",
            "providers": {"mock": {
                "type": kind,
                "base_url": url,
                "api_key_env": "MOCK_KEY",
                "models": models,
            }},
            "permissions": {"rules": self.rules},
        });
        if self.provider == Provider::Responses {
            config["providers"]["mock"]["api"] = json!("responses");
        }
        config
    }
}

/// Objects are merged key by key; anything else is replaced.
fn merge(target: &mut Value, more: &Value) {
    match (target, more) {
        (Value::Object(target), Value::Object(more)) => {
            for (key, value) in more {
                merge(target.entry(key).or_insert(Value::Null), value);
            }
        }
        (target, more) => *target = more.clone(),
    }
}
