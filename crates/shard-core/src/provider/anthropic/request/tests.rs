use serde_json::json;
use shard_types::{EntryId, Message};

use super::*;

fn message(role: Role, content: Value) -> Message {
    let content = serde_json::from_value(content).expect("blocks");
    Message {
        id: EntryId::generate(),
        role,
        content,
        partial: false,
    }
}

fn hi() -> Message {
    message(Role::User, json!([{ "type": "text", "text": "hi" }]))
}

fn request(messages: Vec<Message>) -> ProviderRequest {
    ProviderRequest {
        model: ModelSpec {
            id: "m".into(),
            images: true,
            ..ModelSpec::default()
        },
        system: "sys".into(),
        messages,
        tools: Vec::new(),
        reasoning: None,
    }
}

#[test]
fn a_whole_request() {
    let mut request = request(vec![
        hi(),
        message(
            Role::Assistant,
            json!([
                { "type": "thinking", "text": "hm", "signature": "c2ln", "model": "p/m" },
                { "type": "thinking", "text": "", "signature": "redacted:xyz", "model": "p/m" },
                { "type": "thinking", "text": "of another", "signature": "c2ln", "model": "p/other" },
                { "type": "thinking", "text": "unsigned", "model": "p/m" },
                { "type": "text", "text": "\n" },
                { "type": "tool_call", "id": "functions.read:0", "name": "read", "args": { "path": "x" } },
            ]),
        ),
        message(
            Role::User,
            json!([
                { "type": "text", "text": "and look" },
                { "type": "image", "data": "QUJD", "mime_type": "image/png" },
                { "type": "tool_result", "tool_call_id": "functions.read:0",
                  "content": { "kind": "error", "message": "no such file" } },
            ]),
        ),
    ]);
    request.tools = vec![ToolDeclaration {
        name: "read".into(),
        description: "reads".into(),
        input_schema: json!({ "type": "object" }),
    }];
    let cache = json!({ "type": "ephemeral" });
    let want = json!({
        "model": "m",
        "max_tokens": 8192,
        "stream": true,
        "system": [{ "type": "text", "text": "sys", "cache_control": cache }],
        "tools": [{ "name": "read", "description": "reads", "input_schema": { "type": "object" }, "cache_control": cache }],
        "messages": [
            { "role": "user", "content": [{ "type": "text", "text": "hi" }] },
            { "role": "assistant", "content": [
                { "type": "thinking", "thinking": "hm", "signature": "c2ln" },
                { "type": "redacted_thinking", "data": "xyz" },
                { "type": "tool_use", "id": "functions_read_0", "name": "read", "input": { "path": "x" } },
            ]},
            { "role": "user", "content": [
                { "type": "tool_result", "tool_use_id": "functions_read_0", "content": "no such file", "is_error": true },
                { "type": "text", "text": "and look" },
                { "type": "image", "source": { "type": "base64", "media_type": "image/png", "data": "QUJD" }, "cache_control": cache },
            ]},
        ],
    });
    assert_eq!(body(&request, "p"), want);
}

#[test]
fn what_is_blank_leaves_no_gap() {
    let blank = |role| message(role, json!([{ "type": "text", "text": " \n" }]));
    let got = body(&request(vec![hi(), blank(Role::Assistant), hi()]), "p");
    assert_eq!(got["messages"].as_array().map(Vec::len), Some(1));
    let got = body(&request(vec![blank(Role::User)]), "p");
    let said = got.pointer("/messages/0/content/0/text");
    assert_eq!(said, Some(&json!("(no text)")));
    let mut bare = request(vec![hi()]);
    bare.system = String::new();
    let got = body(&bare, "p");
    assert!(got.get("system").is_none() && got.get("tools").is_none());
}

#[test]
fn thinking_leaves_room_for_the_answer() {
    let budget = |effort: &str, most: Option<u64>| {
        let mut request = request(vec![hi()]);
        request.reasoning = Some(effort.into());
        request.model.max_output_tokens = most;
        let body = body(&request, "p");
        (
            body["max_tokens"].as_u64(),
            body.pointer("/thinking/budget_tokens")
                .and_then(Value::as_u64),
        )
    };
    assert_eq!(budget("low", None), (Some(10_240), Some(2048)));
    assert_eq!(budget("high", None), (Some(24_576), Some(16_384)));
    assert_eq!(budget("high", Some(4096)), (Some(4096), Some(3072)));
    assert_eq!(budget("medium", Some(64_000)), (Some(64_000), Some(8192)));
    assert_eq!(budget("high", Some(1500)), (Some(1500), None));
    assert_eq!(budget("none", None), (Some(8192), None));
}

#[test]
fn later_models_take_an_effort_by_name() {
    let cases = [
        ("claude-opus-4-6", true),
        ("claude-opus-4-7-20260401", true),
        ("anthropic/claude-sonnet-4.6", true),
        ("claude-sonnet-5", true),
        ("claude-opus-4-5-20251101", false),
        ("claude-sonnet-4-20250514", false),
        ("claude-3-7-sonnet-20250219", false),
        ("claude-latest", false),
        ("m1", false),
    ];
    for (model, adaptive) in cases {
        let mut request = request(vec![hi()]);
        request.reasoning = Some("low".into());
        request.model.id = model.into();
        let body = body(&request, "p");
        let effort = body
            .pointer("/output_config/effort")
            .and_then(Value::as_str);
        assert_eq!(effort, adaptive.then_some("low"), "{model}");
        assert_eq!(body["thinking"]["type"] == "adaptive", adaptive, "{model}");
    }
}

#[test]
fn an_effort_by_name_leaves_room_for_the_answer_too() {
    let most = |effort: Option<&str>, most: Option<u64>| {
        let mut request = request(vec![hi()]);
        request.reasoning = effort.map(str::to_owned);
        request.model.id = "claude-opus-4-6".into();
        request.model.max_output_tokens = most;
        let body = body(&request, "p");
        let thinks = body.get("thinking").is_some();
        assert_eq!(thinks, body.get("output_config").is_some());
        (thinks, body["max_tokens"].as_u64())
    };
    assert_eq!(most(None, None), (false, Some(8192)));
    assert_eq!(most(Some("low"), None), (true, Some(32_000)));
    assert_eq!(most(Some("low"), Some(4096)), (true, Some(4096)));
    for off in ["none", "off"] {
        assert_eq!(most(Some(off), None), (false, Some(8192)), "{off}");
    }
}

#[test]
fn thinking_waits_while_tools_of_an_unthought_answer_are_answered() {
    let thinks = |model: &str| {
        let mut request = request(vec![
            hi(),
            message(
                Role::Assistant,
                json!([
                    { "type": "thinking", "text": "hm", "signature": "c2ln", "model": model },
                    { "type": "tool_call", "id": "a", "name": "x", "args": {} },
                ]),
            ),
            message(
                Role::User,
                json!([
                    { "type": "tool_result", "tool_call_id": "a", "exit_code": 0, "content": { "kind": "text", "text": "" } },
                ]),
            ),
        ]);
        request.reasoning = Some("low".into());
        body(&request, "p").get("thinking").is_some()
    };
    assert!(thinks("p/m"));
    assert!(!thinks("p/other"));
}
