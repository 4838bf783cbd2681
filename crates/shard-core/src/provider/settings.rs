//! What a provider is told when it is made.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use shard_config::{OpenAiApi, ProviderKind, Secret};
use shard_contracts::Provider;
use shard_types::ModelSpec;

use super::anthropic::Anthropic;
use super::demo::Demo;
use super::failure::public_url;
use super::http::Link;
use super::openai::OpenAi;
use super::responses::Responses;

/// How long a server may keep silent, before its first byte and between two chunks.
const STALL_TIMEOUT: Duration = Duration::from_secs(120);

/// How long a connection may take to come about.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// Fetches a key; the error says why there is none.
type Fetch = dyn Fn() -> BoxFuture<'static, Result<Secret, String>> + Send + Sync;

/// Where the key comes from.
#[derive(Clone, Default)]
pub enum KeySource {
    /// The server wants none.
    #[default]
    None,
    /// It is known.
    Fixed(Secret),
    /// It is asked for by the first call, kept, and asked for again after the server refused it.
    /// The error must not hold the key.
    Lazy(Arc<Fetch>),
}

impl fmt::Debug for KeySource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::None => "None",
            Self::Fixed(_) => "Fixed(***)",
            Self::Lazy(_) => "Lazy",
        })
    }
}

/// Everything that a provider needs to know.
#[derive(Clone)]
pub struct ProviderSettings {
    /// Its name in the configuration.
    pub name: String,
    /// What it speaks.
    pub kind: ProviderKind,
    /// By which API it is asked. Only for `OpenAi`.
    pub api: OpenAiApi,
    /// For `OpenAi` with the version (`…/v1`), for `Anthropic` without; empty means the vendor's.
    pub base_url: String,
    /// Sent with every request; they win over those that the kind implies.
    pub headers: Vec<(String, String)>,
    /// The key.
    pub key: KeySource,
    /// What a person should look at when the key is refused, such as `the variable OPENAI_API_KEY`.
    pub key_origin: Option<String>,
    /// Its models; empty means that the server is asked.
    pub models: Vec<ModelSpec>,
    /// Whether the reasoning of earlier answers is sent back as `reasoning_content`. Some servers
    /// refuse requests without it, others refuse requests with it. Only for chat completions.
    pub reasoning_replay: bool,
    /// A file of further certificates to trust, in PEM.
    pub ca_file: Option<PathBuf>,
    /// How long the server may keep silent.
    pub stall_timeout: Duration,
    /// How long a connection may take to come about.
    pub connect_timeout: Duration,
}

impl ProviderSettings {
    /// Settings with the usual timeouts, without key, headers or a list of models.
    pub fn new(name: impl Into<String>, kind: ProviderKind, base_url: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            kind,
            api: OpenAiApi::default(),
            base_url: base_url.into(),
            headers: Vec::new(),
            key: KeySource::None,
            key_origin: None,
            models: Vec::new(),
            ca_file: None,
            reasoning_replay: false,
            stall_timeout: STALL_TIMEOUT,
            connect_timeout: CONNECT_TIMEOUT,
        }
    }

    /// The address that requests are built on.
    pub(super) fn base(&self) -> &str {
        match (self.base_url.trim(), self.kind) {
            ("", ProviderKind::OpenAi) => "https://api.openai.com/v1",
            ("", ProviderKind::Anthropic) => "https://api.anthropic.com",
            (base, _) => base,
        }
    }
}

/// Shows neither header values nor the parts of the address that may hold a key.
impl fmt::Debug for ProviderSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let headers: Vec<&str> = self.headers.iter().map(|(name, _)| name.as_str()).collect();
        f.debug_struct("ProviderSettings")
            .field("name", &self.name)
            .field("kind", &self.kind)
            .field("base_url", &public_url(self.base()))
            .field("headers", &headers)
            .field("key", &self.key)
            .field("models", &self.models.len())
            .finish_non_exhaustive()
    }
}

/// Makes a provider. Cheap: nothing is connected, read or asked before the first call.
#[must_use]
pub fn build(settings: ProviderSettings) -> Arc<dyn Provider> {
    match settings.kind {
        ProviderKind::OpenAi => match settings.api {
            OpenAiApi::Chat => Arc::new(OpenAi::new(Link::new(settings))),
            OpenAiApi::Responses => Arc::new(Responses::new(Link::new(settings))),
        },
        ProviderKind::Anthropic => Arc::new(Anthropic::new(Link::new(settings))),
        ProviderKind::Demo => Arc::new(Demo::new(settings.name)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_print_no_secret() {
        let settings = ProviderSettings {
            headers: vec![("x-token".into(), "header-secret".into())],
            key: KeySource::Fixed(Secret::new("key-secret")),
            ..ProviderSettings::new("p", ProviderKind::OpenAi, "http://u:pw@h/v1?k=url-secret")
        };
        let shown = format!("{settings:?}");
        for secret in ["header-secret", "key-secret", "url-secret", "pw"] {
            assert!(!shown.contains(secret), "{shown}");
        }
        assert!(
            shown.contains("x-token") && shown.contains("http://h/v1"),
            "{shown}"
        );
    }
}
