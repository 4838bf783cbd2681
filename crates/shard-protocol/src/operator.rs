//! Commands for whoever runs the machine: grants, usage, resources, path completion, enrolled
//! browsers; with the `data` of their answers.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use shard_types::{AgentId, GrantId, GrantInfo, ListedPath, PrincipalId};

/// Lists what an agent may do unasked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct GrantsList {
    /// Which agent.
    pub agent_id: AgentId,
}

/// Takes a standing permission back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct GrantsRevoke {
    /// Which agent.
    pub agent_id: AgentId,
    /// Which grant.
    pub grant_id: GrantId,
}

/// Of `grants.list`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Grants {
    /// The grants.
    pub grants: Vec<GrantInfo>,
}

/// Completes a path: below an agent's folder, or any folder for the new-agent dialog.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FsComplete {
    /// The agent whose folder it is about; without one, only folders are listed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_id: Option<AgentId>,
    /// The folder that a relative prefix starts from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// What has been typed.
    pub prefix: String,
    /// How many at most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
}

/// Of `fs.complete`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct PathCompletions {
    /// Names only, never contents.
    pub paths: Vec<ListedPath>,
}

/// Sums tokens and cost.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct UsageQuery {
    /// From when, in milliseconds since the epoch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<u64>,
    /// Until when, in milliseconds since the epoch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<u64>,
    /// One row for each what.
    pub group_by: UsageGroup,
}

/// What a row of usage stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "the names say it")]
pub enum UsageGroup {
    Day,
    Model,
    Agent,
    Project,
}

/// Of `usage.query`.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct UsageRows {
    /// The rows.
    pub rows: Vec<UsageRow>,
}

/// One sum.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct UsageRow {
    /// What the row stands for.
    pub key: String,
    /// Tokens read and not served from a cache.
    pub input: u64,
    /// Tokens written.
    pub output: u64,
    /// Tokens served from a cache.
    pub cache_read: u64,
    /// Tokens put into a cache.
    pub cache_write: u64,
    /// US dollars.
    pub cost: f64,
    /// Provider calls.
    pub calls: u64,
}

/// Lists what an agent knows at its start: context files, skills, definitions, rules, extensions.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct ResourcesList {
    /// For this agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_id: Option<AgentId>,
    /// For this folder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
}

/// Of `resources.list`.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Resources {
    /// All that was found.
    pub resources: Vec<ResourceInfo>,
}

/// One thing that an agent may know.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ResourceInfo {
    /// What it is: `context`, `skill`, `agent`, `rules`, `extension` or `mcp`.
    pub kind: String,
    /// What it calls itself; of what was not read, the name of its file or folder.
    pub name: String,
    /// Where it stands.
    pub path: String,
    /// Whose it is: `bundled`, `user` or `project`.
    pub layer: String,
    /// Whether it is in force.
    pub active: bool,
    /// What it says that it is for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// What else its front matter says. For people: nothing of it is believed.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub details: Map<String, Value>,
    /// Why not, and whatever else is worth saying.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub diagnostics: Vec<String>,
}

/// Makes a setup token. On the unix socket only.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct AuthToken {}

/// Of `auth.token`.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SetupToken {
    /// Works once.
    pub token: String,
    /// The page that takes it.
    pub url: String,
    /// Milliseconds since the epoch.
    pub expires_at: u64,
}

impl std::fmt::Debug for SetupToken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SetupToken")
            .field("expires_at", &self.expires_at)
            .finish_non_exhaustive()
    }
}

/// Lets a browser in that shows this code. On the unix socket only.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AuthApprove {
    /// The code.
    pub code: String,
}

/// Lists enrollments and enrolled browsers.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct AuthList {}

/// Of `auth.list`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Enrollments {
    /// Browsers that wait to be let in.
    pub pending: Vec<PendingEnrollment>,
    /// Browsers that are in.
    pub principals: Vec<PrincipalInfo>,
}

/// A browser that waits to be let in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PendingEnrollment {
    /// The code that it shows.
    pub code: String,
    /// Milliseconds since the epoch.
    pub created_at: u64,
    /// Milliseconds since the epoch.
    pub expires_at: u64,
}

/// A browser that is in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PrincipalInfo {
    /// Which.
    pub principal_id: PrincipalId,
    /// Milliseconds since the epoch.
    pub created_at: u64,
    /// Milliseconds since the epoch.
    pub last_seen_at: u64,
    /// What it calls itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user_agent: Option<String>,
}

/// Puts a browser out, closing its connections.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AuthRevoke {
    /// Which.
    pub principal_id: PrincipalId,
}
