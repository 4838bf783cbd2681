//! What holds for any session.

use std::collections::HashMap;

use proptest::prelude::*;
use shard_core::compaction::{cut, estimate, normalize, oversized, shorten};
use shard_types::{
    ContentBlock, EntryBody, EntryId, MessageDetails, NormalizedBlock, Role, ToolResultContent,
    ToolResultDetails,
};

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

fn result(id: usize, said: &str, is_error: bool) -> SessionEntry {
    entry(EntryBody::ToolResult(ToolResultDetails {
        tool_call_id: format!("call-{id}"),
        content: match is_error {
            true => ToolResultContent::error(said),
            false => ToolResultContent::text(said),
        },
        is_error,
        exit_code: (!is_error).then_some(i32::from(said.len() % 2 == 1)),
        duration_ms: None,
        render: None,
        images: Vec::new(),
    }))
}

/// A call: its tool, its argument, its result (if it has one) and whether that is an error.
type Call = (u8, String, Option<(String, bool)>);

/// A step of a made-up session.
#[derive(Debug, Clone)]
enum Step {
    User(String, bool),
    Assistant(String),
    /// Calls in one message. Results come in the order of the calls, or in the other one and only
    /// after the next step.
    Calls(Vec<Call>, bool),
    Other,
}

fn words() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => "[a-z ./]{0,20}",
        1 => "(?s).{0,20}",
        1 => Just("## Commits\n- x\n---\n  y".to_owned()),
        1 => Just("error[E0308]: mismatched types\n  --> src/a.rs:1:2\n".to_owned()),
        1 => prop::sample::select(vec!["always use tabs. never use unwrap", "don't. please prefer x", "[main 1234567] subject"]).prop_map(str::to_owned),
        1 => (1usize..400).prop_map(|times| "ein langes Wört, ".repeat(times)),
    ]
}

fn step() -> impl Strategy<Value = Step> {
    let call = (
        0u8..6,
        words(),
        prop::option::weighted(0.9, (words(), any::<bool>())),
    );
    prop_oneof![
        2 => (words(), any::<bool>()).prop_map(|(text, picture)| Step::User(text, picture)),
        2 => words().prop_map(Step::Assistant),
        4 => (prop::collection::vec(call, 1..5), any::<bool>()).prop_map(|(calls, turned)| Step::Calls(calls, turned)),
        1 => Just(Step::Other),
    ]
}

fn sessions() -> impl Strategy<Value = Vec<SessionEntry>> {
    prop::collection::vec(step(), 0..16).prop_map(|steps| {
        let mut entries = Vec::new();
        let mut calls = 0;
        let mut late = Vec::new();
        for step in steps {
            let due = std::mem::take(&mut late);
            match step {
                Step::User(words, picture) => {
                    let image = ContentBlock::Image {
                        data: "aGk=".to_owned(),
                        mime_type: "image/png".to_owned(),
                        omitted: false,
                    };
                    let content = std::iter::once(text(&words)).chain(picture.then_some(image));
                    entries.push(message(Role::User, content.collect()));
                }
                Step::Assistant(words) => {
                    entries.push(message(Role::Assistant, vec![text(&words)]));
                }
                Step::Calls(made, turned) => {
                    let (mut content, mut results) = (vec![text("calling")], Vec::new());
                    for (tool, argument, answer) in made {
                        calls += 1;
                        let names = ["read", "edit", "write", "bash", "grep", "mcp"];
                        let keys = ["path", "path", "path", "command", "pattern", "thing"];
                        let key = keys[usize::from(tool)].to_owned();
                        content.push(ContentBlock::ToolCall {
                            id: format!("call-{calls}"),
                            name: names[usize::from(tool)].to_owned(),
                            args: [(key, argument.into())].into_iter().collect(),
                        });
                        results.extend(answer.map(|(said, failed)| result(calls, &said, failed)));
                    }
                    entries.push(message(Role::Assistant, content));
                    match turned {
                        true => late.extend(results.into_iter().rev()),
                        false => entries.extend(results),
                    }
                }
                Step::Other => entries.push(entry(EntryBody::Unknown)),
            }
            entries.extend(due);
        }
        entries.extend(late);
        entries
    })
}

/// The position of the entry with each call, and of that with its result.
fn pairs(entries: &[SessionEntry]) -> Vec<(usize, usize)> {
    let mut calls = HashMap::new();
    let mut pairs = Vec::new();
    for (at, entry) in entries.iter().enumerate() {
        match &entry.body {
            EntryBody::Message(message) => {
                for block in &message.content {
                    if let ContentBlock::ToolCall { id, .. } = block {
                        calls.insert(id.clone(), at);
                    }
                }
            }
            EntryBody::ToolResult(result) => pairs.push((calls[&result.tool_call_id], at)),
            _ => {}
        }
    }
    pairs
}

fn size(entries: &[SessionEntry]) -> u64 {
    entries.iter().map(estimate).sum()
}

proptest! {
    // Making up a session takes longer than what is tried with it.
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn a_cut_never_parts_a_call_from_its_result(entries in sessions(), keep in 0u64..3000) {
        // Also for each size that ends exactly at an entry.
        let ends = (0..entries.len()).map(|at| size(&entries[at..]));
        for keep in ends.chain([0, keep]) {
            let Some(at) = cut(&entries, keep) else {
                continue;
            };
            prop_assert!(at > 0 && at < entries.len());
            prop_assert!(matches!(entries[at].body, EntryBody::Message(_)));
            for (call, result) in pairs(&entries) {
                prop_assert_eq!(call < at, result < at, "cut at {}: {} and {}", at, call, result);
            }
        }
    }

    #[test]
    fn what_stays_after_a_cut_fits_unless_the_last_step_alone_does_not(entries in sessions(), keep in 0u64..3000) {
        let is_safe = |at: usize| {
            matches!(entries[at].body, EntryBody::Message(_))
                && entries[..at].iter().any(|entry| matches!(entry.body, EntryBody::Message(_)))
                && pairs(&entries).iter().all(|(call, result)| (*call < at) == (*result < at))
        };
        let last_safe = (1..entries.len()).rev().find(|at| is_safe(*at));
        match cut(&entries, keep) {
            Some(at) => prop_assert!(size(&entries[at..]) <= keep || Some(at) == last_safe),
            None => prop_assert!(last_safe.is_none() || size(&entries) <= keep),
        }
    }

    #[test]
    fn every_call_stands_before_its_result(entries in sessions()) {
        let blocks = normalize(&entries);
        for (at, block) in blocks.iter().enumerate() {
            if let NormalizedBlock::ToolResult { name: tool, .. } = block {
                let before = at.checked_sub(1).map(|at| &blocks[at]);
                let is_its = matches!(before, Some(NormalizedBlock::ToolCall { name, .. }) if name == tool);
                prop_assert!(is_its);
            }
        }
        let answered = blocks.iter().filter(|block| matches!(block, NormalizedBlock::ToolResult { .. })).count();
        let run = blocks.iter().filter(|block| matches!(block, NormalizedBlock::Bash { .. })).count();
        prop_assert!(answered <= pairs(&entries).len() && pairs(&entries).len() <= answered + run);
        prop_assert_eq!(blocks.len(), Blocks::of(&entries, 0).origins.len());
    }

    #[test]
    fn a_shortened_text_is_short_and_leads_to_the_whole(text in "(?s).{0,100}", times in 0usize..1000) {
        let text = text.repeat(times);
        let short = shorten(&text, 41);
        if text.len() <= 8 * 1024 {
            prop_assert_eq!(short, text);
        } else {
            prop_assert!(short.len() < 4 * 1024);
            prop_assert!(short.contains("recall with expand [41] gives the whole"));
            prop_assert_eq!(shorten(&short, 41), short, "shortening again changes nothing");
        }
    }
}

proptest! {
    // A whole summary takes a while where nothing is optimized.
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn a_summary_is_bounded_and_the_same_every_time(parts in prop::collection::vec(sessions(), 1..4), limit in prop::option::of(0usize..40_000)) {
        let write = || {
            let mut told: Option<String> = None;
            let mut index = 0;
            for (number, entries) in parts.iter().enumerate() {
                let blocks = Blocks::of(entries, index);
                index += entries.len() as u64;
                let context = ExtractorContext {
                    previous_summary: told.as_deref(),
                    compaction_index: number as u64,
                    origins: &blocks.origins,
                    cwd: Some(Path::new("/p")),
                    max_summary_bytes: limit,
                    ..ExtractorContext::default()
                };
                if let Ok(next) = COMPACTOR.summarize(&blocks.blocks, &default_extractors(), &context) {
                    assert!(next.len() <= limit.unwrap_or(LONGEST).clamp(4096, LONGEST), "{} bytes", next.len());
                    told = Some(next);
                }
            }
            told
        };
        let (once, again) = std::thread::scope(|scope| {
            let again = scope.spawn(write);
            (write(), again.join().unwrap())
        });
        prop_assert_eq!(once, again);
    }
}

#[test]
fn only_large_results_that_are_no_failures_are_oversized() {
    let large = |times: usize| "x".repeat(times * 1024);
    let entries = [
        message(Role::User, vec![text(&large(60))]),
        message(Role::Assistant, vec![text("calling")]),
        result(1, &large(20), false),
        result(2, &large(40), false),
        result(3, &large(80), true),
        result(4, &large(8), false),
        result(5, &large(20), false),
    ];
    assert_eq!(oversized(&entries), [3, 2, 6]);
}

#[test]
fn an_entry_counts_a_quarter_token_for_each_byte_and_a_picture_its_constant() {
    let image = ContentBlock::Image {
        data: "x".repeat(100_000),
        mime_type: "image/png".to_owned(),
        omitted: false,
    };
    let call = ContentBlock::ToolCall {
        id: "ignored".to_owned(),
        name: "read".to_owned(),
        args: [("path".to_owned(), "a.rs".into())].into_iter().collect(),
    };
    let check = |entry: SessionEntry, want: u64| assert_eq!(estimate(&entry), want, "{entry:?}");
    check(message(Role::User, vec![text("12345678")]), 2);
    check(message(Role::User, vec![text("123456789")]), 3);
    check(message(Role::User, vec![text("1234"), image]), 1601);
    check(message(Role::Assistant, vec![call]), 5); // read{"path":"a.rs"}
    check(result(1, "1234", false), 1);
    check(entry(EntryBody::Unknown), 0);
}
