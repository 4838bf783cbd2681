//! The tools of one agent, with what is worked out about each once: how a model is told of it, and
//! how its arguments are checked. Both are made when they are first needed.

use std::sync::{Arc, OnceLock};

use jsonschema::Validator;
use serde_json::{Map, Value};
use shard_contracts::{Mode, Tool, ToolDeclaration};

/// Most mistakes of one call that the model is told of.
const MISTAKES: usize = 5;

/// All tools, in the order in which a model is told of them.
pub(crate) struct Toolbox {
    entries: Vec<Entry>,
}

/// One tool.
pub(crate) struct Entry {
    pub(crate) tool: Arc<dyn Tool>,
    declaration: OnceLock<ToolDeclaration>,
    validator: OnceLock<Result<Validator, String>>,
}

impl Toolbox {
    pub(crate) fn new(tools: &[Arc<dyn Tool>]) -> Self {
        let entry = |tool: &Arc<dyn Tool>| Entry {
            tool: Arc::clone(tool),
            declaration: OnceLock::new(),
            validator: OnceLock::new(),
        };
        Self {
            entries: tools.iter().map(entry).collect(),
        }
    }

    /// What the model is told of in this mode.
    pub(crate) fn declarations(&self, mode: &dyn Mode) -> Vec<ToolDeclaration> {
        self.offered(mode)
            .map(|entry| entry.declaration().clone())
            .collect()
    }

    /// The tool of this name, if the mode offers it; else a text for the model.
    pub(crate) fn find(&self, name: &str, mode: &dyn Mode) -> Result<&Entry, String> {
        let found = self.offered(mode).find(|entry| entry.tool.name() == name);
        found.ok_or_else(|| {
            let known: Vec<_> = self.offered(mode).map(|entry| entry.tool.name()).collect();
            let has = |entry: &Entry| entry.tool.name() == name && entry.tool.available();
            let what = if self.entries.iter().any(has) {
                format!("the mode {} does not have the tool {name:?}", mode.name())
            } else {
                format!("there is no tool {name:?}")
            };
            format!("{what}; use one of: {}", known.join(", "))
        })
    }

    fn offered(&self, mode: &dyn Mode) -> impl Iterator<Item = &Entry> {
        self.entries
            .iter()
            .filter(move |entry| entry.tool.available() && mode.offers(&*entry.tool))
    }
}

impl Entry {
    fn declaration(&self) -> &ToolDeclaration {
        self.declaration.get_or_init(|| ToolDeclaration {
            name: self.tool.name().to_owned(),
            description: self.tool.description().to_owned(),
            input_schema: self.tool.input_schema(),
        })
    }

    /// Checks the arguments against the tool's schema. The message names the field and repeats no
    /// value, which may be a whole file.
    pub(crate) fn validate(&self, args: &Map<String, Value>) -> Result<(), String> {
        let name = self.tool.name();
        let validator = self.validator.get_or_init(|| {
            let schema = &self.declaration().input_schema;
            jsonschema::validator_for(schema)
                .map_err(|error| format!("the tool {name} has a schema that is not valid: {error}"))
        });
        let validator = validator.as_ref().map_err(Clone::clone)?;
        let args = Value::Object(args.clone());
        let mistakes: Vec<_> = validator
            .iter_errors(&args)
            .take(MISTAKES)
            .map(|error| match error.instance_path().as_str() {
                "" => error.masked().to_string(),
                path => format!("{}: {}", path.trim_start_matches('/'), error.masked()),
            })
            .collect();
        if mistakes.is_empty() {
            return Ok(());
        }
        Err(format!(
            "the arguments of {name} do not fit, so nothing was run: {}",
            mistakes.join("; ")
        ))
    }
}
