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
            { "role": "user", "content": [{ "type": "text", "text": "hi", "cache_control": cache }] },
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

/// An answer with that many calls, and the message with their results.
fn round(number: usize, calls: usize) -> [Message; 2] {
    let id = |n: usize| format!("call_{number}_{n}");
    let call = |n| json!({ "type": "tool_call", "id": id(n), "name": "my.read", "args": {} });
    let result = |n| {
        json!({ "type": "tool_result", "tool_call_id": id(n), "exit_code": 0,
            "content": { "kind": "text", "text": "x" } })
    };
    let thought = json!({ "type": "thinking", "text": "hm", "signature": "c2ln", "model": "p/m" });
    let said = [thought].into_iter().chain((0..calls).map(call));
    [
        message(Role::Assistant, said.collect()),
        message(Role::User, (0..calls).map(result).collect()),
    ]
}

/// The blocks of the conversation that carry a mark, by message and place.
fn marked(body: &Value) -> Vec<(usize, usize)> {
    let messages = body["messages"].as_array().expect("messages");
    let blocks = messages.iter().enumerate().flat_map(|(at, message)| {
        let blocks = message["content"].as_array().expect("blocks").iter();
        blocks.enumerate().map(move |(n, block)| ((at, n), block))
    });
    let marked = blocks.filter(|(_, block)| block.get("cache_control").is_some());
    marked.map(|(place, _)| place).collect()
}

#[test]
fn each_call_finds_what_the_call_before_had_cached() {
    let mut history = vec![hi()];
    let mut ended = None;
    for number in 0..4 {
        // More blocks than the API looks back over.
        let got = body(&request(history.clone()), "p");
        let marks = marked(&got);
        assert!(
            ended.is_none_or(|place| marks.contains(&place)),
            "{marks:?}"
        );
        let last = got["messages"].as_array().and_then(|m| m.last());
        let blocks = last.and_then(|last| last["content"].as_array());
        let end = (2 * number, blocks.map_or(0, Vec::len) - 1);
        assert_eq!(marks.last(), Some(&end));
        assert!(marks.len() <= 2, "two of four are for tools and system");
        ended = Some(end);
        history.extend(round(number, 12));
    }
}

#[test]
fn parallel_calls_stand_behind_their_thought_and_before_all_results() {
    let [answer, results] = round(0, 3);
    let mut request = request(vec![hi(), answer, results]);
    request.reasoning = Some("low".into());
    let body = body(&request, "p");
    assert_eq!(body["thinking"]["type"], "enabled");
    let kinds = |at: usize| -> Vec<&str> {
        let blocks = body["messages"][at]["content"].as_array().expect("blocks");
        let kinds = blocks.iter().map(|block| block["type"].as_str());
        kinds.map(Option::unwrap_or_default).collect()
    };
    assert_eq!(kinds(1), ["thinking", "tool_use", "tool_use", "tool_use"]);
    assert_eq!(kinds(2), ["tool_result"; 3]);
    assert_eq!(
        body["messages"][1]["content"][1]["name"], "my_read",
        "a name that another server let pass"
    );
}

#[test]
fn a_thought_that_led_to_nothing_is_left_out() {
    let cut = json!([
        { "type": "text", "text": "well" },
        { "type": "thinking", "text": "hm", "signature": "c2ln", "model": "p/m" },
    ]);
    let got = body(
        &request(vec![hi(), message(Role::Assistant, cut), hi()]),
        "p",
    );
    let want = json!([{ "type": "text", "text": "well" }]);
    assert_eq!(got["messages"][1]["content"], want);
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
