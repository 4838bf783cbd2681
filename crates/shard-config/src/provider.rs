//! Places where models answer, as they stand in the configuration.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use shard_types::ModelSpec;

use crate::{Endpoint, Secret};

/// The API that a provider speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ProviderKind {
    /// The APIs of OpenAI, which many servers offer too.
    OpenAi,
    /// The Messages API.
    Anthropic,
    /// Built in and offline: no language model, answers by fixed rules.
    Demo,
}

/// Which of its two APIs a provider of type `openai` is asked by.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum OpenAiApi {
    /// Chat completions, as many servers offer them.
    #[default]
    Chat,
    /// Responses, where a model's thoughts are kept from call to call. Few servers but OpenAI's
    /// own have it.
    Responses,
}

/// One provider. At most one of the `api_key…` keys may be given.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ProviderConfig {
    /// The API that it speaks.
    #[serde(rename = "type")]
    pub kind: ProviderKind,
    /// For `openai` alone: by which of the two APIs it is asked. Left out: `chat`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub api: Option<OpenAiApi>,
    /// Where it is. `openai`: with the version, as in `http://127.0.0.1:11434/v1`; `anthropic`:
    /// without, as in `https://api.anthropic.com`. Left out: the API's own maker.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base_url: Option<Endpoint>,
    /// The environment variable that holds the key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub api_key_env: Option<String>,
    /// The file that holds the key: an absolute path, or one that begins with `~/`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub api_key_file: Option<String>,
    /// The shell command that prints the key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub api_key_command: Option<String>,
    /// The key itself; better one of the other three.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub api_key: Option<Secret>,
    /// Headers to send with each request.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, Secret>,
    /// The models that it offers. Left out: the provider's own list is asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub models: Option<Vec<ModelSpec>>,
    /// Whether a compatible server gets its own reasoning sent back. Only for chat completions.
    #[serde(default)]
    pub reasoning_replay: bool,
    /// A file with further certificates to trust, in PEM: an absolute path, or one that begins
    /// with `~/`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ca_file: Option<String>,
}

impl ProviderKind {
    /// Where the maker of the API serves it.
    #[must_use]
    pub fn default_base_url(self) -> Option<&'static str> {
        match self {
            Self::OpenAi => Some("https://api.openai.com/v1"),
            Self::Anthropic => Some("https://api.anthropic.com"),
            Self::Demo => None,
        }
    }
}

impl ProviderConfig {
    /// A provider of this kind with nothing else said.
    #[must_use]
    pub fn new(kind: ProviderKind) -> Self {
        Self {
            kind,
            api: None,
            base_url: None,
            api_key_env: None,
            api_key_file: None,
            api_key_command: None,
            api_key: None,
            headers: BTreeMap::new(),
            models: None,
            reasoning_replay: false,
            ca_file: None,
        }
    }

    /// Where requests go, without a trailing slash; `None` for the demo provider.
    #[must_use]
    pub fn effective_base_url(&self) -> Option<&str> {
        match &self.base_url {
            Some(endpoint) => Some(endpoint.as_str()),
            None => self.kind.default_base_url(),
        }
    }

    /// The names of the `api_key…` keys that are given.
    pub(crate) fn key_sources(&self) -> Vec<&'static str> {
        let given = [
            ("api_key_env", self.api_key_env.is_some()),
            ("api_key_file", self.api_key_file.is_some()),
            ("api_key_command", self.api_key_command.is_some()),
            ("api_key", self.api_key.is_some()),
        ];
        given
            .into_iter()
            .filter(|(_, given)| *given)
            .map(|(name, _)| name)
            .collect()
    }
}
