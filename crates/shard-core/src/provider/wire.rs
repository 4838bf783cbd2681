//! What of a history is sent, whatever the wire format.

use shard_types::{ContentBlock, Message, ModelSpec, Role, ToolResultContent};

/// Stands for a last message in which nothing is left to send: a request must end with the user.
pub(super) const NOTHING_SAID: &str = "(no text)";

/// What a tool that printed nothing gave back: blank texts are refused by some servers.
const NO_OUTPUT: &str = "(no output)";

/// Blocks of one side, none of them blank.
pub(super) struct Turn<'a> {
    pub(super) role: Role,
    pub(super) blocks: Vec<&'a ContentBlock>,
}

/// Drops what must not be sent: blank text, thoughts that `keeps` refuses, and messages that
/// nothing is left of. Neighbours on the same side become one, as many servers insist on turns.
pub(super) fn turns<'a>(
    messages: &'a [Message],
    keeps: impl Fn(&ContentBlock) -> bool,
) -> Vec<Turn<'a>> {
    let mut turns: Vec<Turn<'a>> = Vec::new();
    for message in messages {
        let sent = |block: &&ContentBlock| match block {
            ContentBlock::Text { text } => !text.trim().is_empty(),
            ContentBlock::Thinking { .. } => message.role == Role::Assistant && keeps(block),
            _ => true,
        };
        let blocks: Vec<_> = message.content.iter().filter(sent).collect();
        match turns.last_mut() {
            // A thought alone is no message.
            _ if blocks.iter().all(|block| is_thought(block)) => {}
            Some(last) if last.role == message.role => last.blocks.extend(blocks),
            _ => turns.push(Turn {
                role: message.role,
                blocks,
            }),
        }
    }
    turns
}

fn is_thought(block: &ContentBlock) -> bool {
    matches!(block, ContentBlock::Thinking { .. })
}

/// What the model reads of a tool's result.
pub(super) fn result_text(content: &ToolResultContent, exit_code: Option<i32>) -> String {
    let text = match content {
        ToolResultContent::Text { text } => text.clone(),
        ToolResultContent::Json { value } => value.to_string(),
        ToolResultContent::Error { message } => message.clone(),
    };
    let text = if text.trim().is_empty() {
        NO_OUTPUT.to_owned()
    } else {
        text
    };
    match exit_code {
        Some(code) => format!("{}\n[exit code: {code}]", text.trim_end_matches('\n')),
        None => text,
    }
}

/// Whether the result tells of a failure.
pub(super) fn is_failure(content: &ToolResultContent, is_error: Option<bool>) -> bool {
    is_error.unwrap_or(matches!(content, ToolResultContent::Error { .. }))
}

/// A picture as this model may see it.
pub(super) enum Picture<'a> {
    Data { mime_type: &'a str, data: &'a str },
    Note(&'static str),
}

/// Pictures go only to models that take them: the history may come from another model.
pub(super) fn picture<'a>(data: &'a str, mime_type: &'a str, model: &ModelSpec) -> Picture<'a> {
    if data.is_empty() {
        Picture::Note("[picture left out]")
    } else if model.images {
        Picture::Data { mime_type, data }
    } else {
        Picture::Note("[picture left out: this model takes none]")
    }
}
