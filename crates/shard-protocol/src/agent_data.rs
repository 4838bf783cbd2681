//! `data` of the answers to commands to an agent.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use shard_types::event::{Effective, QueuedPrompt};
use shard_types::{EntryId, ModelDescriptor, ReasoningLevel, SessionId};

/// Of `prompt` and `steer`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Accepted {
    /// The id that the message has, or will have.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message_id: Option<EntryId>,
    /// The same request key was carried out before; nothing was done now.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub duplicate: bool,
}

/// Of `abort`.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Aborted {
    /// Prompts that waited and were not started.
    pub cleared: Vec<QueuedPrompt>,
}

/// Of an answer to a question that is closed already.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Answered {
    /// The answer came too late, or for a question that never was; nothing happened.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub late: bool,
}

/// Of `set_mode`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ModeSet {
    /// The mode until now.
    pub previous_mode: String,
    /// The mode from now on.
    pub mode: String,
}

/// A mode as clients see it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ModeDescriptor {
    /// Its name.
    pub name: String,
    /// What it is for.
    pub description: String,
}

/// Of `list_modes`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Modes {
    /// All of them, in the order of their registration.
    pub modes: Vec<ModeDescriptor>,
    /// The active one's name.
    pub active: String,
}

/// Of `list_models`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Models {
    /// All of them.
    pub models: Vec<ModelDescriptor>,
    /// The active one.
    pub active: ModelDescriptor,
}

/// Of `set_model`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ModelSet {
    /// The model until now.
    pub previous: ModelDescriptor,
    /// The model from the next provider call on.
    pub active: ModelDescriptor,
    /// When.
    pub effective: Effective,
}

/// Of `list_reasoning_levels`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ReasoningLevels {
    /// The model that they are for.
    pub model: ModelDescriptor,
    /// All of them, from least to most.
    pub levels: Vec<ReasoningLevel>,
    /// The active one's id.
    pub active: String,
    /// When a change takes effect.
    pub effective: Effective,
}

/// Of `set_reasoning_level`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ReasoningLevelSet {
    /// The model that it is for.
    pub model: ModelDescriptor,
    /// The effort until now.
    pub previous: String,
    /// The effort from the next provider call on.
    pub active: String,
    /// When.
    pub effective: Effective,
}

/// Of `session_op: compact`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Compacted {
    /// A compaction was written.
    Done {
        /// Always true.
        compacted: bool,
        /// Its number in the session.
        index: u64,
        /// Size of the window before, in tokens.
        tokens_before: u64,
        /// Size of the window after, in tokens.
        tokens_after: u64,
        /// The first entry that stayed.
        first_kept_entry_id: EntryId,
        /// First and last entry of what was summarized.
        message_range: (EntryId, EntryId),
    },
    /// There was nothing to compact.
    Nothing {
        /// Always false.
        compacted: bool,
        /// `no_safe_cut`.
        reason: String,
    },
}

/// Of `session_op: fork`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Forked {
    /// The fork.
    pub fork_id: String,
    /// The new session.
    pub session_id: SessionId,
    /// The newest entry of the new session.
    pub head_entry_id: EntryId,
    /// The same request key was carried out before; nothing was done now.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub duplicate: bool,
}
