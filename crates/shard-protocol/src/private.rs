//! What a daemon tells the runtime that it started, on that runtime's stdin. All but the first are
//! for whoever else starts an agent, too.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use shard_types::{AgentId, GrantId};

shard_types::messages! {
    /// A line between a daemon and its runtime.
    RuntimeCommand {
        "runtime.init" => RuntimeInit,
        "sync" => SyncRequest,
        "grants.list" => OwnGrantsList,
        "grants.revoke" => OwnGrantsRevoke,
    }
}

/// The first line that a supervised runtime reads.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RuntimeInit {
    /// This generation's proof of who it is.
    pub token: String,
    /// The agent that it serves.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_id: Option<AgentId>,
    /// The daemon's unix socket.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub socket_path: Option<String>,
}

impl std::fmt::Debug for RuntimeInit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RuntimeInit")
            .field("agent_id", &self.agent_id)
            .finish_non_exhaustive()
    }
}

/// Asks for a `sync` in the order of the events.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct SyncRequest {}

/// Lists what the agent at the other end may do unasked.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct OwnGrantsList {}

/// Takes a standing permission back from the agent at the other end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OwnGrantsRevoke {
    /// Which grant.
    pub grant_id: GrantId,
}
