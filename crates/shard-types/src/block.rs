//! The flat view of a conversation that extractors read.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// One step of a conversation, with tool calls and results already paired.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum NormalizedBlock {
    /// A person's words.
    User {
        /// The text.
        text: String,
    },
    /// The model's words.
    Assistant {
        /// The text.
        text: String,
    },
    /// A call of any tool but `bash`.
    ToolCall {
        /// The tool.
        name: String,
        /// Its arguments.
        args: Map<String, Value>,
    },
    /// The result of a call of any tool but `bash`.
    ToolResult {
        /// The tool.
        name: String,
        /// What it answered.
        text: String,
        /// Whether it failed.
        #[serde(rename = "isError")]
        is_error: bool,
    },
    /// A shell command with its output.
    Bash {
        /// The command line.
        command: String,
        /// What it printed.
        output: String,
        /// Its exit code, if it ended.
        #[serde(rename = "exitCode", default, skip_serializing_if = "Option::is_none")]
        exit_code: Option<i32>,
    },
    /// The model's thoughts.
    Thinking {
        /// The text.
        text: String,
    },
}
