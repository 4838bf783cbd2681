//! The rows of a session file. Keys on disk are camelCase (`docs/PROTOCOL.md`, "On disk").

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::{
    ContentBlock, EntryId, Image, Message, RenderDescriptor, Role, SessionId, ToolResultContent,
    Usage,
};

/// One row of a session: never changed and never removed once it is written.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionEntry {
    /// Unique within the session. A message's id is its entry's id.
    pub id: EntryId,
    /// The entry before it on its chain; none on the first line.
    pub parent_id: Option<EntryId>,
    /// Milliseconds since the epoch.
    pub timestamp: u64,
    /// `type` and `details`.
    #[serde(flatten)]
    pub body: EntryBody,
}

/// What a row holds.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "type", content = "details", rename_all = "snake_case")]
pub enum EntryBody {
    /// A message of the user or of the model.
    Message(MessageDetails),
    /// The result of one tool call.
    ToolResult(ToolResultDetails),
    /// A summary that stands for the messages of its range.
    Compaction(CompactionDetails),
    /// Anything else worth keeping.
    Checkpoint(Checkpoint),
    /// A row of a type that this build does not know. It keeps its place in the chain.
    #[serde(skip)]
    Unknown,
}

/// `details` of a message.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MessageDetails {
    /// Who speaks.
    pub role: Role,
    /// What is said.
    pub content: Vec<ContentBlock>,
    /// The stream broke off; this is what had come.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub partial: bool,
    /// What the provider call took.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
}

/// `details` of a tool result.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ToolResultDetails {
    /// The call it answers.
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
    /// What a client may draw instead.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub render: Option<RenderDescriptor>,
    /// Pictures that belong to the content.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub images: Vec<Image>,
}

impl ToolResultDetails {
    /// As blocks of a message: the result, and its pictures after it.
    #[must_use]
    pub fn blocks(&self) -> Vec<ContentBlock> {
        let result = ContentBlock::ToolResult {
            tool_call_id: self.tool_call_id.clone(),
            content: self.content.clone(),
            is_error: Some(self.is_error),
            exit_code: self.exit_code,
            duration_ms: self.duration_ms,
            render: self.render.clone(),
        };
        let images = self.images.iter().map(Image::block);
        std::iter::once(result).chain(images).collect()
    }
}

/// `details` of a compaction.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CompactionDetails {
    /// What the model reads instead of the range.
    pub summary: String,
    /// First and last entry that the summary stands for.
    pub message_range: (EntryId, EntryId),
    /// The first entry that stays in the window.
    pub first_kept_entry_id: EntryId,
    /// Size of the window before, in tokens.
    pub tokens_before: u64,
    /// Size of the window after, in tokens.
    pub tokens_after: u64,
    /// Which compactor made it.
    pub compactor: String,
    /// Its number in this session, from 0.
    pub index: u64,
}

/// `details` of a checkpoint, by their `artifactKind`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(
    tag = "artifactKind",
    rename_all = "snake_case",
    rename_all_fields = "camelCase"
)]
pub enum Checkpoint {
    /// The first line of a session.
    Session {
        /// Version of the file's format; 1.
        version: u32,
        /// The session.
        session_id: SessionId,
        /// The folder that it works in.
        cwd: String,
        /// Milliseconds since the epoch.
        created_at: u64,
    },
    /// The first line of a fork.
    Fork {
        /// Version of the file's format; 1.
        version: u32,
        /// The new session.
        session_id: SessionId,
        /// The folder that it works in.
        cwd: String,
        /// Milliseconds since the epoch.
        created_at: u64,
        /// The fork.
        fork_id: String,
        /// The session that it was split from.
        source_session_id: SessionId,
        /// The entry that it was split at.
        source_entry_id: EntryId,
        /// The sender's key against doing it twice.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        request_key: Option<String>,
        /// The copy of that entry, or of the last result that belongs to it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        head_entry_id: Option<EntryId>,
        /// The number that the first of its messages has in the source, and so in the fork; 0
        /// when it is left out.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        first_index: Option<u64>,
    },
    /// A prompt was accepted. It is on disk before its sender hears so, and runs once even when
    /// the process ends before its turn.
    PromptAccepted {
        /// The id that the message's entry gets when the prompt is delivered.
        message_id: EntryId,
        /// How it was sent.
        kind: crate::event::QueuedKind,
        /// The text.
        message: String,
        /// The pictures.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        images: Vec<Image>,
        /// The sender's key against doing it twice.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        request_key: Option<String>,
    },
    /// Accepted prompts that will not run: an abort gave them back.
    PromptsCleared {
        /// Their message ids.
        message_ids: Vec<EntryId>,
        /// Their senders were told that they were not accepted: a key that one of them came with
        /// is as good as new.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        refused: bool,
    },
    /// A call passed the gate and is about to run: without a result it was interrupted.
    ToolStarted {
        /// The call.
        tool_call_id: String,
    },
    /// The session works with another model from here on.
    ModelChanged {
        /// `provider/model`.
        model: String,
    },
    /// The session works in another mode from here on.
    ModeChanged {
        /// The mode's name.
        mode: String,
    },
    /// The session works with another reasoning effort from here on, as far as its model has it.
    ReasoningLevelChanged {
        /// `provider/model`: the model that it was picked for.
        model: String,
        /// The effort.
        effort: String,
    },
    /// The model reads the middle of these results no longer: nothing else made room. The rows
    /// themselves are as they were.
    ResultsShortened {
        /// Entries of results.
        entry_ids: Vec<EntryId>,
    },
    /// Something that a mode keeps of a turn, or a kind that this build does not know; whole,
    /// with its `artifactKind`.
    #[serde(untagged)]
    #[schemars(skip)]
    Other(Map<String, Value>),
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Row<'a> {
    id: EntryId,
    #[serde(default)]
    parent_id: Option<EntryId>,
    timestamp: u64,
    #[serde(rename = "type", borrow)]
    kind: Cow<'a, str>,
    #[serde(borrow)]
    details: &'a RawValue,
}

impl Checkpoint {
    /// The kinds that are more than kept.
    const KINDS: [&str; 9] = [
        "session",
        "fork",
        "prompt_accepted",
        "prompts_cleared",
        "tool_started",
        "model_changed",
        "mode_changed",
        "reasoning_level_changed",
        "results_shortened",
    ];

    /// Something of another kind, such as a mode keeps of a turn; none if the kind is taken.
    #[must_use]
    pub fn other(kind: &str, mut details: Map<String, Value>) -> Option<Self> {
        if Self::KINDS.contains(&kind) {
            return None;
        }
        details.insert("artifactKind".to_owned(), kind.into());
        Some(Self::Other(details))
    }

    /// A known kind with details that do not fit is damage, and must not pass for an unknown one.
    fn from_json(details: &str) -> serde_json::Result<Self> {
        let checkpoint = serde_json::from_str(details)?;
        match &checkpoint {
            Self::Other(map) => match map.get("artifactKind").and_then(Value::as_str) {
                Some(kind) if !Self::KINDS.contains(&kind) => Ok(checkpoint),
                _ => Err(serde::de::Error::custom("not the details of a checkpoint")),
            },
            _ => Ok(checkpoint),
        }
    }
}

impl SessionEntry {
    /// The entry as a message, if it is one; a result is a message of the user.
    #[must_use]
    pub fn message(&self) -> Option<Message> {
        let (role, content, partial) = match &self.body {
            EntryBody::Message(details) => (details.role, details.content.clone(), details.partial),
            EntryBody::ToolResult(details) => (Role::User, details.blocks(), false),
            EntryBody::Compaction(_) | EntryBody::Checkpoint(_) | EntryBody::Unknown => {
                return None;
            }
        };
        Some(Message {
            id: self.id.clone(),
            role,
            content,
            partial,
        })
    }

    /// Reads one line of a session file. `details` are parsed by their type alone, without an
    /// intermediate tree.
    ///
    /// # Errors
    /// When the line is no entry, or its details do not fit its type.
    pub fn from_json(line: &str) -> serde_json::Result<Self> {
        let row: Row = serde_json::from_str(line)?;
        Ok(Self {
            id: row.id,
            parent_id: row.parent_id,
            timestamp: row.timestamp,
            body: EntryBody::from_json(&row.kind, row.details.get())?,
        })
    }
}

impl EntryBody {
    /// Reads the `details` of a row of this `type`.
    ///
    /// # Errors
    /// When they do not fit it.
    pub fn from_json(kind: &str, details: &str) -> serde_json::Result<Self> {
        Ok(match kind {
            "message" => Self::Message(serde_json::from_str(details)?),
            "tool_result" => Self::ToolResult(serde_json::from_str(details)?),
            "compaction" => Self::Compaction(serde_json::from_str(details)?),
            "checkpoint" => Self::Checkpoint(Checkpoint::from_json(details)?),
            _ => Self::Unknown,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(json: &str) -> SessionEntry {
        let entry = SessionEntry::from_json(json).unwrap();
        let again = serde_json::to_value(&entry).unwrap();
        assert_eq!(
            again,
            serde_json::from_str::<serde_json::Value>(json).unwrap()
        );
        entry
    }

    #[test]
    fn every_row_keeps_the_keys_of_the_format() {
        check(
            r#"{"id":"msg-1","parentId":null,"timestamp":1,"type":"checkpoint","details":{"artifactKind":"session","version":1,"sessionId":"session-1","cwd":"/w","createdAt":1}}"#,
        );
        check(
            r#"{"id":"msg-1","parentId":null,"timestamp":1,"type":"checkpoint","details":{"artifactKind":"fork","version":1,"sessionId":"session-2","cwd":"/w","createdAt":1,"forkId":"f","sourceSessionId":"session-1","sourceEntryId":"msg-9"}}"#,
        );
        check(
            r#"{"id":"msg-2","parentId":"msg-1","timestamp":2,"type":"message","details":{"role":"user","content":[{"type":"text","text":"a\u2028b"}]}}"#,
        );
        check(
            r#"{"id":"msg-3","parentId":"msg-2","timestamp":3,"type":"tool_result","details":{"toolCallId":"c1","content":{"kind":"text","text":"x"},"isError":false,"exitCode":3,"durationMs":7,"render":{"kind":"command","command":"x","exitCode":3}}}"#,
        );
        check(
            r#"{"id":"msg-4","parentId":"msg-3","timestamp":4,"type":"compaction","details":{"summary":"s","messageRange":["msg-2","msg-3"],"firstKeptEntryId":"msg-4","tokensBefore":9,"tokensAfter":2,"compactor":"default","index":0}}"#,
        );
        check(
            r#"{"id":"msg-5","parentId":"msg-4","timestamp":5,"type":"checkpoint","details":{"artifactKind":"prompt_accepted","messageId":"msg-6","kind":"prompt","message":"hi","requestKey":"k"}}"#,
        );
        check(
            r#"{"id":"msg-7","parentId":"msg-5","timestamp":6,"type":"checkpoint","details":{"artifactKind":"reasoning_level_changed","model":"p/m","effort":"high"}}"#,
        );
    }

    #[test]
    fn a_kind_that_is_taken_makes_no_other_checkpoint() {
        let details = Map::from_iter([("text".to_owned(), "1. look".into())]);
        let other = Checkpoint::other("plan", details.clone()).unwrap();
        let json = serde_json::to_value(&other).unwrap();
        let want = serde_json::json!({"artifactKind": "plan", "text": "1. look"});
        assert_eq!(json, want);
        assert_eq!(Checkpoint::from_json(&json.to_string()).unwrap(), other);
        assert_eq!(Checkpoint::other("tool_started", details), None);
    }

    #[test]
    fn a_row_of_a_later_build_keeps_its_place() {
        let entry = SessionEntry::from_json(
            r#"{"id":"msg-2","parentId":"msg-1","timestamp":2,"type":"hologram","details":{"x":1},"extra":true}"#,
        );
        assert_eq!(entry.unwrap().body, EntryBody::Unknown);
        let entry = SessionEntry::from_json(
            r#"{"id":"msg-2","parentId":"msg-1","timestamp":2,"type":"checkpoint","details":{"artifactKind":"hologram","x":1}}"#,
        );
        let EntryBody::Checkpoint(Checkpoint::Other(kept)) = entry.unwrap().body else {
            panic!("it is kept whole");
        };
        assert_eq!(kept["x"], 1);
        for damaged in [
            "{}",
            r#"{"artifactKind":"tool_started"}"#,
            r#"{"artifactKind":7}"#,
        ] {
            let row = r#"{"id":"msg-2","parentId":"msg-1","timestamp":2,"type":"checkpoint","details":DETAILS}"#;
            assert!(
                SessionEntry::from_json(&row.replace("DETAILS", damaged)).is_err(),
                "{damaged}"
            );
        }
    }
}
