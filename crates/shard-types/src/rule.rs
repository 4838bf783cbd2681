//! Permission rules as people write them (`docs/CONFIGURATION.md`, "Permissions").

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a rule does with the calls that it covers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RuleAction {
    /// They run.
    Allow,
    /// A person is asked.
    Ask,
    /// They are refused, whatever else allows them.
    Deny,
}

/// One rule. A key that is left out covers everything.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    /// What it does.
    pub action: RuleAction,
    /// The tool's name, or a glob.
    pub tool: String,
    /// Pattern for shell commands: `*` matches anything, and a trailing ` *` also nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// Glob for paths: `*` stays within a folder, `**` crosses folders.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// What the model is told when the rule refuses a call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}
