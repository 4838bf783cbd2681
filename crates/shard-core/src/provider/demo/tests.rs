use serde_json::{Value, json};
use shard_contracts::ToolDeclaration;
use shard_types::{ContentBlock, EntryId, Message, Role, ToolResultContent};

use super::sentence::{FORMS, Sentence, sentences};
use super::*;

fn message(role: Role, content: Vec<ContentBlock>) -> Message {
    Message {
        id: EntryId::generate(),
        role,
        content,
        partial: false,
    }
}

fn typed(text: &str) -> Message {
    message(Role::User, vec![ContentBlock::Text { text: text.into() }])
}

fn answered(plan: &Plan, content: ToolResultContent) -> [Message; 2] {
    let (name, args) = plan.call.clone().expect("a call");
    let id = format!("{name}-{args:?}");
    let call = ContentBlock::ToolCall {
        id: id.clone(),
        name: name.into(),
        args,
    };
    let result = ContentBlock::ToolResult {
        tool_call_id: id,
        content,
        is_error: None,
        exit_code: None,
        duration_ms: None,
        render: None,
    };
    [
        message(Role::Assistant, vec![call]),
        message(Role::User, vec![result]),
    ]
}

fn tools() -> Vec<ToolDeclaration> {
    let tool = |(_, name): (&str, &str)| ToolDeclaration {
        name: name.into(),
        description: String::new(),
        input_schema: json!({}),
    };
    FORMS.map(tool).into()
}

#[test]
fn sentences_become_calls() {
    let cases: [(&str, &str, Value); 16] = [
        ("read README.md.", "read", json!({ "path": "README.md" })),
        ("Read `a b.txt`", "read", json!({ "path": "a b.txt" })),
        ("read ..", "read", json!({ "path": ".." })),
        ("list", "ls", json!({})),
        ("ls src", "ls", json!({ "path": "src" })),
        ("find **/*.rs", "find", json!({ "pattern": "**/*.rs" })),
        (
            "search fn main in src",
            "grep",
            json!({ "pattern": "fn main", "path": "src" }),
        ),
        ("grep TODO", "grep", json!({ "pattern": "TODO" })),
        ("run ls -la .", "bash", json!({ "command": "ls -la ." })),
        (
            "run echo 'a' 'b'",
            "bash",
            json!({ "command": "echo 'a' 'b'" }),
        ),
        (
            "run if true; then echo x; fi",
            "bash",
            json!({ "command": "if true; then echo x; fi" }),
        ),
        (
            "write notes.txt: hello demo",
            "write",
            json!({ "path": "notes.txt", "content": "hello demo" }),
        ),
        (
            "write a.txt:\none\n two",
            "write",
            json!({ "path": "a.txt", "content": "one\n two" }),
        ),
        (
            "edit a.txt: old => new",
            "edit",
            json!({ "path": "a.txt", "old_text": "old", "new_text": "new" }),
        ),
        (
            "ask which colour?",
            "ask_user",
            json!({ "question": "which colour?" }),
        ),
        ("please read x", "read", json!({ "path": "x" })),
    ];
    for (text, tool, args) in cases {
        let [
            Sentence::Call {
                tool: found,
                args: got,
            },
        ] = &sentences(text)[..]
        else {
            panic!("{text}: {:?}", sentences(text));
        };
        assert_eq!((*found, Value::Object(got.clone())), (tool, args), "{text}");
    }
    for unclear in [
        "hello",
        "read",
        "write x",
        "edit a: b",
        "",
        "reading is fun",
    ] {
        let found = sentences(unclear);
        assert!(
            !found.iter().any(|s| matches!(s, Sentence::Call { .. })),
            "{unclear}: {found:?}"
        );
    }
    assert_eq!(
        sentences("read a, and then list then run x\nread b").len(),
        4
    );
}

#[test]
fn sentences_run_one_after_another_and_end() {
    let mut messages = vec![typed("write a: x then hello\nread a")];
    let mut calls = Vec::new();
    for _ in 0..5 {
        let next = plan(&messages, &tools());
        let Some((tool, _)) = next.call else { break };
        calls.push(tool);
        messages.extend(answered(&next, ToolResultContent::text("fine")));
    }
    // `hello` is no verb, so it belongs to the text before it.
    assert_eq!(calls, ["write", "read"]);
    let end = plan(&messages, &tools());
    assert!(
        end.words.contains("fine") && end.words.ends_with("That was all."),
        "{end:?}"
    );
}

#[test]
fn a_plan_stands_at_the_end_and_calls_nothing() {
    let check = |text: &str, words: &str| {
        let got = plan(&[typed(text)], &tools());
        assert_eq!((got.words.as_str(), got.call), (words, None), "{text}");
    };
    let two = "## Implementation Plan\n\n1. look around\n2. do it";
    check("plan look around; do it", two);
    check("Plan look around;\ndo it;", two);
    assert!(plan(&[typed("plan ;")], &tools()).words.contains("no form"));
    let mut messages = vec![typed("plan look around; do it then read a")];
    let first = plan(&messages, &tools());
    assert!(!first.words.contains("## "), "{first:?}");
    messages.extend(answered(&first, ToolResultContent::text("fine")));
    let end = plan(&messages, &tools());
    assert!(end.words.ends_with(two), "{end:?}");
}

#[test]
fn a_failure_ends_the_turn_and_a_new_text_begins_again() {
    let mut messages = vec![typed("read a then run b")];
    let first = plan(&messages, &tools());
    messages.extend(answered(&first, ToolResultContent::error("no such file")));
    let end = plan(&messages, &tools());
    assert_eq!(end.call, None);
    assert!(end.words.contains("no such file"), "{end:?}");
    messages.push(typed("list"));
    assert_eq!(
        plan(&messages, &tools()).call.map(|call| call.0),
        Some("ls")
    );
}

#[test]
fn what_it_cannot_do_it_says() {
    let unclear = plan(&[typed("what is love?")], &tools());
    assert_eq!(unclear.call, None);
    assert!(unclear.words.contains("no language model") && unclear.words.contains("read PATH"));
    let bare = plan(&[typed("run ls")], &[]);
    assert_eq!(bare.call, None);
    assert!(bare.words.contains("`bash`"), "{bare:?}");
}

#[tokio::test(start_paused = true)]
async fn a_reply_comes_in_pieces_and_soon() {
    let request = ProviderRequest {
        model: ModelSpec {
            id: MODEL.into(),
            ..ModelSpec::default()
        },
        system: String::new(),
        messages: vec![typed("hello")],
        tools: tools(),
        reasoning: None,
    };
    let begun = tokio::time::Instant::now();
    let events: Vec<_> = Demo::new("demo".into()).stream(request).collect().await;
    assert!(
        begun.elapsed() < Duration::from_millis(100),
        "{:?}",
        begun.elapsed()
    );
    let texts = events
        .iter()
        .filter(|e| matches!(e, Ok(ProviderEvent::Text { block: 0, .. })));
    assert!(texts.count() > 3);
    let [
        ..,
        Ok(ProviderEvent::Usage(usage)),
        Ok(ProviderEvent::Stop(StopReason::Done)),
    ] = &events[..]
    else {
        panic!("{events:?}");
    };
    assert!(usage.input > 0 && usage.output > 0);
}
