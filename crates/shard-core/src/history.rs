//! From stored entries to a history that every provider accepts.
//!
//! A pure function. Whatever happened (aborts, crashes, damage, models that were switched), what
//! comes out holds: user and assistant take turns, starting with the user; every tool call is
//! answered exactly once, in the message after it and in call order, each result with its pictures
//! behind it; no result lacks its call; no text is blank and no message empty; the pictures fit into
//! one request.

use std::collections::HashMap;

use shard_types::{
    ContentBlock, EntryBody, EntryId, Message, Role, SessionEntry, ToolResultContent,
    ToolResultDetails,
};

/// What stands in for a result that was never recorded.
const NO_RESULT: &str = "no result of this call was recorded; it may or may not have had an effect";

/// Said in the name of the user where what is left of a conversation starts with the model's words.
const GO_ON: &str = "(Go on. What came before is in the summary above.)";

/// Builds the history for a provider call. `summarized` says that a summary stands for what came
/// before these entries, so that they may start in the middle of a turn.
#[must_use]
pub(crate) fn assemble(entries: &[SessionEntry], summarized: bool) -> Vec<Message> {
    let results = results(entries);
    let mut history: Vec<Message> = Vec::new();
    if let Some(id) = starts_with_assistant(entries).filter(|_| summarized) {
        let text = GO_ON.to_owned();
        push(
            &mut history,
            id,
            Role::User,
            vec![ContentBlock::Text { text }],
        );
    }
    for entry in entries {
        let EntryBody::Message(details) = &entry.body else {
            continue;
        };
        let mut content: Vec<_> = details
            .content
            .iter()
            .filter(|block| keep(block))
            .cloned()
            .collect();
        if details.partial {
            content.retain(|block| !is_thinking(block)); // a thought without its proof is worth nothing
        }
        let answers = match details.role {
            Role::Assistant => answers(&content, &results),
            Role::User => Vec::new(),
        };
        // What is left out takes the results of its calls along.
        if push(&mut history, entry.id.clone(), details.role, content) {
            push(&mut history, entry.id.clone(), Role::User, answers);
        }
    }
    leave_old_pictures_out(&mut history);
    history
}

fn starts_with_assistant(entries: &[SessionEntry]) -> Option<EntryId> {
    let first = entries.iter().find_map(|entry| match &entry.body {
        EntryBody::Message(details) => Some((entry, details.role)),
        _ => None,
    });
    first
        .filter(|(_, role)| *role == Role::Assistant)
        .map(|(entry, _)| entry.id.clone())
}

/// How many pictures a request holds.
const PICTURES: usize = 80;
/// How much base64 they have. The strictest provider takes requests of 32 MB, words included.
const PICTURE_BYTES: usize = 16 * 1024 * 1024;

/// The newest pictures that fit stay; of each older one it is only said that it was there.
fn leave_old_pictures_out(history: &mut [Message]) {
    let (mut count, mut room) = (PICTURES, PICTURE_BYTES);
    let blocks = history
        .iter_mut()
        .rev()
        .flat_map(|message| message.content.iter_mut().rev());
    for block in blocks {
        let ContentBlock::Image { data, omitted, .. } = block else {
            continue;
        };
        if count > 0 && data.len() <= room {
            count -= 1;
            room -= data.len();
        } else {
            (count, *omitted) = (0, true);
            data.clear();
        }
    }
}

/// The first recorded result of each call.
fn results(entries: &[SessionEntry]) -> HashMap<&str, &ToolResultDetails> {
    let mut results = HashMap::new();
    for entry in entries {
        if let EntryBody::ToolResult(details) = &entry.body {
            results
                .entry(details.tool_call_id.as_str())
                .or_insert(details);
        }
    }
    results
}

fn keep(block: &ContentBlock) -> bool {
    match block {
        ContentBlock::Text { text } => !text.trim().is_empty(),
        // Results have entries of their own.
        ContentBlock::ToolResult { .. } => false,
        ContentBlock::Thinking {
            text, signature, ..
        } => signature.is_some() || !text.trim().is_empty(),
        ContentBlock::ToolCall { .. } => true,
        ContentBlock::Image { data, .. } => !data.is_empty(),
    }
}

fn is_thinking(block: &ContentBlock) -> bool {
    matches!(block, ContentBlock::Thinking { .. })
}

fn answers(
    content: &[ContentBlock],
    results: &HashMap<&str, &ToolResultDetails>,
) -> Vec<ContentBlock> {
    let calls = content.iter().filter_map(|block| match block {
        ContentBlock::ToolCall { id, .. } => Some(id),
        _ => None,
    });
    let answer = |id: &String| match results.get(id.as_str()) {
        Some(details) => details.blocks(),
        None => vec![ContentBlock::ToolResult {
            tool_call_id: id.clone(),
            content: ToolResultContent::error(NO_RESULT),
            is_error: Some(true),
            exit_code: None,
            duration_ms: None,
            render: None,
        }],
    };
    calls.flat_map(answer).collect()
}

/// Appends to the history, joining what has the same speaker. A message of the assistant before
/// any of the user's, or one that holds nothing but thoughts, is left out; then this is false.
fn push(history: &mut Vec<Message>, id: EntryId, role: Role, content: Vec<ContentBlock>) -> bool {
    if content.iter().all(is_thinking) || (history.is_empty() && role == Role::Assistant) {
        return false;
    }
    match history.last_mut() {
        Some(last) if last.role == role => last.content.extend(content),
        _ => history.push(Message {
            id,
            role,
            content,
            partial: false,
        }),
    }
    true
}

#[cfg(test)]
mod tests;
