//! One line of an agent's process, looked at as far as the daemon must.

use std::borrow::Cow;

use serde::Deserialize;
use serde::de::IgnoredAny;
use shard_protocol::Header;
use shard_types::event::{
    AgentEvent, ModeChanged, ModelChanged, PermissionRequest, Status, UiKind,
};
use shard_types::{AgentStatus, ModelDescriptor, Phase, RequestId, Usage};

/// A line, without its ending.
#[derive(Debug)]
pub(crate) struct Line {
    pub(crate) text: String,
    pub(crate) what: What,
}

/// What a line means to the daemon. Most only pass through.
#[derive(Debug)]
pub(crate) enum What {
    /// Passed on to whoever is attached.
    Event,
    /// The same, and it shows what the agent is at.
    Phase(Phase, Option<String>),
    Hello,
    Sync(Box<SyncHead>),
    /// What it is doing, and whether a provider call is tried again.
    Status(AgentStatus, Phase),
    Usage(Box<Usage>),
    TurnEnd,
    /// How many prompts wait.
    Queue(usize),
    Model(Box<ModelDescriptor>),
    Mode(String),
    Permission(Box<PermissionRequest>),
    /// A dialog that waits for an answer.
    Dialog(RequestId),
    Resolved(RequestId),
    /// The agent cannot go on.
    Fatal(Box<shard_types::event::Error>),
    /// The answer to the command of this number.
    Response(u64),
}

/// What a line must not be: the process that prints it is broken.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("it printed {0}")]
pub(crate) struct Violation(pub(crate) &'static str);

/// The part of a `sync` that the daemon keeps.
#[derive(Debug, Deserialize)]
pub(crate) struct SyncHead {
    pub(crate) status: AgentStatus,
    pub(crate) mode: String,
    #[serde(default)]
    pub(crate) model: Option<ModelDescriptor>,
    #[serde(default)]
    pub(crate) usage: Option<Usage>,
    #[serde(default)]
    pub(crate) queue: Vec<IgnoredAny>,
}

/// What routes a line of an agent.
#[derive(Deserialize)]
struct Head<'a> {
    #[serde(rename = "type", borrow)]
    kind: Cow<'a, str>,
    #[serde(default)]
    agent_id: Option<IgnoredAny>,
    /// Of a `message_delta`.
    #[serde(default, borrow, rename = "kind")]
    delta: Option<Word<'a>>,
    /// Of a `tool_call`.
    #[serde(default, borrow)]
    name: Option<Word<'a>>,
}

/// A string that is copied only if it is escaped; by itself, a `Cow` in an `Option` always is.
#[derive(Deserialize)]
struct Word<'a>(#[serde(borrow)] Cow<'a, str>);

impl Line {
    /// Looks at a line.
    ///
    /// # Errors
    /// [`Violation`]: it is no message that an agent may print.
    pub(crate) fn read(text: String) -> Result<Self, Violation> {
        let head: Head = match serde_json::from_str(&text) {
            Ok(head) if text.starts_with('{') => head,
            _ => return Err(Violation("a line that is no message")),
        };
        if head.agent_id.is_some() {
            return Err(Violation("a message with an `agent_id`"));
        }
        let what = match &*head.kind {
            "message_delta" => match head.delta {
                Some(Word(kind)) if kind == "thinking" => What::Phase(Phase::Thinking, None),
                _ => What::Phase(Phase::Streaming, None),
            },
            "tool_call" => What::Phase(Phase::Tool, head.name.map(|Word(name)| name.into_owned())),
            "tool_progress"
            | "tool_result"
            | "message_complete"
            | "turn_start"
            | "compaction"
            | "reasoning_level_changed" => What::Event,
            "hello" => What::Hello,
            "sync" => What::Sync(Box::new(body(&text)?)),
            "response" => What::Response(answered(&text)?),
            kind => state(kind, &text)?,
        };
        Ok(Self { text, what })
    }
}

/// The events that change what the daemon knows.
fn state(kind: &str, text: &str) -> Result<What, Violation> {
    let event = AgentEvent::parse(kind, text);
    let event = event.ok_or(Violation("a message that no agent may send"))?;
    let event = event.map_err(|_| Violation("an event that does not fit its type"))?;
    Ok(match event {
        AgentEvent::Status(Status { status, detail }) => {
            What::Status(status, phase(status, detail.is_some()))
        }
        AgentEvent::Usage(usage) => What::Usage(Box::new(usage)),
        AgentEvent::TurnEnd(_) => What::TurnEnd,
        AgentEvent::QueueChanged(changed) => What::Queue(changed.queue.len()),
        AgentEvent::ModelChanged(ModelChanged { active, .. }) => What::Model(Box::new(active)),
        AgentEvent::ModeChanged(ModeChanged { mode, .. }) => What::Mode(mode),
        AgentEvent::PermissionRequest(request) => What::Permission(Box::new(request)),
        AgentEvent::UiRequest(request) if request.kind != UiKind::Notify => {
            What::Dialog(request.request_id)
        }
        AgentEvent::PermissionResolved(resolved) => What::Resolved(resolved.request_id),
        AgentEvent::UiResolved(resolved) => What::Resolved(resolved.request_id),
        AgentEvent::Error(error) if error.fatal == Some(true) => What::Fatal(Box::new(error)),
        _ => What::Event,
    })
}

/// What an agent of this status is at; more is said about it only while a call is tried again.
fn phase(status: AgentStatus, detailed: bool) -> Phase {
    match status {
        AgentStatus::Idle => Phase::Idle,
        AgentStatus::Streaming if detailed => Phase::Retrying,
        AgentStatus::Streaming => Phase::Thinking,
        AgentStatus::WaitingForPermission | AgentStatus::WaitingForUi => Phase::Waiting,
        AgentStatus::Compacting => Phase::Compacting,
        AgentStatus::Error => Phase::Error,
    }
}

fn body<'a, T: Deserialize<'a>>(text: &'a str) -> Result<T, Violation> {
    serde_json::from_str(text).map_err(|_| Violation("an event that does not fit its type"))
}

/// The number under which the daemon sent the command.
fn answered(text: &str) -> Result<u64, Violation> {
    let header = Header::read(text).map_err(|_| Violation("an answer without its `id`"))?;
    let number = header.id.as_deref().and_then(|id| id.parse().ok());
    number.ok_or(Violation("an answer to nothing that was asked"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn what(text: &str) -> String {
        match Line::read(text.to_owned()) {
            Ok(line) => format!("{:?}", line.what),
            Err(violation) => violation.to_string(),
        }
    }

    #[test]
    fn a_line_is_looked_at_as_far_as_it_matters() {
        for (text, wanted) in [
            (
                r#"{"type":"message_delta","kind":"thinking","x":[1]}"#,
                "Phase(Thinking, None)",
            ),
            (
                r#"{"type":"message_delta","kind":"text"}"#,
                "Phase(Streaming, None)",
            ),
            (
                r#"{"type":"tool_call","name":"read","args":{"name":1}}"#,
                "Phase(Tool, Some(\"read\"))",
            ),
            (r#"{"type":"status","status":"idle"}"#, "Status(Idle, Idle)"),
            (
                r#"{"type":"response","id":"7","command":"prompt","success":true}"#,
                "Response(7)",
            ),
            (
                r#"{"type":"error","code":"NOT_FOUND","message":"m"}"#,
                "Event",
            ),
        ] {
            assert_eq!(what(text), wanted, "{text}");
        }
    }

    #[test]
    fn what_no_agent_may_print_is_a_violation() {
        for (text, wanted) in [
            ("hello", "it printed a line that is no message"),
            ("[\"status\"]", "it printed a line that is no message"),
            (
                r#"{"type":"turn_start","agent_id":"agent-2"}"#,
                "it printed a message with an `agent_id`",
            ),
            (
                r#"{"type":"agent_spawned"}"#,
                "it printed a message that no agent may send",
            ),
            (
                r#"{"type":"prompt","message":"x"}"#,
                "it printed a message that no agent may send",
            ),
            (
                r#"{"type":"status","status":"dancing"}"#,
                "it printed an event that does not fit its type",
            ),
            (
                r#"{"type":"response","id":"x","success":true}"#,
                "it printed an answer to nothing that was asked",
            ),
        ] {
            assert_eq!(what(text), wanted, "{text}");
        }
    }
}
