//! What the scripted model refuses, as a strict provider would.

#![expect(clippy::unwrap_used, reason = "it is how these tests fail")]

use serde_json::{Value, json};
use shard_testkit::{Provider, ScriptedModel, reply, thinking};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// Sends one request on a connection of its own; gives the status and the violations.
async fn send(model: &ScriptedModel, provider: Provider, body: &Value) -> (u16, Vec<String>) {
    let path = match provider {
        Provider::OpenAi => "/v1/chat/completions",
        Provider::Responses => "/v1/responses",
        Provider::Anthropic => "/v1/messages",
    };
    let body = body.to_string();
    let head = format!(
        "POST {path} HTTP/1.1\r\nanthropic-version: x\r\nconnection: close\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    let mut stream = TcpStream::connect(model.address()).await.unwrap();
    stream.write_all((head + &body).as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    let status = answer[9..12].parse().unwrap();
    (status, model.take_violations())
}

fn openai(messages: Value) -> Value {
    json!({"model": "m1", "stream": true, "messages": messages})
}

fn anthropic(messages: Value) -> Value {
    json!({"model": "m1", "stream": true, "max_tokens": 9, "messages": messages})
}

/// Every body gets the faults next to it and no other.
async fn check(provider: Provider, cases: Vec<(Value, &[&str])>) {
    let model = ScriptedModel::answering(|_| reply!["fine"]);
    for (body, faults) in cases {
        let (status, violations) = send(&model, provider, &body).await;
        assert_eq!(status, if faults.is_empty() { 200 } else { 400 }, "{body}");
        assert_eq!(violations.len(), faults.len(), "{body}\n{violations:#?}");
        for (violation, fault) in violations.iter().zip(faults) {
            assert!(violation.contains(fault), "{body}\n{violation}\n{fault}");
        }
    }
}

type Histories = Vec<(Value, &'static [&'static str])>;

async fn check_openai(histories: Histories) {
    let bodies = histories
        .into_iter()
        .map(|(messages, faults)| (openai(messages), faults));
    check(Provider::OpenAi, bodies.collect()).await;
}

async fn check_anthropic(histories: Histories) {
    let bodies = histories
        .into_iter()
        .map(|(messages, faults)| (anthropic(messages), faults));
    check(Provider::Anthropic, bodies.collect()).await;
}

fn user(content: impl Into<Value>) -> Value {
    json!({"role": "user", "content": content.into()})
}

fn said(content: impl Into<Value>) -> Value {
    json!({"role": "assistant", "content": content.into()})
}

fn text(text: &str) -> Value {
    json!({"type": "text", "text": text})
}

/// OpenAI's form of calls without words.
fn calls(ids: &[&str]) -> Value {
    let call = |id: &&str| json!({"id": id, "type": "function", "function": {"name": "ls", "arguments": "{}"}});
    let calls: Vec<Value> = ids.iter().map(call).collect();
    json!({"role": "assistant", "content": null, "tool_calls": calls})
}

/// OpenAI's form of a result.
fn answer(id: &str) -> Value {
    json!({"role": "tool", "tool_call_id": id, "content": ""})
}

/// Anthropic's form of calls without words.
fn uses(ids: &[&str]) -> Value {
    let call = |id: &&str| json!({"type": "tool_use", "id": id, "name": "ls", "input": {}});
    said(ids.iter().map(call).collect::<Vec<Value>>())
}

/// Anthropic's form of a result.
fn result(id: &str) -> Value {
    json!({"type": "tool_result", "tool_use_id": id})
}

#[tokio::test]
async fn openai_pairs() {
    let hi = user("Hello");
    check_openai(vec![
        (
            json!([hi, calls(&["a", "b"]), answer("b"), answer("a")]),
            &[],
        ),
        (
            json!([
                hi,
                calls(&["a"]),
                answer("a"),
                hi,
                calls(&["a"]),
                answer("a")
            ]),
            &[],
        ),
        (json!([hi, calls(&["a"])]), &["call \"a\" has no result"]),
        (
            json!([hi, calls(&["a"]), hi, answer("a")]),
            &["call \"a\" has no result", "result \"a\" answers no call"],
        ),
        (
            json!([hi, calls(&["a"]), answer("a"), answer("a")]),
            &["\"a\" has 2 results"],
        ),
        (
            json!([hi, calls(&["a"]), answer("a"), answer("x")]),
            &["\"x\" answers no call"],
        ),
        (json!([hi, answer("x")]), &["\"x\" answers no call"]),
        (
            json!([hi, calls(&["a", "a"]), answer("a")]),
            &["two tool calls have the id"],
        ),
        (
            json!([hi, calls(&[""]), answer("")]),
            &["a tool call has no id"],
        ),
    ])
    .await;
}

#[tokio::test]
async fn openai_contents() {
    let hi = user("Hello");
    let with_arguments = |arguments: Value| {
        let mut message = calls(&["a"]);
        message["tool_calls"][0]["function"]["arguments"] = arguments;
        json!([hi, message, answer("a")])
    };
    check_openai(vec![
        (
            with_arguments("{\"path".into()),
            &["no JSON object in a string"],
        ),
        (with_arguments(json!({})), &["no JSON object in a string"]),
        (
            json!([hi, calls(&[])]),
            &["assistant without content", "`tool_calls` is empty"],
        ),
        (
            json!([hi, said(Value::Null), hi]),
            &["assistant without content"],
        ),
        (
            json!([hi, said("\n"), hi]),
            &["text of the assistant is blank"],
        ),
        (
            json!([user(vec![text(" ")])]),
            &["a text part of the user is blank"],
        ),
        (json!([user(json!([]))]), &["content of the user is empty"]),
        (
            json!([{"role": "robot", "content": "x"}]),
            &["unknown role"],
        ),
        (json!([]), &["`messages` is empty"]),
    ])
    .await;
}

#[tokio::test]
async fn anthropic_pairs() {
    let hi = user("Hello");
    check_anthropic(vec![
        (
            json!([
                hi,
                uses(&["a", "b"]),
                user(vec![result("a"), result("b"), text("Go on")])
            ]),
            &[],
        ),
        (json!([hi, uses(&["a"]), hi]), &["call \"a\" has no result"]),
        (
            json!([hi, uses(&["a"]), hi, said("x"), user(vec![result("a")])]),
            &["call \"a\" has no result", "result \"a\" answers no call"],
        ),
        (
            json!([hi, uses(&["a"]), user(vec![result("a"), result("a")])]),
            &["\"a\" has 2 results"],
        ),
        (json!([user(vec![result("x")])]), &["\"x\" answers no call"]),
        (
            json!([hi, uses(&["a"]), user(vec![text("so"), result("a")])]),
            &["a tool result stands after another block"],
        ),
        (
            json!([said("x"), hi, said("x")]),
            &["\"assistant\", user was due"],
        ),
        (json!([hi, hi, hi]), &["message 1 is of role \"user\""]),
        (
            json!([hi, said("x")]),
            &["the last message is not the user's"],
        ),
    ])
    .await;
}

#[tokio::test]
async fn anthropic_contents() {
    let hi = user("Hello");
    let mut blank_inside = result("a");
    blank_inside["content"] = json!([text("")]);
    let mut broken_input = uses(&["a"]);
    broken_input["content"][0]["input"] = "{".into();
    let unsigned = json!({"type": "thinking", "thinking": "hm", "signature": ""});
    check_anthropic(vec![
        (
            json!([hi, uses(&["a"]), user(vec![blank_inside])]),
            &["a text block is blank"],
        ),
        (
            json!([hi, broken_input, user(vec![result("a")])]),
            &["is no object"],
        ),
        (json!([hi, said(vec![unsigned]), hi]), &["has no signature"]),
        (
            json!([hi, said(vec![text("")]), hi]),
            &["a text block is blank"],
        ),
        (json!([user(" ")]), &["the text is blank"]),
        (json!([hi, said(json!([])), hi]), &["the content is empty"]),
    ])
    .await;
}

/// A request in the form of Responses, with one key set anew.
fn responses(key: &str, value: Value) -> Value {
    let mut body = json!({"model": "m1", "stream": true, "store": false});
    body["input"] = json!([input("Hello")]);
    body[key] = value;
    body
}

fn input(text: &str) -> Value {
    json!({"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]})
}

#[tokio::test]
async fn responses_are_lists_of_items() {
    let hi = input("Hello");
    let call =
        |id: &str| json!({"type": "function_call", "call_id": id, "name": "ls", "arguments": "{}"});
    let output = |id: &str| json!({"type": "function_call_output", "call_id": id, "output": "x"});
    let thought =
        json!({"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "x"});
    let said = json!({"type": "message", "role": "assistant",
        "content": [{"type": "output_text", "text": "Hi"}]});
    let with = |item: &Value, key: &str, value: Value| {
        let mut item = item.clone();
        item[key] = value;
        item
    };
    let long = "a".repeat(65);
    let histories: Histories = vec![
        (
            json!([
                hi,
                thought,
                said,
                call("a"),
                call("b"),
                output("a"),
                output("b"),
                hi
            ]),
            &[],
        ),
        (json!([hi, call("a"), hi]), &["call \"a\" has no result"]),
        (json!([hi, output("x")]), &["\"x\" answers no call"]),
        (
            json!([hi, call(&long), output(&long)]),
            &["is longer than 64"],
        ),
        (
            json!([hi, call("a.b"), output("a.b")]),
            &["\"a.b\" is not of"],
        ),
        (
            json!([hi, with(&call("a"), "arguments", "{".into()), output("a")]),
            &["no JSON object in a string"],
        ),
        (
            json!([hi, thought, hi]),
            &["reasoning without the item that followed it"],
        ),
        (
            json!([hi, with(&thought, "encrypted_content", Value::Null), said]),
            &["reasoning without encrypted content"],
        ),
        (
            json!([hi, with(&thought, "id", Value::Null), said]),
            &["reasoning without id or summary"],
        ),
        (
            json!([hi, with(&said, "id", "msg_1".into())]),
            &["\"msg_1\" was not kept here"],
        ),
        (json!([input(" ")]), &["a text is blank"]),
        (
            json!([with(&said, "role", "user".into())]),
            &["\"output_text\" in a message of the \"user\""],
        ),
        (
            json!([with(&hi, "content", json!([]))]),
            &["the content is empty"],
        ),
        (json!([{"type": "robot"}]), &["unknown type \"robot\""]),
    ];
    let cases = histories
        .into_iter()
        .map(|(items, faults)| (responses("input", items), faults));
    check(Provider::Responses, cases.collect()).await;
}

#[tokio::test]
async fn what_stands_around_the_items() {
    let tool = |strict: bool| json!([{"type": "function", "name": "a", "parameters": {"type": "object"}, "strict": strict}]);
    let cases: Vec<(Value, &[&str])> = vec![
        (responses("tools", tool(false)), &[]),
        (
            responses("tools", tool(true)),
            &["is no function that is not strict"],
        ),
        (responses("store", true.into()), &["`store` is not false"]),
        (
            responses("instructions", " ".into()),
            &["`instructions` is blank"],
        ),
    ];
    check(Provider::Responses, cases).await;
}

#[tokio::test]
async fn reasoning_goes_back_unchanged_and_to_its_own_model_only() {
    let model = ScriptedModel::answering(|_| reply![thinking("deep").signature("s1"), "fine"]);
    let first = responses("store", false.into());
    assert_eq!(
        send(&model, Provider::Responses, &first).await,
        (200, vec![])
    );
    model.played(0).await;
    let back = async |name: &str, thought: &str| {
        let item = json!({"type": "reasoning", "id": "rs_1", "encrypted_content": "s1",
            "summary": [{"type": "summary_text", "text": thought}]});
        let said = json!({"type": "message", "role": "assistant",
            "content": [{"type": "output_text", "text": "fine"}]});
        let mut body = responses("input", json!([input("Hello"), item, said, input("Go on")]));
        body["model"] = name.into();
        send(&model, Provider::Responses, &body).await.1
    };
    assert_eq!(back("m1", "deep").await, Vec::<String>::new());
    assert_eq!(
        back("m2", "deep").await,
        ["request 2: item 1: reasoning of m1 went to m2"]
    );
    let violations = back("m1", "deeper").await;
    assert!(
        violations[0].ends_with("\"s1\" was changed"),
        "{violations:?}"
    );
}

#[tokio::test]
async fn what_stands_around_the_messages() {
    let base = anthropic(json!([{"role": "user", "content": "Hello"}]));
    let with = |key: &str, value: Value| {
        let mut body = base.clone();
        body[key] = value;
        body
    };
    let tool = |name: &str| json!({"name": name, "input_schema": {"type": "object"}});
    let mark = json!({"type": "text", "text": "x", "cache_control": {"type": "ephemeral"}});
    let cases: Vec<(Value, &[&str])> = vec![
        (with("tools", json!([tool("a"), tool("b")])), &[]),
        (
            with("tools", json!([tool("a"), tool("a")])),
            &["tool \"a\" is offered twice"],
        ),
        (with("tools", json!([tool("a.b")])), &["tool name \"a.b\""]),
        (
            with("tools", json!([{"name": "a"}])),
            &["the schema of tool \"a\""],
        ),
        (
            with("max_tokens", Value::Null),
            &["`max_tokens` is missing"],
        ),
        (with("stream", false.into()), &["`stream` is not true"]),
        (with("model", "".into()), &["`model` is missing"]),
        (with("system", "\n".into()), &["`system` has a blank text"]),
        (with("system", json!([mark, mark, mark, mark])), &[]),
        (
            with("system", json!([mark, mark, mark, mark, mark])),
            &["5 blocks carry cache_control"],
        ),
    ];
    check(Provider::Anthropic, cases).await;
}

#[tokio::test]
async fn a_signed_thought_goes_back_unchanged_and_to_its_own_model_only() {
    let model = ScriptedModel::answering(|_| reply![thinking("deep").signature("s1"), "fine"]);
    let with = |name: &str, thought: &str| {
        let block = json!({"type": "thinking", "thinking": thought, "signature": "s1"});
        let mut body = anthropic(json!([
            {"role": "user", "content": "Hello"},
            {"role": "assistant", "content": [block]},
            {"role": "user", "content": "Go on"},
        ]));
        body["model"] = name.into();
        body
    };
    let first = anthropic(json!([{"role": "user", "content": "Hello"}]));
    assert_eq!(
        send(&model, Provider::Anthropic, &first).await,
        (200, vec![])
    );
    model.played(0).await;
    assert_eq!(
        send(&model, Provider::Anthropic, &with("m1", "deep")).await,
        (200, vec![])
    );
    let (_, violations) = send(&model, Provider::Anthropic, &with("m2", "deep")).await;
    assert_eq!(
        violations,
        ["request 2: message 1: a thinking block of m1 went to m2"]
    );
    let (_, violations) = send(&model, Provider::Anthropic, &with("m1", "deeper")).await;
    assert!(
        violations[0].ends_with("\"s1\" was changed"),
        "{violations:?}"
    );
}
