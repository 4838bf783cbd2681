use proptest::prelude::*;
use serde_json::Map;
use shard_types::{Image, ImageTag, MessageDetails};

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
        images: Vec::new(),
    }))
}

fn picture(bytes: usize) -> Image {
    Image {
        tag: ImageTag::Image,
        data: "A".repeat(bytes),
        mime_type: "image/png".to_owned(),
    }
}

fn seen(id: &str, images: Vec<Image>) -> SessionEntry {
    let EntryBody::ToolResult(details) = result(id, id).body else {
        unreachable!()
    };
    entry(EntryBody::ToolResult(ToolResultDetails {
        images,
        ..details
    }))
}

#[test]
fn pictures_stand_behind_the_result_that_gave_them() {
    let entries = [
        message(Role::User, vec![text("look")]),
        message(Role::Assistant, vec![call("a"), call("b")]),
        seen("b", vec![picture(4), picture(4)]),
        seen("a", vec![picture(4)]),
        message(Role::User, vec![text("so?")]),
    ];
    assert_eq!(
        sketch(&entries),
        r#"U: "look" | A: a b | U: =a image =b image image "so?""#
    );
}

#[test]
fn old_pictures_give_way_to_new_ones() {
    let third = PICTURE_BYTES / 3;
    let mut entries = vec![message(Role::User, vec![text("look")])];
    for id in ["a", "b", "c"] {
        entries.push(message(Role::Assistant, vec![call(id)]));
        entries.push(seen(id, vec![picture(third + 1)]));
    }
    let left_out = |entries: &[SessionEntry]| -> Vec<bool> {
        let history = assemble(entries, false);
        let blocks = history.into_iter().flat_map(|message| message.content);
        let pictures = blocks.filter_map(|block| match block {
            ContentBlock::Image { data, omitted, .. } => {
                assert_eq!(data.is_empty(), omitted);
                Some(omitted)
            }
            _ => None,
        });
        pictures.collect()
    };
    assert_eq!(left_out(&entries), [true, false, false]);
    entries.push(message(Role::Assistant, vec![call("d")]));
    entries.push(seen("d", vec![picture(4); PICTURES]));
    let after = left_out(&entries);
    assert_eq!(after[..3], [true; 3]);
    assert_eq!(after[3..], [false; PICTURES]);
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
