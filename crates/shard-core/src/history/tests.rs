use proptest::prelude::*;
use serde_json::Map;
use shard_types::MessageDetails;

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

fn text(text: &str) -> ContentBlock {
    ContentBlock::Text {
        text: text.to_owned(),
    }
}

fn call(id: &str) -> ContentBlock {
    ContentBlock::ToolCall {
        id: id.to_owned(),
        name: "read".to_owned(),
        args: Map::new(),
    }
}

fn result(id: &str, said: &str) -> SessionEntry {
    entry(EntryBody::ToolResult(ToolResultDetails {
        tool_call_id: id.to_owned(),
        content: ToolResultContent::text(said),
        is_error: false,
        exit_code: None,
        duration_ms: None,
        render: None,
    }))
}

/// The history as one short line: `U:` and `A:` with `"text"`, `call`, `=result`, `!missing`.
fn sketch(entries: &[SessionEntry]) -> String {
    sketch_after(entries, false)
}

fn sketch_after(entries: &[SessionEntry], summarized: bool) -> String {
    let block = |block: &ContentBlock| match block {
        ContentBlock::Text { text } => format!("{text:?}"),
        ContentBlock::ToolCall { id, .. } => id.clone(),
        ContentBlock::ToolResult {
            content: ToolResultContent::Text { text },
            ..
        } => format!("={text}"),
        ContentBlock::ToolResult { tool_call_id, .. } => format!("!{tool_call_id}"),
        ContentBlock::Thinking { text, .. } => format!("({text})"),
        ContentBlock::Image { .. } => "image".to_owned(),
    };
    let message = |message: &Message| {
        let blocks: Vec<_> = message.content.iter().map(block).collect();
        format!(
            "{}: {}",
            if message.role == Role::User { "U" } else { "A" },
            blocks.join(" ")
        )
    };
    assemble(entries, summarized)
        .iter()
        .map(message)
        .collect::<Vec<_>>()
        .join(" | ")
}

#[test]
fn results_follow_their_calls_in_call_order() {
    let entries = [
        message(Role::User, vec![text("go")]),
        message(Role::Assistant, vec![text("on it"), call("a"), call("b")]),
        result("b", "two"),
        result("a", "one"),
        message(Role::Assistant, vec![text("done")]),
    ];
    assert_eq!(
        sketch(&entries),
        r#"U: "go" | A: "on it" a b | U: =one =two | A: "done""#
    );
}

#[test]
fn a_call_without_a_result_gets_one_and_a_result_without_a_call_goes() {
    let entries = [
        message(Role::User, vec![text("go")]),
        message(Role::Assistant, vec![call("a"), call("b")]),
        result("a", "one"),
        result("a", "one again"),
        result("ghost", "boo"),
        message(Role::User, vec![text("and?")]),
    ];
    assert_eq!(sketch(&entries), r#"U: "go" | A: a b | U: =one !b "and?""#);
}

#[test]
fn blanks_never_reach_a_provider() {
    let entries = [
        message(Role::Assistant, vec![text("before anybody spoke")]),
        message(Role::User, vec![text("  \n")]),
        message(Role::User, vec![text("go")]),
        message(Role::Assistant, vec![text(""), call("a"), text("\n")]),
        result("a", ""),
        message(Role::Assistant, vec![text("\n")]),
        message(Role::User, vec![text("more")]),
    ];
    assert_eq!(sketch(&entries), r#"U: "go" | A: a | U: = "more""#);
}

#[test]
fn a_call_that_nobody_asked_for_goes_with_its_result() {
    let entries = [
        message(Role::Assistant, vec![text("on it"), call("a")]),
        result("a", "one"),
        message(Role::User, vec![text("go")]),
    ];
    assert_eq!(sketch(&entries), r#"U: "go""#);
}

#[test]
fn what_broke_off_keeps_its_words_and_loses_its_thoughts() {
    let thought = ContentBlock::Thinking {
        text: "hm".to_owned(),
        signature: None,
        model: None,
    };
    let content = vec![thought, text("half an ans")];
    let partial = MessageDetails {
        role: Role::Assistant,
        content,
        partial: true,
        usage: None,
    };
    let entries = [
        message(Role::User, vec![text("go")]),
        entry(EntryBody::Message(partial)),
        message(Role::User, vec![text("again")]),
    ];
    assert_eq!(
        sketch(&entries),
        r#"U: "go" | A: "half an ans" | U: "again""#
    );
}

#[test]
fn after_a_summary_a_history_may_start_within_a_turn() {
    let entries = [
        message(Role::Assistant, vec![call("a")]),
        result("a", "one"),
        message(Role::Assistant, vec![text("done")]),
    ];
    assert_eq!(
        sketch_after(&entries, true),
        r#"U: "(Go on. What came before is in the summary above.)" | A: a | U: =one | A: "done""#
    );
    assert_eq!(sketch_after(&entries, false), "");
    let entries = [message(Role::User, vec![text("go")])];
    assert_eq!(sketch_after(&entries, true), r#"U: "go""#);
}

proptest! {
    /// Any pile of entries gives a history that a strict provider takes.
    #[test]
    fn every_history_is_valid(
        kinds in prop::collection::vec((0u8..6, 0u8..4), 0..24),
        summarized in any::<bool>(),
    ) {
        let id = |n: u8| format!("c{n}");
        let mut used = 0u8;
        let entries: Vec<_> = kinds.into_iter().map(|(kind, n)| match kind {
            0 => message(Role::User, vec![text("hello")]),
            1 => message(Role::User, vec![text(" ")]),
            2 => message(Role::Assistant, vec![text("")]),
            3 => {
                let calls = (0..n).map(|_| { used += 1; call(&id(used)) });
                message(Role::Assistant, std::iter::once(text("calling")).chain(calls).collect())
            }
            4 => result(&id(used.saturating_sub(n)), "ok"),
            _ => message(Role::Assistant, vec![text("words")]),
        }).collect();
        let history = assemble(&entries, summarized);
        if let Some(first) = history.first() {
            prop_assert_eq!(first.role, Role::User);
        }
        for (at, message) in history.iter().enumerate() {
            prop_assert!(!message.content.is_empty());
            if at > 0 {
                prop_assert_ne!(history[at - 1].role, message.role);
            }
            let calls: Vec<_> = message.content.iter().filter_map(|block| match block {
                ContentBlock::ToolCall { id, .. } => Some(id.as_str()),
                _ => None,
            }).collect();
            let next = history.get(at + 1).map_or(&[][..], |next| &next.content);
            let answered: Vec<_> = next.iter().filter_map(|block| match block {
                ContentBlock::ToolResult { tool_call_id, .. } => Some(tool_call_id.as_str()),
                _ => None,
            }).collect();
            if message.role == Role::Assistant {
                prop_assert_eq!(calls, answered);
            }
            let answers = message.content.iter().any(|block| matches!(block, ContentBlock::ToolResult { .. }));
            prop_assert!(!(answers && at == 0), "a result lacks its call");
        }
    }
}
