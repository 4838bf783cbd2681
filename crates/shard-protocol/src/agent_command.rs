//! What a client tells one agent (`docs/PROTOCOL.md`, "Commands to an agent").

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use shard_types::event::UiValue;
use shard_types::{EntryId, Image, PermissionDecision, RequestId, TurnId};

shard_types::messages! {
    /// A command to one agent.
    AgentCommand {
        "prompt" => Prompt,
        "steer" => Steer,
        "abort" => Abort,
        "set_mode" => SetMode,
        "list_modes" => ListModes,
        "list_models" => ListModels,
        "set_model" => SetModel,
        "list_reasoning_levels" => ListReasoningLevels,
        "set_reasoning_level" => SetReasoningLevel,
        "session_op" => SessionOp,
        "permission_response" => PermissionResponse,
        "ui_response" => UiResponse,
    }
}

/// Sends a user message. The answer says that it is accepted, and is given once it is on disk; the
/// turn itself comes as events.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Prompt {
    /// The text.
    pub message: String,
    /// Pictures.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub images: Vec<Image>,
    /// Needed while a turn runs: when to deliver.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub streaming_behavior: Option<StreamingBehavior>,
    /// Against doing it twice after a lost answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_key: Option<RequestKey>,
}

/// When a prompt that meets a running turn is delivered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum StreamingBehavior {
    /// After the tool calls that run now, before the next provider call.
    Steer,
    /// Once the agent has fully stopped.
    FollowUp,
}

/// A client's own key for a command that starts something: 1 to 64 of `A-Z a-z 0-9 _ . : -`. The
/// same key again does nothing and gets the first answer again.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String")]
#[schemars(extend("pattern" = "^[A-Za-z0-9_.:-]{1,64}$"))]
pub struct RequestKey(String);

impl RequestKey {
    /// The key's text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for RequestKey {
    type Error = &'static str;

    fn try_from(raw: String) -> Result<Self, Self::Error> {
        let plain = |c: char| c.is_ascii_alphanumeric() || "_.:-".contains(c);
        if (1..=64).contains(&raw.len()) && raw.chars().all(plain) {
            Ok(Self(raw))
        } else {
            Err("a request key is 1 to 64 of A-Z a-z 0-9 _ . : -")
        }
    }
}

/// Like a prompt with `streaming_behavior: "steer"`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Steer {
    /// The text.
    pub message: String,
    /// Pictures.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub images: Vec<Image>,
    /// Against doing it twice after a lost answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_key: Option<RequestKey>,
    /// Only into this turn, or not at all. Between a daemon and its runtime only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expect: Option<SteerExpect>,
}

/// The turn that a strict steer is for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SteerExpect {
    /// The turn.
    pub turn_id: TurnId,
    /// The run that the turn belongs to.
    pub run_id: shard_types::RunId,
    /// Pairs the answer with the wish.
    pub correlation_id: String,
}

/// Ends the turn. The answer comes after `turn_end`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Abort {}

/// Switches the mode.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SetMode {
    /// The mode's name.
    pub mode: String,
}

/// Lists the modes.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct ListModes {}

/// Lists the models.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct ListModels {}

/// Picks a model, from the next provider call on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SetModel {
    /// `provider/model`.
    pub model: String,
}

/// Lists the reasoning efforts of the active model.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct ListReasoningLevels {}

/// Picks a reasoning effort, from the next provider call on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SetReasoningLevel {
    /// The active model as the sender knows it; another one is a conflict.
    pub model: String,
    /// The effort.
    pub effort: String,
}

/// Works on the session as a whole.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SessionOp {
    /// What to do.
    pub op: SessionOpKind,
    /// How. Which fields count depends on `op`; they are validated when it is carried out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub args: Option<SessionOpArgs>,
    /// Against forking twice after a lost answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_key: Option<RequestKey>,
}

/// What `session_op` does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SessionOpKind {
    /// Lists this session and its forks.
    List,
    /// Compacts the history now.
    Compact,
    /// Splits the conversation at an entry into a new session.
    Fork,
}

/// Arguments of `session_op`.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct SessionOpArgs {
    /// `compact`: how many of the newest tokens stay, a positive integer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<u64>", range(min = 1))]
    pub keep_recent_tokens: Option<serde_json::Number>,
    /// `fork`: the entry to split at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from_entry_id: Option<EntryId>,
}

/// Answers a permission request, in exactly one of the two forms.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PermissionResponse {
    /// Which request.
    pub request_id: RequestId,
    /// One of the offered choices.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub choice_id: Option<String>,
    /// A plain answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decision: Option<PermissionDecision>,
    /// Why; reaches the model when the answer is no.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Who answers. Set by the daemon, such as `headless`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
}

/// Answers a dialog.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct UiResponse {
    /// Which dialog.
    pub request_id: RequestId,
    /// The answer; null to close the dialog without one.
    #[serde(deserialize_with = "Option::deserialize")]
    #[schemars(schema_with = "UiValue::or_null")]
    pub value: Option<UiValue>,
    /// Who answers. Set by the daemon, such as `headless`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
}
