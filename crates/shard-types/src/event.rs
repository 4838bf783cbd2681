//! What an agent tells its clients (`docs/PROTOCOL.md`, "Events of an agent").
//!
//! The structs are bodies: `type` comes from [`AgentEvent`], and the routing `agent_id` is added
//! by whoever multiplexes several agents on one connection.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{
    AgentId, AgentStatus, EntryId, ErrorCode, Image, Message, ModelDescriptor, PermissionChoice,
    PermissionDecision, PermissionDetail, RenderDescriptor, RequestId, ToolResultContent, TurnId,
    Usage,
};

crate::messages! {
    /// One event of one agent.
    AgentEvent {
        "hello" => Hello,
        "sync" => Sync,
        "status" => Status,
        "turn_start" => TurnStart,
        "message_delta" => MessageDelta,
        "message_complete" => MessageComplete,
        "tool_call" => ToolCall,
        "tool_progress" => ToolProgress,
        "tool_result" => ToolResult,
        "turn_end" => TurnEnd,
        "usage" => Usage,
        "compaction" => Compaction,
        "error" => Error,
        "permission_request" => PermissionRequest,
        "permission_resolved" => PermissionResolved,
        "ui_request" => UiRequest,
        "ui_resolved" => UiResolved,
        "model_changed" => ModelChanged,
        "mode_changed" => ModeChanged,
        "reasoning_level_changed" => ReasoningLevelChanged,
        "queue_changed" => QueueChanged,
        "resources_changed" => ResourcesChanged,
    }
}

/// First on every connection.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Hello {
    /// Version of the protocol, semver.
    pub protocol_version: String,
    /// Version of the program.
    pub server_version: String,
    /// What the other side can do. Never infer a capability from a version.
    pub capabilities: Vec<String>,
}

/// Everything that a client needs to draw the present state without replaying history.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Sync {
    /// What the agent is doing.
    pub status: AgentStatus,
    /// The active mode.
    pub mode: String,
    /// What this runtime can do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capabilities: Option<Vec<String>>,
    /// Which generation of the process this is; only on daemon connections.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runtime_epoch: Option<u64>,
    /// The active model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<ModelDescriptor>,
    /// What the session has used so far; `context_tokens` is the last call's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// The conversation as the model sees it.
    pub live_window: LiveWindow,
    /// Questions that are open; not sent again as events.
    pub pending_requests: Vec<PendingRequest>,
    /// Prompts that wait.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub queue: Vec<QueuedPrompt>,
}

/// The newest part of the conversation, at most 1 MiB of it.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct LiveWindow {
    /// Oldest first. A message that is being streamed is the last one, `partial`.
    pub messages: Vec<Message>,
    /// The compaction that the window starts with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compaction_index: Option<u64>,
    /// Older messages were left out; `session.messages` pages them.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub has_more: bool,
}

/// A question that is open.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PendingRequest {
    /// Who asks, if it is not the agent itself but a descendant with nobody of its own to answer;
    /// only on daemon connections. The answer goes to that agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_id: Option<AgentId>,
    /// The question.
    #[serde(flatten)]
    pub question: PendingQuestion,
}

impl From<PendingQuestion> for PendingRequest {
    /// The agent's own.
    fn from(question: PendingQuestion) -> Self {
        Self {
            agent_id: None,
            question,
        }
    }
}

/// What is asked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum PendingQuestion {
    /// May this call run?
    PermissionRequest(PermissionRequest),
    /// A dialog.
    UiRequest(UiRequest),
}

/// The agent does something else now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Status {
    /// What.
    pub status: AgentStatus,
    /// More about it, such as a retry that waits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
}

/// A turn begins.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TurnStart {
    /// Which turn.
    pub turn_id: TurnId,
}

/// A piece of a message that is being streamed. `message_complete` settles the whole.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MessageDelta {
    /// The message.
    pub message_id: EntryId,
    /// Which of its blocks.
    pub block_index: u32,
    /// What sort of block.
    pub kind: DeltaKind,
    /// Text to append, for `text` and `thinking`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text_delta: Option<String>,
    /// On the first piece of a `tool_call`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_call_id: Option<String>,
    /// On the first piece of a `tool_call`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// A piece of the arguments' JSON: join, then parse once the block is complete.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub args_delta: Option<String>,
}

/// The sort of block that a delta belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "the names say it")]
pub enum DeltaKind {
    Text,
    ToolCall,
    Thinking,
}

/// A message is whole, and on disk.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MessageComplete {
    /// Its id.
    pub message_id: EntryId,
    /// The message.
    pub message: Message,
}

/// A call passed the gate and starts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ToolCall {
    /// Pairs it with its block and its result.
    pub tool_call_id: String,
    /// The tool.
    pub name: String,
    /// Its arguments.
    pub args: Map<String, Value>,
    /// A preview.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub render: Option<RenderDescriptor>,
    /// Whether the tool only reads. Absent means that it may change things.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_only: Option<bool>,
    /// What let it run without an ask.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allowed_by: Option<AllowedBy>,
}

/// What let a call run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AllowedBy {
    /// What sort of thing.
    pub kind: AllowedByKind,
    /// Which grant.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// Where it stands.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
}

/// What sort of thing let a call run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AllowedByKind {
    /// An `allow` rule.
    Rule,
    /// Something that a person allowed for good.
    Grant,
    /// The mode.
    Mode,
    /// Reading inside the workspace.
    Default,
}

/// Live output of a tool. Bounded, and never stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ToolProgress {
    /// The call.
    pub tool_call_id: String,
    /// Text to append.
    pub text_delta: String,
}

/// A call is answered, and the answer is on disk.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ToolResult {
    /// The call.
    pub tool_call_id: String,
    /// What the model reads.
    pub content: ToolResultContent,
    /// The call failed, was refused or did not start.
    pub is_error: bool,
    /// Exit code of the process, where the tool ran one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// Wall-clock time in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
    /// What a client may draw instead of the content.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub render: Option<RenderDescriptor>,
    /// Pictures that belong to the content.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub images: Vec<Image>,
}

/// A turn is over. Last of its events.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TurnEnd {
    /// Which turn.
    pub turn_id: TurnId,
    /// How it ended.
    pub reason: TurnEndReason,
    /// The sum of its provider calls; `context_tokens` is the last call's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
}

/// How a turn ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TurnEndReason {
    /// The model had nothing more to do.
    Done,
    /// Somebody stopped it.
    Aborted,
    /// A provider call failed for good.
    Error,
    /// A bound was reached.
    Limit,
}

/// The history was compacted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Compaction {
    /// Its number in the session, from 0.
    pub index: u64,
    /// Size of the window before, in tokens.
    pub tokens_before: u64,
    /// Size of the window after, in tokens.
    pub tokens_after: u64,
    /// The first entry that stayed.
    pub first_kept_entry_id: EntryId,
    /// First and last entry of what was summarized.
    pub message_range: (EntryId, EntryId),
}

/// Something failed while nobody waited for an answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Error {
    /// What sort of failure.
    pub code: ErrorCode,
    /// What was tried, on what, and what to do next.
    pub message: String,
    /// The agent cannot go on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fatal: Option<bool>,
    /// Facts for programs, such as the number of a damaged line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<Value>,
}

/// May this call run? Goes to every client; the first answer counts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PermissionRequest {
    /// What an answer refers to.
    pub request_id: RequestId,
    /// The tool.
    pub tool_name: String,
    /// Its arguments.
    pub input: Value,
    /// The question in words, control characters made visible.
    pub prompt: String,
    /// The plain answers that are offered.
    pub options: Vec<PermissionDecision>,
    /// What a person should see first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub details: Vec<PermissionDetail>,
    /// Finer answers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub choices: Vec<PermissionChoice>,
    /// What applies if nobody can answer. Between a runtime and its daemon only; never sent on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub headless_decision: Option<PermissionDecision>,
}

/// A permission request is closed. Exactly one of `decision` and `choice_id` is there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PermissionResolved {
    /// Which request.
    pub request_id: RequestId,
    /// The plain answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decision: Option<PermissionDecision>,
    /// The finer answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub choice_id: Option<String>,
    /// Who answered, or `aborted`, `timeout`, `headless` when nobody did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
}

/// A dialog. Goes to every client; the first answer counts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct UiRequest {
    /// What an answer refers to.
    pub request_id: RequestId,
    /// What sort of dialog.
    pub kind: UiKind,
    /// Its heading.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// What it says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// For `select`: what can be picked.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub options: Vec<String>,
    /// For `select`: several may be picked.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub multiple: bool,
    /// For `input` and `editor`: a hint in the empty field.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub placeholder: Option<String>,
    /// For `input` and `editor`: what already stands there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prefill: Option<String>,
    /// For `notify`: how it is meant.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub notify_type: Option<NotifyType>,
}

/// What sort of dialog.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum UiKind {
    /// Pick from a list.
    Select,
    /// Yes or no; the answer is `yes` or `no`.
    Confirm,
    /// One line of text.
    Input,
    /// Many lines of text.
    Editor,
    /// Nothing to answer.
    Notify,
}

/// How a notice is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "the names say it")]
pub enum NotifyType {
    Info,
    Warning,
    Error,
}

/// What a person answered to a dialog.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum UiValue {
    /// One text.
    One(String),
    /// Several picks.
    Many(Vec<String>),
}

impl UiValue {
    /// Schema of a field that must be there and may be null, which an `Option` cannot say.
    #[doc(hidden)]
    pub fn or_null(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        generator.subschema_for::<Option<Self>>()
    }
}

/// A dialog is closed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct UiResolved {
    /// Which dialog.
    pub request_id: RequestId,
    /// The answer; null when there was none.
    #[serde(deserialize_with = "Option::deserialize")]
    #[schemars(schema_with = "UiValue::or_null")]
    pub value: Option<UiValue>,
    /// Who answered, or `aborted`, `timeout`, `headless` when nobody did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
}

/// When a change takes effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Effective {
    /// At the next provider call, never within a stream.
    #[default]
    NextProviderCall,
}

/// Another model was picked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ModelChanged {
    /// The model until now.
    pub previous: ModelDescriptor,
    /// The model from the next provider call on.
    pub active: ModelDescriptor,
    /// When.
    pub effective: Effective,
    /// What the runtime can do with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capabilities: Option<Vec<String>>,
}

/// Another mode is active.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ModeChanged {
    /// The mode until now.
    pub previous_mode: String,
    /// The mode from now on.
    pub mode: String,
}

/// Another reasoning effort was picked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ReasoningLevelChanged {
    /// The model that it is for.
    pub model: ModelDescriptor,
    /// The effort until now.
    pub previous: String,
    /// The effort from the next provider call on.
    pub active: String,
    /// When.
    pub effective: Effective,
}

/// What waits has changed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct QueueChanged {
    /// All that waits, in order.
    pub queue: Vec<QueuedPrompt>,
}

/// What people wrote down for agents changed, and is in force from this turn on: configuration,
/// context files, skills, definitions, rules. Between `turn_start` and the first call to the model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ResourcesChanged {
    /// The files that are new, gone or not the same.
    pub changed: Vec<String>,
    /// What a person should know about them, such as what is broken and what stays in force.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub diagnostics: Vec<String>,
}

/// One prompt that waits.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct QueuedPrompt {
    /// The sender's key, if it gave one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_key: Option<String>,
    /// How it will be delivered.
    pub kind: QueuedKind,
    /// The text.
    pub message: String,
    /// The pictures. Left out of events, whole in `abort`'s `cleared`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub images: Vec<Image>,
}

/// How a prompt that waits will be delivered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum QueuedKind {
    /// Before the next provider call of the turn.
    Steer,
    /// Once the agent has fully stopped.
    FollowUp,
    /// As the start of a turn.
    Prompt,
}
