//! A conversation, as a person reads it afterwards.

use std::collections::HashSet;

use shard_core::gate::visible;
use shard_types::event::AgentEvent;
use shard_types::{ContentBlock, EntryId, Message, Role, ToolResultContent};

use super::text::{harmless, picture, shortened, summary};

/// How much of a result is shown, in characters: the model reads the rest.
const RESULT: usize = 160;

/// Messages with who says them, calls on one line, results shortened; and who spoke last.
pub(in crate::commands) fn transcript<'a>(
    messages: impl IntoIterator<Item = &'a Message>,
) -> (String, Option<Role>) {
    let mut text = String::new();
    let mut speaker = None;
    for message in messages {
        let mut part = String::new();
        let (mut spoken, mut answers) = (false, false);
        for block in &message.content {
            answers |= matches!(block, ContentBlock::ToolResult { .. });
            let picture = matches!(block, ContentBlock::Image { .. });
            // The pictures beside a result are the tool's.
            spoken |= !answers || !(picture || matches!(block, ContentBlock::ToolResult { .. }));
            part.push_str(&shown(block));
        }
        // A result answers on a person's side without anybody speaking.
        if spoken && speaker != Some(message.role) {
            if !text.is_empty() {
                text.push('\n');
            }
            text.push_str(who(message.role));
            speaker = Some(message.role);
        }
        text.push_str(&part);
    }
    (text, speaker)
}

fn who(role: Role) -> &'static str {
    match role {
        Role::User => "you:\n",
        Role::Assistant => "agent:\n",
    }
}

fn shown(block: &ContentBlock) -> String {
    match block {
        ContentBlock::Text { text } if text.trim().is_empty() => String::new(),
        ContentBlock::Text { text } => format!("{}\n", harmless(text.trim_end())),
        ContentBlock::Thinking { .. } => String::new(),
        ContentBlock::ToolCall { name, args, .. } => format!("· {}\n", summary(name, args)),
        ContentBlock::ToolResult {
            content, exit_code, ..
        } => {
            let code = exit_code.filter(|code| *code != 0);
            let code = code.map_or_else(String::new, |code| format!(" (exit code {code})"));
            format!("  ↳ {}{code}\n", result(content))
        }
        ContentBlock::Image {
            data, mime_type, ..
        } => format!("{}\n", picture(data, mime_type)),
    }
}

/// The first line, and how many follow.
fn result(content: &ToolResultContent) -> String {
    let text = content.to_text();
    let mut lines = text.lines().filter(|line| !line.trim().is_empty());
    let first = lines.next().unwrap_or_default().replace('\t', " ");
    let first = shortened(&visible(first.trim()), RESULT);
    match lines.count() {
        0 => first,
        1 => format!("{first} … 1 more line"),
        more => format!("{first} … {more} more lines"),
    }
}

/// What was shown of a conversation already, where live events overlap with what was read.
#[derive(Default)]
pub(in crate::commands) struct Seen {
    messages: HashSet<EntryId>,
    /// Calls that have their results.
    results: HashSet<String>,
    calls: HashSet<String>,
}

impl Seen {
    pub(in crate::commands) fn note(&mut self, messages: &[Message]) {
        for message in messages.iter().filter(|message| !message.partial) {
            self.messages.insert(message.id.clone());
            for block in &message.content {
                if let ContentBlock::ToolResult { tool_call_id, .. } = block {
                    self.results.insert(tool_call_id.clone());
                } else if let ContentBlock::ToolCall { id, .. } = block {
                    self.calls.insert(id.clone());
                }
            }
        }
    }

    /// Whether an event tells what was shown.
    pub(in crate::commands) fn has(&self, event: &AgentEvent) -> bool {
        match event {
            AgentEvent::MessageDelta(delta) => self.messages.contains(&delta.message_id),
            AgentEvent::MessageComplete(complete) => self.messages.contains(&complete.message_id),
            AgentEvent::ToolCall(call) => self.calls.contains(&call.tool_call_id),
            AgentEvent::ToolResult(result) => self.results.contains(&result.tool_call_id),
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn messages() -> Vec<Message> {
        serde_json::from_value(json!([
            { "id": "msg-1", "role": "user", "content": [{ "type": "text", "text": "look\u{1b}[2J" }] },
            { "id": "msg-2", "role": "assistant", "content": [
                { "type": "thinking", "text": "hm" },
                { "type": "text", "text": "I look." },
                { "type": "tool_call", "id": "c1", "name": "bash", "args": { "command": "ls\nid" } },
            ] },
            { "id": "msg-3", "role": "user", "content": [
                { "type": "tool_result", "tool_call_id": "c1", "exit_code": 2,
                  "content": { "kind": "text", "text": "\na\u{1b}]0;x\u{7}\nb\nc\n" } },
            ] },
            { "id": "msg-4", "role": "user", "content": [
                { "type": "tool_result", "tool_call_id": "c2", "content": { "kind": "text", "text": "i.png" } },
                { "type": "image", "mime_type": "image/png", "data": "", "omitted": true },
            ] },
            { "id": "msg-5", "role": "assistant", "content": [{ "type": "text", "text": "Done.\n\n" }] },
        ]))
        .unwrap()
    }

    #[test]
    fn a_transcript_is_short_and_harmless() {
        let text = "you:\nlook[2J\n\nagent:\nI look.\n· bash ls ⏎ id\n  \
                    ↳ a␛]0;x␇ … 2 more lines (exit code 2)\n  ↳ i.png\n[picture: image/png]\nDone.\n";
        assert_eq!(
            transcript(&messages()),
            (text.to_owned(), Some(Role::Assistant))
        );
    }

    #[test]
    fn what_was_shown_is_known() {
        let mut seen = Seen::default();
        seen.note(&messages());
        let event = |kind: &str, json: serde_json::Value| {
            AgentEvent::parse(kind, &json.to_string()).unwrap().unwrap()
        };
        let delta = |id: &str| {
            let body = json!({ "message_id": id, "block_index": 0, "kind": "text" });
            event("message_delta", body)
        };
        assert!(seen.has(&delta("msg-5")) && !seen.has(&delta("msg-6")));
        let result = |id: &str| {
            let body = json!({ "tool_call_id": id, "is_error": false, "content": { "kind": "text", "text": "" } });
            event("tool_result", body)
        };
        assert!(seen.has(&result("c1")) && !seen.has(&result("c3")));
    }
}
