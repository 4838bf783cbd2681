//! What an entry says.

use serde_json::{Map, Value};
use shard_types::{ContentBlock, EntryBody, SessionEntry, ToolResultContent};

use super::TOOL;

/// What a part of an entry is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// Text of a person or of the model.
    Said,
    /// What the model thought.
    Thought,
    /// A call of a tool: its name, and a line for each argument.
    Call,
    /// What a tool answered.
    Result,
    /// Why a tool did not work.
    Error,
    /// The kind of a picture.
    Image,
}

/// The parts of an entry, in order. Only messages and results have any.
#[must_use]
pub fn parts(entry: &SessionEntry) -> Vec<(Part, String)> {
    match &entry.body {
        EntryBody::Message(details) => details.content.iter().map(block).collect(),
        EntryBody::ToolResult(details) => vec![result(&details.content)],
        EntryBody::Compaction(_) | EntryBody::Checkpoint(_) | EntryBody::Unknown => Vec::new(),
    }
}

/// What is searched of an entry: its parts in one text, but for calls that search.
#[must_use]
pub fn text(entry: &SessionEntry) -> String {
    let is_search =
        |(part, text): &(Part, String)| *part == Part::Call && text.lines().next() == Some(TOOL);
    let parts = parts(entry).into_iter().filter(|part| !is_search(part));
    let mut parts = parts.map(|(_, text)| text);
    let mut all = parts.next().unwrap_or_default();
    for part in parts {
        all.push('\n');
        all += &part;
    }
    all
}

fn block(block: &ContentBlock) -> (Part, String) {
    match block {
        ContentBlock::Text { text } => (Part::Said, text.clone()),
        ContentBlock::Thinking { text, .. } => (Part::Thought, text.clone()),
        ContentBlock::ToolCall { name, args, .. } => (Part::Call, call(name, args)),
        ContentBlock::ToolResult { content, .. } => result(content),
        ContentBlock::Image { mime_type, .. } => (Part::Image, mime_type.clone()),
    }
}

fn call(name: &str, args: &Map<String, Value>) -> String {
    let mut text = name.to_owned();
    for (name, value) in args {
        text.push('\n');
        text += name;
        text += ": ";
        match value {
            // As it was meant, not as JSON escapes it.
            Value::String(value) => text += value,
            value => text += &value.to_string(),
        }
    }
    text
}

fn result(content: &ToolResultContent) -> (Part, String) {
    let part = match content {
        ToolResultContent::Text { .. } | ToolResultContent::Json { .. } => Part::Result,
        ToolResultContent::Error { .. } => Part::Error,
    };
    (part, content.to_text().into_owned())
}
