//! How an agent is to work.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use shard_contracts::Mode;
use shard_types::HeadlessPolicy;

use crate::catalog::{Catalog, Selection};
use crate::host::Snapshot;
use crate::knowledge::Knowledge;
use crate::reload::Reload;

/// Who answers questions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Responder {
    /// The peer of the connection. If it does not answer in time, the headless policy applies.
    Peer,
    /// Nobody: the headless policy applies at once.
    Nobody,
    /// A daemon, which knows who is there: it decides when the headless policy applies. What that
    /// would say goes with each request.
    Supervisor,
}

/// Everything that an agent is told at its start.
#[derive(Clone)]
pub struct Settings {
    /// The folder that it works in, symlinks resolved.
    pub cwd: PathBuf,
    /// What it can do.
    pub capabilities: Snapshot,
    /// The models that it can use.
    pub catalog: Catalog,
    /// The model to start with.
    pub model: Selection,
    /// The mode to start with.
    pub mode: Arc<dyn Mode>,
    /// Who answers questions.
    pub responder: Responder,
    /// How long a question waits for its answer.
    pub ask_timeout: Duration,
    /// What happens to a question without an answer.
    pub headless_policy: HeadlessPolicy,
    /// Provider calls in one turn.
    pub max_rounds: u32,
    /// Whether the conversation is compacted when its window fills up, without being asked to.
    pub auto_compact: bool,
    /// How many of the newest tokens a compaction keeps as they are, within what the model takes.
    pub keep_recent_tokens: u64,
    /// How much of a tool's output goes to the model, in bytes.
    pub max_output_bytes: usize,
    /// What people wrote down for agents: a part of the system prompt.
    pub knowledge: Arc<Knowledge>,
    /// What is looked at again at the start of each turn; nothing, if left out.
    pub reload: Option<Arc<Reload>>,
    /// Where output that is too long is kept.
    pub output_dir: PathBuf,
}
