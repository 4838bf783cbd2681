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

fn sent(messages: Vec<Message>) -> Value {
    body(&request(messages), "p")["input"].clone()
}

fn item(id: &str) -> Value {
    json!({ "type": "reasoning", "id": id, "summary": [], "encrypted_content": "sealed" })
}

fn thought(id: &str, model: &str) -> Value {
    json!({ "type": "thinking", "text": "hm", "signature": item(id).to_string(), "model": model })
}

fn said(text: &str) -> Value {
    json!({ "type": "message", "role": "user", "content": [{ "type": "input_text", "text": text }] })
}

#[test]
fn a_whole_request() {
    let mut request = request(vec![hi()]);
    request.model.max_output_tokens = Some(99);
    request.reasoning = Some("high".into());
    request.tools = vec![ToolDeclaration {
        name: "read".into(),
        description: "reads".into(),
        input_schema: json!({ "type": "object" }),
    }];
    let mut want = json!({
        "model": "m",
        "instructions": "sys",
        "input": [said("hi")],
        "stream": true,
        "store": false,
        "max_output_tokens": 99,
        "reasoning": { "effort": "high", "summary": "auto" },
        "include": ["reasoning.encrypted_content"],
        "tools": [{ "type": "function", "name": "read", "description": "reads",
            "parameters": { "type": "object" }, "strict": false }],
    });
    assert_eq!(body(&request, "p"), want);
    // Without an effort the model thinks as it does, and its thoughts are kept all the same.
    request.reasoning = None;
    request.system = " ".into();
    request.tools = Vec::new();
    request.model.max_output_tokens = None;
    let keys = want.as_object_mut().expect("an object");
    for key in ["reasoning", "instructions", "tools", "max_output_tokens"] {
        keys.remove(key);
    }
    assert_eq!(body(&request, "p"), want);
}

#[test]
fn models_that_do_not_think_are_not_asked_for_thoughts() {
    let cases = [
        ("gpt-4.1-mini", None, false),
        ("gpt-4o", None, false),
        ("openai/gpt-4o", None, false),
        ("gpt-5-chat-latest", None, false),
        ("gpt-4.1", Some("low"), true),
        ("gpt-5.1", None, true),
        ("o4-mini", None, true),
        ("some-other", None, true),
    ];
    for (model, effort, asked) in cases {
        let mut request = request(vec![hi()]);
        request.model.id = model.into();
        request.reasoning = effort.map(str::to_owned);
        let body = body(&request, "p");
        assert_eq!(body.get("include").is_some(), asked, "{model}");
    }
}

#[test]
fn a_conversation_is_a_list_of_items() {
    let history = vec![
        message(
            Role::User,
            json!([{ "type": "text", "text": "hi" }, { "type": "text", "text": " " }]),
        ),
        message(
            Role::Assistant,
            json!([
                thought("rs_1", "p/m"),
                { "type": "text", "text": "\n" },
                { "type": "text", "text": "let me see" },
                { "type": "tool_call", "id": "functions.read:0", "name": "my.read", "args": { "path": "x" } },
                { "type": "tool_call", "id": "b", "name": "bash", "args": {} },
            ]),
        ),
        message(
            Role::User,
            json!([
                { "type": "text", "text": "and hurry" },
                { "type": "tool_result", "tool_call_id": "functions.read:0", "content": { "kind": "text", "text": "" } },
                { "type": "tool_result", "tool_call_id": "b", "exit_code": 1, "content": { "kind": "text", "text": "out\n" } },
            ]),
        ),
        message(Role::Assistant, json!([{ "type": "text", "text": "" }])),
        message(Role::User, json!([{ "type": "text", "text": "more" }])),
    ];
    let want = json!([
        said("hi"),
        item("rs_1"),
        { "type": "message", "role": "assistant", "content": [{ "type": "output_text", "text": "let me see" }] },
        { "type": "function_call", "call_id": "functions_read_0", "name": "my_read", "arguments": "{\"path\":\"x\"}" },
        { "type": "function_call", "call_id": "b", "name": "bash", "arguments": "{}" },
        { "type": "function_call_output", "call_id": "functions_read_0", "output": "(no output)" },
        { "type": "function_call_output", "call_id": "b", "output": "out\n[exit code: 1]" },
        { "type": "message", "role": "user", "content": [
            { "type": "input_text", "text": "and hurry" },
            { "type": "input_text", "text": "more" },
        ]},
    ]);
    assert_eq!(sent(history), want);
}

#[test]
fn long_ids_become_short_and_stay_apart() {
    let long = |end: &str| format!("{}{end}", "codex_mcp__server__tool_".repeat(4));
    let call = |id: &str| json!({ "type": "tool_call", "id": id, "name": "x", "args": {} });
    let result = |id: &str| json!({ "type": "tool_result", "tool_call_id": id, "content": { "kind": "text", "text": "y" } });
    let (a, b) = (long("a"), long("b"));
    let items = sent(vec![
        hi(),
        message(Role::Assistant, json!([call(&a), call(&b)])),
        message(Role::User, json!([result(&a), result(&b)])),
    ]);
    let ids: Vec<&str> = (1..5)
        .map(|at| items[at]["call_id"].as_str().expect("an id"))
        .collect();
    assert_eq!((ids[0], ids[1]), (ids[2], ids[3]), "pairs stay pairs");
    assert!(ids[0] != ids[1] && ids[0].len() == 64, "{ids:?}");
}

#[test]
fn thoughts_go_back_to_their_own_model_before_what_they_led_to() {
    let kinds = |content: Value| -> Vec<String> {
        let input = sent(vec![hi(), message(Role::Assistant, content), hi()]);
        let items = input.as_array().expect("a list").iter();
        items
            .map(|item| item["id"].as_str().or(item["role"].as_str()))
            .map(|word| word.unwrap_or_default().to_owned())
            .collect()
    };
    let text = json!({ "type": "text", "text": "yes" });
    let own = |id: &str| thought(id, "p/m");
    let other_api =
        json!({ "type": "thinking", "text": "hm", "signature": "c2ln", "model": "p/m" });
    let unsigned = json!({ "type": "thinking", "text": "hm", "model": "p/m" });
    let cases = [
        (
            json!([own("a"), own("b"), text]),
            vec!["user", "a", "b", "assistant", "user"],
        ),
        (
            json!([own("a"), text, own("b")]),
            vec!["user", "a", "assistant", "user"],
        ),
        (
            json!([thought("a", "p/other"), text]),
            vec!["user", "assistant", "user"],
        ),
        (
            json!([other_api, unsigned, text]),
            vec!["user", "assistant", "user"],
        ),
        // What a thought alone led to was never said.
        (json!([own("a")]), vec!["user"]),
    ];
    for (content, want) in cases {
        assert_eq!(kinds(content.clone()), want, "{content}");
    }
}

#[test]
fn a_request_ends_with_the_user_even_when_nothing_was_said() {
    let blank = message(Role::User, json!([{ "type": "text", "text": " " }]));
    assert_eq!(sent(vec![blank]), json!([said("(no text)")]));
}

#[test]
fn pictures_go_to_models_that_take_them() {
    let history = vec![message(
        Role::User,
        json!([
            { "type": "text", "text": "look" },
            { "type": "image", "data": "QUJD", "mime_type": "image/png" },
        ]),
    )];
    let mut request = request(history);
    let seen = body(&request, "p")["input"][0]["content"][1].clone();
    let want = json!({ "type": "input_image", "image_url": "data:image/png;base64,QUJD", "detail": "auto" });
    assert_eq!(seen, want);
    request.model.images = false;
    let blind = body(&request, "p");
    assert!(!blind.to_string().contains("QUJD"));
    assert_eq!(blind["input"][0]["content"][1]["type"], "input_text");
}
