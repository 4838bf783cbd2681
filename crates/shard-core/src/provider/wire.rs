//! What of a history is sent, whatever the wire format.

use shard_types::{ContentBlock, Message, ModelSpec, Role, ToolResultContent};

/// Stands for a last message in which nothing is left to send: a request must end with the user.
pub(super) const NOTHING_SAID: &str = "(no text)";

/// What a tool that printed nothing gave back: blank texts are refused by some servers.
const NO_OUTPUT: &str = "(no output)";

/// Longest id of a call that every server takes.
const MAX_ID: usize = 64;

/// Blocks of one side, none of them blank.
pub(super) struct Turn<'a> {
    pub(super) role: Role,
    pub(super) blocks: Vec<&'a ContentBlock>,
}

/// Drops what must not be sent: blank text, thoughts that `keeps` refuses or that nothing follows,
/// and messages that nothing is left of. Neighbours on the same side become one, as many servers insist on turns.
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
        let mut blocks: Vec<_> = message.content.iter().filter(sent).collect();
        // A thought that led to nothing is refused, at the end of a message as well as alone.
        while blocks.last().is_some_and(|block| is_thought(block)) {
            blocks.pop();
        }
        match turns.last_mut() {
            _ if blocks.is_empty() => {}
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

/// A name or an id without the characters that some servers refuse: another may have made it.
pub(super) fn plain(text: &str) -> String {
    let plain = |c: char| {
        if c.is_ascii_alphanumeric() || "_-".contains(c) {
            c
        } else {
            '_'
        }
    };
    text.chars().map(plain).collect()
}

/// The id of a call as every server takes it. Of a long one both ends are kept, as what tells ids
/// apart stands at either.
pub(super) fn plain_id(id: &str) -> String {
    let id = plain(id);
    match id.len() {
        0..=MAX_ID => id,
        len => format!("{}_{}", &id[..MAX_ID / 2 - 1], &id[len - MAX_ID / 2..]),
    }
}

/// What the model reads of a tool's result.
pub(super) fn result_text(content: &ToolResultContent, exit_code: Option<i32>) -> String {
    let text = content.to_text();
    let text = match text.trim().is_empty() {
        true => NO_OUTPUT.into(),
        false => text,
    };
    match exit_code {
        Some(code) => format!("{}\n[exit code: {code}]", text.trim_end_matches('\n')),
        None => text.into_owned(),
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
