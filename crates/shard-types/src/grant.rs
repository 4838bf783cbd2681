//! Standing permissions, as they are listed.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::GrantId;

/// One standing permission.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct GrantInfo {
    /// Which grant.
    pub grant_id: GrantId,
    /// The tool.
    pub tool: String,
    /// What it covers, in words.
    pub summary: String,
    /// Milliseconds since the epoch.
    pub created_at: u64,
    /// The client that gave it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// How many calls it has let through.
    pub used: u64,
    /// Milliseconds since the epoch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_used_at: Option<u64>,
    /// What sort it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<GrantKind>,
}

/// How a grant decides what it covers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum GrantKind {
    /// One call, to the letter.
    Exact,
    /// Shell lines of certain commands, each with certain flags and operands.
    BashSignature,
    /// Nothing: it is damaged, or of a later version.
    NotUnderstood,
}
