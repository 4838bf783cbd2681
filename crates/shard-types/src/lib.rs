//! The values that cross a wire or reach a disk, and nothing else (floor L0).
//!
//! Everything here is plain data: no I/O, no async, no behaviour beyond parsing and small
//! queries. Programs that only want to understand Shard's messages or files need this crate
//! and `shard-protocol`, no more.

mod agent;
mod block;
mod entry;
pub mod event;
mod grant;
mod id;
mod job;
mod message;
mod model;
mod permission;
mod render;
mod rule;
pub mod time;
mod usage;
mod wire;

pub use agent::{AgentInfo, AgentStatus, HeadlessPolicy, Phase, RuntimeState};
pub use block::NormalizedBlock;
pub use entry::{
    Checkpoint, CompactionDetails, EntryBody, MessageDetails, SessionEntry, ToolResultDetails,
};
pub use grant::{GrantInfo, GrantKind};
pub use id::{
    AgentId, EntryId, GrantId, InvalidId, JobId, PrincipalId, RequestId, RunId, SessionId, TurnId,
    WorkspaceId,
};
pub use job::{JobSnapshot, JobState, JobStrategy, RunSnapshot, RunState, RunUsage};
pub use message::{ContentBlock, Image, ImageTag, Message, Role, ToolResultContent};
pub use model::{Cost, ModelDescriptor, ModelSpec, ReasoningLevel};
pub use permission::{
    ChoiceIntent, DetailFormat, PermissionChoice, PermissionDecision, PermissionDetail,
};
pub use render::{
    Hunk, HunkLine, LineKind, ListedPath, Pair, PathKind, RenderDescriptor, Tone, TreeNode,
};
pub use rule::{Rule, RuleAction};
pub use usage::Usage;
pub use wire::ErrorCode;

/// What the [`messages!`] macro expands to needs these; not meant to be named elsewhere.
pub mod wire_support {
    pub use crate::wire::{BadBody, parse_body};
}
