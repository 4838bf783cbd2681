//! What a client tells the daemon about agents and sessions (`docs/PROTOCOL.md`, "Commands to the
//! daemon"). Here an `agent_id` is payload, never routing.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use shard_types::{AgentId, EntryId, HeadlessPolicy, SessionId};

use crate::{
    AuthApprove, AuthList, AuthRevoke, AuthToken, FsComplete, GrantsList, GrantsRevoke, RequestKey,
    ResourcesList, SubagentCreate, SubagentRelaunch, SubagentStatus, SubagentSteer, SubagentStop,
    SubagentWait, UsageQuery, WorkspaceAttach, WorkspaceCreate, WorkspaceList, WorkspaceRetire,
    WorkspaceStatus,
};

shard_types::messages! {
    /// A command to the daemon.
    DaemonCommand {
        "agent.list" => AgentList,
        "agent.create" => AgentCreate,
        "agent.attach" => AgentAttach,
        "agent.detach" => AgentDetach,
        "agent.terminate" => AgentTerminate,
        "agent.kill" => AgentKill,
        "agent.status" => AgentStatusQuery,
        "agent.rename" => AgentRename,
        "daemon.shutdown" => DaemonShutdown,
        "session.list" => SessionList,
        "session.activate" => SessionActivate,
        "session.messages" => SessionMessages,
        "workspace.create" => WorkspaceCreate,
        "workspace.attach" => WorkspaceAttach,
        "workspace.list" => WorkspaceList,
        "workspace.status" => WorkspaceStatus,
        "workspace.retire" => WorkspaceRetire,
        "subagent.create" => SubagentCreate,
        "subagent.wait" => SubagentWait,
        "subagent.steer" => SubagentSteer,
        "subagent.relaunch" => SubagentRelaunch,
        "subagent.status" => SubagentStatus,
        "subagent.stop" => SubagentStop,
        "grants.list" => GrantsList,
        "grants.revoke" => GrantsRevoke,
        "fs.complete" => FsComplete,
        "usage.query" => UsageQuery,
        "resources.list" => ResourcesList,
        "auth.token" => AuthToken,
        "auth.approve" => AuthApprove,
        "auth.list" => AuthList,
        "auth.revoke" => AuthRevoke,
    }
}

/// Lists all agents.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct AgentList {}

/// Makes an agent; with `session_id` it adopts a session that no agent owns yet.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AgentCreate {
    /// The folder to work in.
    pub cwd: String,
    /// A session to adopt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<SessionId>,
    /// `provider/model`, or the model's name beside `provider`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The provider's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider: Option<String>,
    /// The mode's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<String>,
    /// Exactly these tools.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tools: Option<Vec<String>>,
    /// Exactly these skills.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub skills: Option<Vec<String>>,
    /// What happens to questions when nobody is there; else as the configuration says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub headless_policy: Option<HeadlessPolicy>,
    /// What to call it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The agent that launches it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent_agent_id: Option<AgentId>,
    /// System prompt of a managed child. Set by the daemon.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub system_prompt: Option<String>,
    /// Depth of a managed child; 0 for a root. Set by the daemon.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub depth: Option<u32>,
    /// What a managed child may launch. Set by the daemon.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub launch_policy: Option<LaunchPolicy>,
    /// Friendly name of a managed child. Set by the daemon.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub alias: Option<String>,
    /// Definition of a managed child. Set by the daemon.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub definition_name: Option<String>,
    /// `definition · alias`. Set by the daemon.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub display_name: Option<String>,
    /// Friendly names for what the child launches. Set by the daemon.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub names: Option<Vec<String>>,
    /// Against doing it twice after a lost answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_key: Option<RequestKey>,
}

/// What an agent may launch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LaunchPolicy {
    /// Tasks in one launch.
    pub max_tasks: u32,
    /// Levels of agents below the root.
    pub max_depth: u32,
}

/// Subscribes to an agent's events, starting its process if none runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AgentAttach {
    /// Which agent.
    pub agent_id: AgentId,
    /// In which role; interactive if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<AttachRole>,
}

/// What an attached client may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AttachRole {
    /// See everything and answer questions.
    #[default]
    Interactive,
    /// See everything.
    Observer,
}

/// Ends the subscription. The agent goes on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AgentDetach {
    /// Which agent.
    pub agent_id: AgentId,
}

/// Stops an agent's process once it is inactive.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AgentTerminate {
    /// Which agent.
    pub agent_id: AgentId,
}

/// Stops an agent's process now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AgentKill {
    /// Which agent.
    pub agent_id: AgentId,
    /// Without a chance to wind up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub force: Option<bool>,
}

/// Asks after one agent, or after all.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct AgentStatusQuery {
    /// Which agent; all if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_id: Option<AgentId>,
}

/// Gives an agent another name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AgentRename {
    /// Which agent.
    pub agent_id: AgentId,
    /// The name.
    pub name: String,
}

/// Ends the daemon.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct DaemonShutdown {
    /// Without waiting for turns to end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub force: Option<bool>,
}

/// Lists stored sessions, newest first.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct SessionList {
    /// Only those of this folder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// Forks too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub include_forks: Option<bool>,
}

/// Attaches to the agent that owns a session; adopts the session if none does.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SessionActivate {
    /// Which session.
    pub session_id: SessionId,
    /// In which role; interactive if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<AttachRole>,
}

/// Pages through the messages of a session, whether or not its agent runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SessionMessages {
    /// Which session.
    pub session_id: SessionId,
    /// Only messages before this one; the newest if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<EntryId>,
    /// How many at most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
}
