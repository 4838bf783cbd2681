//! `data` of the daemon's answers about agents and sessions.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use shard_types::{AgentId, AgentInfo, AgentStatus, EntryId, Message, SessionId};

/// Of `agent.list` and `agent.status`.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Agents {
    /// The agents.
    pub agents: Vec<AgentInfo>,
}

/// Of `agent.create` and `session.activate`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AgentCreated {
    /// The agent.
    pub agent_id: AgentId,
    /// The same request key was carried out before; nothing was done now.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub duplicate: bool,
}

/// Of `agent.attach`. A `sync` follows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Attached {
    /// What the agent is doing.
    pub status: AgentStatus,
    /// The agent.
    pub info: AgentInfo,
}

/// Of `agent.terminate`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Terminated {
    /// Active work ends first.
    pub deferred: bool,
}

/// Of `agent.rename`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Renamed {
    /// The agent with its new name.
    pub agent: AgentInfo,
}

/// Of `session.list` and `session_op: list`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Sessions {
    /// Newest first.
    pub sessions: Vec<SessionInfo>,
}

/// One stored session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SessionInfo {
    /// Which session.
    pub session_id: SessionId,
    /// The agent that owns it, if one does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_id: Option<AgentId>,
    /// The folder that it works in.
    pub cwd: String,
    /// What it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Milliseconds since the epoch.
    pub created_at: u64,
    /// Milliseconds since the epoch.
    pub updated_at: u64,
    /// How many messages it has.
    pub message_count: u64,
    /// Where it was split off.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forked_from: Option<ForkedFrom>,
}

/// Where a fork comes from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ForkedFrom {
    /// The session.
    pub session_id: SessionId,
    /// The entry.
    pub entry_id: EntryId,
}

/// Of `session.messages`.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct MessagePage {
    /// Oldest first, pictures included.
    pub messages: Vec<Message>,
    /// There are older ones.
    pub has_more: bool,
}
