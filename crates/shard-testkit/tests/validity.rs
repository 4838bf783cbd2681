//! What the scripted model refuses, as a strict provider would.

use serde_json::{Value, json};
use shard_testkit::{Provider, ScriptedModel, reply, thinking};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// Sends one request on a connection of its own; gives the status and the violations.
async fn send(model: &ScriptedModel, provider: Provider, body: &Value) -> (u16, Vec<String>) {
    let path = match provider {
        Provider::OpenAi => "/v1/chat/completions",
        Provider::Anthropic => "/v1/messages",
    };
    let body = body.to_string();
    let head = format!(
        "POST {path} HTTP/1.1\r\nanthropic-version: x\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    let mut stream = TcpStream::connect(model.address()).await.unwrap();
    stream.write_all((head + &body).as_bytes()).await.unwrap();
    let mut answer = vec![0; 12];
    stream.read_exact(&mut answer).await.unwrap();
    let status = std::str::from_utf8(&answer[9..]).unwrap().parse().unwrap();
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

#[tokio::test]
async fn openai_histories() {
    let user = json!({"role": "user", "content": "Hello"});
    let call = |id: &str| json!({"id": id, "type": "function", "function": {"name": "ls", "arguments": "{}"}});
    let calls = |ids: &[&str]| {
        let calls: Vec<Value> = ids.iter().map(|id| call(id)).collect();
        json!({"role": "assistant", "content": null, "tool_calls": calls})
    };
    let result = |id: &str| json!({"role": "tool", "tool_call_id": id, "content": ""});
    let mut bad_arguments = calls(&["a"]);
    bad_arguments["tool_calls"][0]["function"]["arguments"] = "{\"path".into();
    let mut object_arguments = calls(&["a"]);
    object_arguments["tool_calls"][0]["function"]["arguments"] = json!({});
    let said = |text: Value| json!({"role": "assistant", "content": text});
    let blank_part = json!([{"type": "text", "text": " "}]);

    let pairs: Vec<(Value, &[&str])> = vec![
        (
            json!([user, calls(&["a", "b"]), result("b"), result("a")]),
            &[],
        ),
        (
            json!([
                user,
                calls(&["a"]),
                result("a"),
                user,
                calls(&["a"]),
                result("a")
            ]),
            &[],
        ),
        (json!([user, calls(&["a"])]), &["call \"a\" has no result"]),
        (
            json!([user, calls(&["a"]), user, result("a")]),
            &["call \"a\" has no result", "result \"a\" answers no call"],
        ),
        (
            json!([user, calls(&["a"]), result("a"), result("a")]),
            &["\"a\" has 2 results"],
        ),
        (
            json!([user, calls(&["a"]), result("a"), result("x")]),
            &["\"x\" answers no call"],
        ),
        (json!([user, result("x")]), &["\"x\" answers no call"]),
        (
            json!([user, calls(&["a", "a"]), result("a")]),
            &["two tool calls have the id"],
        ),
        (
            json!([user, calls(&[""]), result("")]),
            &["a tool call has no id"],
        ),
        (
            json!([user, bad_arguments, result("a")]),
            &["no JSON object in a string"],
        ),
        (
            json!([user, object_arguments, result("a")]),
            &["no JSON object in a string"],
        ),
        (
            json!([user, calls(&[])]),
            &["assistant without content", "`tool_calls` is empty"],
        ),
        (
            json!([user, said(Value::Null), user]),
            &["assistant without content"],
        ),
        (
            json!([user, said("\n".into()), user]),
            &["text of the assistant is blank"],
        ),
        (
            json!([{"role": "user", "content": blank_part}]),
            &["a text part of the user is blank"],
        ),
        (
            json!([{"role": "user", "content": []}]),
            &["content of the user is empty"],
        ),
        (
            json!([{"role": "robot", "content": "x"}]),
            &["unknown role"],
        ),
        (json!([]), &["`messages` is empty"]),
    ];
    let bodies = pairs
        .into_iter()
        .map(|(messages, faults)| (openai(messages), faults));
    check(Provider::OpenAi, bodies.collect()).await;
}

#[tokio::test]
async fn anthropic_histories() {
    let user = |content: Value| json!({"role": "user", "content": content});
    let said = |content: Value| json!({"role": "assistant", "content": content});
    let hello = user("Hello".into());
    let text = |text: &str| json!({"type": "text", "text": text});
    let call = |id: &str| json!({"type": "tool_use", "id": id, "name": "ls", "input": {}});
    let result = |id: &str| json!({"type": "tool_result", "tool_use_id": id});
    let blank_inside = json!({"type": "tool_result", "tool_use_id": "a", "content": [text("")]});
    let broken_input = json!({"type": "tool_use", "id": "a", "name": "ls", "input": "{"});
    let unsigned = json!({"type": "thinking", "thinking": "hm", "signature": ""});

    let pairs: Vec<(Value, &[&str])> = vec![
        (
            json!([
                hello,
                said(json!([call("a"), call("b")])),
                user(json!([result("a"), result("b"), text("Go on")]))
            ]),
            &[],
        ),
        (
            json!([hello, said(json!([call("a")])), hello]),
            &["call \"a\" has no result"],
        ),
        (
            json!([
                hello,
                said(json!([call("a")])),
                hello,
                said("x".into()),
                user(json!([result("a")]))
            ]),
            &["call \"a\" has no result", "result \"a\" answers no call"],
        ),
        (
            json!([
                hello,
                said(json!([call("a")])),
                user(json!([result("a"), result("a")]))
            ]),
            &["\"a\" has 2 results"],
        ),
        (
            json!([user(json!([result("x")]))]),
            &["\"x\" answers no call"],
        ),
        (
            json!([
                hello,
                said(json!([call("a")])),
                user(json!([text("so"), result("a")]))
            ]),
            &["a tool result stands after another block"],
        ),
        (
            json!([hello, said(json!([call("a")])), user(json!([blank_inside]))]),
            &["a text block is blank"],
        ),
        (
            json!([
                hello,
                said(json!([broken_input])),
                user(json!([result("a")]))
            ]),
            &["is no object"],
        ),
        (
            json!([hello, said(json!([unsigned])), hello]),
            &["has no signature"],
        ),
        (
            json!([hello, said(json!([text("")])), hello]),
            &["a text block is blank"],
        ),
        (json!([user(" ".into())]), &["the text is blank"]),
        (
            json!([hello, said(json!([])), hello]),
            &["the content is empty"],
        ),
        (
            json!([said("x".into()), hello, said("x".into())]),
            &["\"assistant\", user was due"],
        ),
        (
            json!([hello, hello, hello]),
            &["message 1 is of role \"user\""],
        ),
        (
            json!([hello, said("x".into())]),
            &["the last message is not the user's"],
        ),
    ];
    let bodies = pairs
        .into_iter()
        .map(|(messages, faults)| (anthropic(messages), faults));
    check(Provider::Anthropic, bodies.collect()).await;
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
