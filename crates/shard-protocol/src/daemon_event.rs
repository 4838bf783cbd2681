//! What the daemon tells every client about agents, workspaces and jobs.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use shard_types::{
    AgentId, AgentInfo, AgentStatus, JobId, Phase, RunId, RunState, RuntimeState, SessionId,
};

use crate::Workspace;

shard_types::messages! {
    /// One event of the daemon. An `agent_id` in it is payload, not routing.
    DaemonEvent {
        "agent_spawned" => AgentSpawned,
        "agent_exited" => AgentExited,
        "agent_status_changed" => AgentStatusChanged,
        "agent_activity" => AgentActivity,
        "workspace_created" => WorkspaceCreated,
        "workspace_attached" => WorkspaceAttached,
        "workspace_retired" => WorkspaceRetired,
        "workspace_conflict" => WorkspaceConflict,
        "subagent_run_changed" => SubagentRunChanged,
    }
}

/// An agent was made.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AgentSpawned {
    /// Which agent.
    pub agent_id: AgentId,
    /// The agent.
    pub info: AgentInfo,
}

/// An agent's process ended by itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AgentExited {
    /// Which agent.
    pub agent_id: AgentId,
    /// Always `failed`.
    pub runtime_state: RuntimeState,
    /// Why, as far as it is known.
    pub reason: String,
    /// The exit code, if it had one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
}

/// An agent does something else now, or its process started or stopped.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AgentStatusChanged {
    /// Which agent.
    pub agent_id: AgentId,
    /// What it is doing.
    pub status: AgentStatus,
    /// Whether a process serves it.
    pub runtime_state: RuntimeState,
    /// More about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
}

/// Coarse activity, for overviews. Never a text, an argument or a path.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AgentActivity {
    /// Which agent.
    pub agent_id: AgentId,
    /// Milliseconds since the epoch.
    pub timestamp: u64,
    /// What it is at.
    pub phase: Phase,
    /// Its status.
    pub status: AgentStatus,
    /// The tool that runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_name: Option<String>,
}

/// A workspace was made.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WorkspaceCreated {
    /// The workspace.
    pub workspace: Workspace,
}

/// An agent was started in a workspace.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WorkspaceAttached {
    /// The workspace.
    pub workspace: Workspace,
    /// The new agent.
    pub agent_id: AgentId,
    /// Its session.
    pub session_id: SessionId,
}

/// A workspace was retired.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WorkspaceRetired {
    /// The workspace.
    pub workspace: Workspace,
}

/// A workspace does not look as it was left.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WorkspaceConflict {
    /// The workspace.
    pub workspace: Workspace,
    /// How, without paths.
    pub reason: String,
}

/// A run of a background job moved on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SubagentRunChanged {
    /// Who launched the job.
    pub parent_agent_id: AgentId,
    /// The job.
    pub job_id: JobId,
    /// The run.
    pub run_id: RunId,
    /// The agent that carries it out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_id: Option<AgentId>,
    /// Friendly name of that agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub alias: Option<String>,
    /// The definition of that agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub definition_name: Option<String>,
    /// `definition · alias`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub display_name: Option<String>,
    /// Where it stands now.
    pub state: RunState,
    /// Where it stood.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub previous_state: Option<RunState>,
    /// Why it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Milliseconds since the epoch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<u64>,
}
