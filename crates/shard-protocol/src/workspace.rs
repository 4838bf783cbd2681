//! Managed worktrees: commands, answers and the picture of one that clients get. No path but the
//! worktree's own and its project's root ever leaves the daemon.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use shard_types::{AgentId, SessionId, WorkspaceId};

use crate::RequestKey;

/// Makes a worktree and an agent in it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WorkspaceCreate {
    /// Version of the command; 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<u32>,
    /// A folder of the repository.
    pub cwd: String,
    /// What to call the workspace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// The branch to make.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    /// Where the branch starts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base_ref: Option<String>,
    /// The branch that the work is meant to reach.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub integration_target: Option<String>,
    /// What the session is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// What to call the agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The agent's model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The model's provider.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider: Option<String>,
    /// The agent's mode.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<String>,
    /// Against doing it twice after a lost answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_key: Option<RequestKey>,
}

/// Starts another agent in a workspace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WorkspaceAttach {
    /// Version of the command; 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<u32>,
    /// Which workspace.
    pub workspace_id: WorkspaceId,
    /// What the session is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// What to call the agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The agent's model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The model's provider.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider: Option<String>,
    /// The agent's mode.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<String>,
    /// Against doing it twice after a lost answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_key: Option<RequestKey>,
}

/// Lists workspaces.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct WorkspaceList {
    /// Version of the command; 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<u32>,
    /// Only those of the repository of this folder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// Retired ones too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub include_retired: Option<bool>,
}

/// Asks after one workspace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WorkspaceStatus {
    /// Version of the command; 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<u32>,
    /// Which workspace.
    pub workspace_id: WorkspaceId,
}

/// Removes a workspace's worktree, and its branch if that is safe.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WorkspaceRetire {
    /// Version of the command; 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<u32>,
    /// Which workspace.
    pub workspace_id: WorkspaceId,
    /// What becomes of its branch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch_disposition: Option<BranchDisposition>,
}

/// What becomes of a retired workspace's branch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum BranchDisposition {
    /// It is deleted if all its work has reached the integration target.
    #[default]
    DeleteIfMerged,
    /// It stays.
    Keep,
    /// It is deleted, as a person confirmed.
    DeleteConfirmed,
}

/// Of `workspace.create`, `workspace.attach`, `workspace.status` and `workspace.retire`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WorkspaceData {
    /// The workspace.
    pub workspace: Workspace,
    /// The agent that was started, by `create` and `attach`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_id: Option<AgentId>,
    /// The session of that agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<SessionId>,
    /// The same request key was carried out before; nothing was done now.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub duplicate: bool,
}

/// Of `workspace.list`.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Workspaces {
    /// The workspaces.
    pub workspaces: Vec<Workspace>,
}

/// One workspace.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Workspace {
    /// Which workspace.
    pub workspace_id: WorkspaceId,
    /// What it is called.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// The worktree.
    pub cwd: String,
    /// The root of the project that it belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repository_cwd: Option<String>,
    /// Who made it: `managed`.
    pub ownership: String,
    /// Where it stands in its life.
    pub lifecycle: WorkspaceLifecycle,
    /// Its branch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    /// Where the branch started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base_ref: Option<String>,
    /// The branch that the work is meant to reach.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub integration_target: Option<String>,
    /// Tells this repository from others without naming a path.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repository_fingerprint: Option<String>,
    /// Tells this worktree from others without naming a path.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worktree_fingerprint: Option<String>,
    /// Milliseconds since the epoch.
    pub created_at: u64,
    /// Milliseconds since the epoch.
    pub updated_at: u64,
    /// Milliseconds since the epoch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retired_at: Option<u64>,
    /// How many agents it has had.
    pub agent_count: u64,
    /// Those agents; in details only.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub agent_ids: Vec<AgentId>,
    /// What became of it, or how it differs from what it should be; in details only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conflict: Option<String>,
}

/// Where a workspace stands in its life.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WorkspaceLifecycle {
    /// On its way.
    Creating,
    /// In use.
    Active,
    /// Being removed.
    Retiring,
    /// Removed; a tombstone.
    Retired,
    /// Not as it was left.
    Conflict,
}

/// `error.data` of a refused workspace command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WorkspaceRefusal {
    /// Why.
    pub kind: WorkspaceRefusalKind,
    /// Which workspace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace_id: Option<WorkspaceId>,
    /// In words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// With `confirmation_required`: what to send to go on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confirmation_disposition: Option<BranchDisposition>,
}

/// Why a workspace command is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WorkspaceRefusalKind {
    /// An agent runs in it.
    Live,
    /// Another command works on it.
    Busy,
    /// It holds work that is nowhere else.
    Dirty,
    /// Its record does not prove that it is ours.
    MissingAuthority,
    /// It is not where it should be.
    Unsafe,
    /// A person must say so.
    ConfirmationRequired,
}
