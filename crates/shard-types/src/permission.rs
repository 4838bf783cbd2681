//! How a question about a tool call is put, and how it can be answered.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The plain answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PermissionDecision {
    /// This once.
    Allow,
    /// This exact call, from now on.
    AllowAlways,
    /// No.
    Deny,
}

/// One thing that a person should see before they answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PermissionDetail {
    /// What it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// The value, with control characters made visible.
    pub value: String,
    /// How to set it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub format: Option<DetailFormat>,
}

/// How a detail is set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "the names say it")]
pub enum DetailFormat {
    Text,
    Command,
    Path,
    Code,
}

/// One answer that the server offers. What it stands for is the server's to know.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PermissionChoice {
    /// What `permission_response` takes as `choice_id`.
    pub id: String,
    /// What a person reads.
    pub label: String,
    /// What it means.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// A key that picks it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub accelerator: Option<String>,
    /// What sort of answer it is.
    pub intent: ChoiceIntent,
}

/// What sort of answer a choice is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ChoiceIntent {
    /// Yes, once.
    Allow,
    /// Yes, and remembered.
    Persist,
    /// No.
    Deny,
}
