//! The answer to a command.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use shard_types::ErrorCode;

/// Answers the command whose `id` it carries. A command without an `id` gets none.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Response {
    /// The command's `id`.
    pub id: String,
    /// The command's `type`.
    pub command: String,
    /// Whether it was carried out, or accepted.
    pub success: bool,
    /// What it gave; its shape depends on the command.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<Value>,
    /// Why not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<ErrorBody>,
}

/// Why a command was not carried out.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, thiserror::Error)]
#[error("{message}")]
pub struct ErrorBody {
    /// What a program may branch on.
    pub code: ErrorCode,
    /// What was tried, on what, and what to do next.
    pub message: String,
    /// Facts for programs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<Value>,
}

impl ErrorBody {
    /// An error without further facts.
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            data: None,
        }
    }
}

impl Response {
    /// The answer to `command`. `Null` data is left out.
    #[must_use]
    pub fn to(id: String, command: String, outcome: Result<Value, ErrorBody>) -> Self {
        let (data, error) = match outcome {
            Ok(data) => (Some(data).filter(|data| !data.is_null()), None),
            Err(error) => (None, Some(error)),
        };
        Self {
            id,
            command,
            success: error.is_none(),
            data,
            error,
        }
    }
}
