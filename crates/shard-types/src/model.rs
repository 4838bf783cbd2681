//! Models as clients see them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One model of the catalog. It holds no secret.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ModelDescriptor {
    /// `provider/model`.
    pub id: String,
    /// The provider's name in the configuration.
    pub provider: String,
    /// The model's name at the provider.
    pub model: String,
    /// How many tokens fit, where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context_window: Option<u64>,
}

/// Prices in US dollars for a million tokens.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Cost {
    /// Read, not from a cache.
    pub input: f64,
    /// Written.
    pub output: f64,
    /// Served from the provider's cache.
    pub cache_read: f64,
    /// Put into the provider's cache.
    pub cache_write: f64,
}

/// One step of a model's reasoning effort.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ReasoningLevel {
    /// What `set_reasoning_level` takes.
    pub id: String,
    /// What a person reads.
    pub label: String,
    /// What it means.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
}

/// What Shard knows of a model: from the configuration, or from the provider's own list.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct ModelSpec {
    /// The model's name at the provider.
    pub id: String,
    /// How many tokens fit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context_window: Option<u64>,
    /// How many tokens one answer may have.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_output_tokens: Option<u64>,
    /// Whether it takes pictures.
    #[serde(default)]
    pub images: bool,
    /// Names of its reasoning efforts, from least to most; empty when it has none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reasoning: Vec<String>,
    /// Its prices.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<Cost>,
}
