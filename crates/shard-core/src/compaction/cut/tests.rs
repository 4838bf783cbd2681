use shard_types::{ContentBlock, EntryId, MessageDetails, ToolResultContent, ToolResultDetails};

use super::*;

fn entry(body: EntryBody) -> SessionEntry {
    SessionEntry {
        id: EntryId::generate(),
        parent_id: None,
        timestamp: 0,
        body,
    }
}

fn message(role: Role, content: Vec<ContentBlock>) -> SessionEntry {
    entry(EntryBody::Message(MessageDetails {
        role,
        content,
        partial: false,
        usage: None,
    }))
}

/// A session in short: `u` and `a` speak, `(xy)` calls two tools, `x` and `y` are their results.
/// Each word and each result is 10 tokens, a message that calls takes some 3 tokens a call.
fn session(sketch: &str) -> Vec<SessionEntry> {
    let mut entries = Vec::new();
    let mut calls: Option<Vec<ContentBlock>> = None;
    for c in sketch.chars() {
        let text = || ContentBlock::Text {
            text: "1234 ".repeat(8),
        };
        match (c, &mut calls) {
            ('(', _) => calls = Some(Vec::new()),
            (')', _) => entries.push(message(Role::Assistant, calls.take().unwrap())),
            (id, Some(calls)) => calls.push(ContentBlock::ToolCall {
                id: id.to_string(),
                name: "read tool".to_owned(),
                args: serde_json::Map::new(),
            }),
            ('u', None) => entries.push(message(Role::User, vec![text()])),
            ('a', None) => entries.push(message(Role::Assistant, vec![text()])),
            (id, None) => entries.push(entry(EntryBody::ToolResult(ToolResultDetails {
                tool_call_id: id.to_string(),
                content: ToolResultContent::text("1234 ".repeat(8)),
                is_error: false,
                exit_code: None,
                duration_ms: None,
                render: None,
                images: Vec::new(),
            }))),
        }
    }
    entries
}

#[test]
fn a_window_is_cut_at_a_message_between_steps() {
    let check = |sketch: &str, keep: u64, want: Option<usize>| {
        assert_eq!(cut(&session(sketch), keep), want, "{sketch} {keep}");
    };
    check("uaua", 10, Some(3));
    check("uaua", 20, Some(2));
    check("uaua", 35, Some(2)); // a turn from its start, rather than one answer more
    check("uaaaaaaua", 60, Some(3)); // but not when it is less than half of what may stay
    check("uaua", 40, None);
    check("uaua", 1000, None);
    check("uaua", 0, Some(3));
    check("u(x)x", 0, Some(1));
    check("u(xy)xya", 15, Some(4));
    check("u(xy)xya", 30, Some(4));
    check("u(xy)xya", 40, Some(1));
    check("u(xyz)xyz", 5, Some(1)); // all of one message's calls, however large
    check("u(x)(y)xya", 10, Some(5)); // a result that came late holds what is between
    check("u(x)(y)xya", 34, Some(5)); // although `(y)xya` would fit
    check("u(x)(y)xya", 40, Some(1));
    check("ua(x)", 5, Some(2)); // a call without a result
    check("(x)x", 0, None);
    check("u", 0, None);
    check("", 0, None);
}
