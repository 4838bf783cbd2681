//! What the registry says of an agent.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{AgentId, SessionId, Usage};

/// What an agent is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AgentStatus {
    /// It waits for a prompt.
    #[default]
    Idle,
    /// A turn runs.
    Streaming,
    /// A turn waits until a person allows or denies a call.
    WaitingForPermission,
    /// A turn waits until a person answers a dialog.
    WaitingForUi,
    /// The history is being compacted.
    Compacting,
    /// The last turn failed; the next command clears it.
    Error,
}

/// Whether a process serves the agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RuntimeState {
    /// None; work or an attachment starts one.
    Stopped,
    /// One is on its way.
    Starting,
    /// One is ready.
    Running,
    /// The last one ended by itself.
    Failed,
}

/// Coarse activity, for overviews. It never says what about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "the names say it")]
pub enum Phase {
    Idle,
    Thinking,
    Streaming,
    Tool,
    Waiting,
    Compacting,
    Retrying,
    Error,
}

/// What happens to a question that nobody is there to answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum HeadlessPolicy {
    /// The call is denied.
    #[default]
    Deny,
    /// The call runs if any allow rule or grant covers it, passing over `ask` rules; else it is denied.
    AllowIfRuleMatches,
    /// The turn waits for a person.
    Queue,
}

/// One agent as the registry lists it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AgentInfo {
    /// Which agent.
    pub agent_id: AgentId,
    /// Its session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<SessionId>,
    /// What its owner calls it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The folder it works in.
    pub cwd: String,
    /// The model's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The model's provider.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider: Option<String>,
    /// The active mode.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<String>,
    /// What it is doing.
    pub status: AgentStatus,
    /// Whether a process serves it.
    pub runtime_state: RuntimeState,
    /// Milliseconds since the epoch.
    pub created_at: u64,
    /// What it has used so far.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// The agent that launched it, if one did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent_agent_id: Option<AgentId>,
    /// Friendly name within the parent; for display, never an id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub alias: Option<String>,
    /// The definition that it was launched from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub definition_name: Option<String>,
    /// `definition · alias`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub display_name: Option<String>,
}
