use serde_json::json;
use shard_types::{EntryId, Message, ToolResultContent};

use super::*;
use shard_config::ProviderKind;

fn message(role: Role, content: Value) -> Message {
    let content = serde_json::from_value(content).expect("blocks");
    Message {
        id: EntryId::generate(),
        role,
        content,
        partial: false,
    }
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

fn settings() -> ProviderSettings {
    ProviderSettings::new("p", ProviderKind::OpenAi, "http://h/v1")
}

fn sent(messages: Vec<Message>) -> Value {
    body(&request(messages), &settings())["messages"].clone()
}

#[test]
fn a_whole_request() {
    let mut request = request(vec![message(
        Role::User,
        json!([{ "type": "text", "text": "hi" }]),
    )]);
    request.model.max_output_tokens = Some(9);
    request.reasoning = Some("high".into());
    request.tools = vec![ToolDeclaration {
        name: "read".into(),
        description: "reads".into(),
        input_schema: json!({ "type": "object" }),
    }];
    let mut want = json!({
        "model": "m",
        "messages": [{ "role": "system", "content": "sys" }, { "role": "user", "content": "hi" }],
        "stream": true,
        "stream_options": { "include_usage": true },
        "max_tokens": 9,
        "reasoning_effort": "high",
        "tools": [{ "type": "function", "function": {
            "name": "read", "description": "reads", "parameters": { "type": "object" } } }],
    });
    assert_eq!(body(&request, &settings()), want);
    let vendor = ProviderSettings::new("p", ProviderKind::OpenAi, "");
    want["max_completion_tokens"] = want
        .as_object_mut()
        .and_then(|o| o.remove("max_tokens"))
        .expect("moved");
    assert_eq!(body(&request, &vendor), want);
    // Without an effort the server does as it does.
    request.reasoning = None;
    want.as_object_mut()
        .map(|want| want.remove("reasoning_effort"));
    assert_eq!(body(&request, &vendor), want);
}

#[test]
fn results_follow_their_calls_and_blanks_are_left_out() {
    let history = vec![
        message(
            Role::User,
            json!([{ "type": "text", "text": "hi" }, { "type": "text", "text": " " }]),
        ),
        message(
            Role::Assistant,
            json!([
                { "type": "thinking", "text": "hm", "model": "p/m" },
                { "type": "text", "text": "\n" },
                { "type": "tool_call", "id": "a", "name": "read", "args": { "path": "x" } },
                { "type": "tool_call", "id": "b", "name": "bash", "args": {} },
            ]),
        ),
        message(
            Role::User,
            json!([
                { "type": "text", "text": "and hurry" },
                { "type": "tool_result", "tool_call_id": "a", "content": { "kind": "text", "text": "" } },
                { "type": "tool_result", "tool_call_id": "b", "exit_code": 1, "content": { "kind": "text", "text": "out\n" } },
            ]),
        ),
        message(Role::Assistant, json!([{ "type": "text", "text": "" }])),
        message(Role::User, json!([{ "type": "text", "text": "more" }])),
    ];
    let want = json!([
        { "role": "system", "content": "sys" },
        { "role": "user", "content": "hi" },
        { "role": "assistant", "content": null, "tool_calls": [
            { "id": "a", "type": "function", "function": { "name": "read", "arguments": "{\"path\":\"x\"}" } },
            { "id": "b", "type": "function", "function": { "name": "bash", "arguments": "{}" } },
        ]},
        { "role": "tool", "tool_call_id": "a", "content": "(no output)" },
        { "role": "tool", "tool_call_id": "b", "content": "out\n[exit code: 1]" },
        { "role": "user", "content": "and hurry\n\nmore" },
    ]);
    assert_eq!(sent(history), want);
}

#[test]
fn a_request_ends_with_the_user_even_when_nothing_was_said() {
    let blank = message(Role::User, json!([{ "type": "text", "text": " " }]));
    assert_eq!(
        sent(vec![blank])[1],
        json!({ "role": "user", "content": "(no text)" })
    );
}

#[test]
fn thoughts_go_back_only_where_they_are_wanted() {
    let history = |model: Value| {
        vec![
            message(Role::User, json!([{ "type": "text", "text": "hi" }])),
            message(
                Role::Assistant,
                json!([
                    { "type": "thinking", "text": "hm", "model": model },
                    { "type": "tool_call", "id": "a", "name": "x", "args": {} },
                ]),
            ),
            message(
                Role::User,
                json!([
                    { "type": "tool_result", "tool_call_id": "a", "content": { "kind": "json", "value": { "n": 1 } } },
                ]),
            ),
        ]
    };
    let replay = ProviderSettings {
        reasoning_replay: true,
        ..settings()
    };
    let thought = |model: Value, settings: &ProviderSettings| {
        body(&request(history(model)), settings)["messages"][2]
            .get("reasoning_content")
            .cloned()
    };
    assert_eq!(thought(json!("p/m"), &settings()), None);
    assert_eq!(thought(json!("p/m"), &replay), Some(json!("hm")));
    assert_eq!(thought(json!(null), &replay), Some(json!("hm")));
    assert_eq!(thought(json!("p/other"), &replay), Some(json!("")));
    assert_eq!(sent(history(json!(null)))[3]["content"], json!("{\"n\":1}"));
}

#[test]
fn pictures_go_to_models_that_take_them() {
    let history = vec![message(
        Role::User,
        json!([
            { "type": "text", "text": "look" },
            { "type": "image", "data": "QUJD", "mime_type": "image/png" },
            { "type": "image", "data": "", "mime_type": "image/png", "omitted": true },
        ]),
    )];
    let mut request = request(history);
    let seen = body(&request, &settings())["messages"][1]["content"].clone();
    let want = json!([
        { "type": "text", "text": "look" },
        { "type": "image_url", "image_url": { "url": "data:image/png;base64,QUJD" } },
        { "type": "text", "text": "[picture left out]" },
    ]);
    assert_eq!(seen, want);
    request.model.images = false;
    let blind = body(&request, &settings());
    assert!(!blind.to_string().contains("QUJD"));
    let text = blind["messages"][1]["content"]
        .as_str()
        .expect("text alone");
    assert!(text.starts_with("look\n\n[picture left out: "), "{text}");
}

#[test]
fn pictures_of_results_come_after_all_results() {
    let result = |id: &str| json!({ "type": "tool_result", "tool_call_id": id, "content": { "kind": "text", "text": id } });
    let picture = |data: &str| json!({ "type": "image", "data": data, "mime_type": "image/png" });
    let call = |id: &str| json!({ "type": "tool_call", "id": id, "name": "read", "args": {} });
    let history = vec![
        message(Role::User, json!([{ "type": "text", "text": "look" }])),
        message(Role::Assistant, json!([call("a"), call("b")])),
        message(
            Role::User,
            json!([result("a"), picture("QUFB"), result("b"), picture("QkJC")]),
        ),
    ];
    let sent = body(&request(history), &settings())["messages"].clone();
    let url = |data: &str| json!({ "type": "image_url", "image_url": { "url": format!("data:image/png;base64,{data}") } });
    assert_eq!(
        sent.as_array().expect("messages")[3..],
        [
            json!({ "role": "tool", "tool_call_id": "a", "content": "a" }),
            json!({ "role": "tool", "tool_call_id": "b", "content": "b" }),
            json!({ "role": "user", "content": [url("QUFB"), url("QkJC")] }),
        ]
    );
}

#[test]
fn an_error_is_read_as_its_message() {
    let content = ToolResultContent::error("no such file");
    assert_eq!(result_text(&content, None), "no such file");
}
