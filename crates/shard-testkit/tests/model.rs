//! The scripted model as a client sees it.

#![expect(clippy::unwrap_used, reason = "it is how these tests fail")]

use std::time::Duration;

use serde_json::{Value, json};
use shard_testkit::{
    Gate, Provider, ScriptedModel, UsageShape, comment, cut, error, error_event, hang_up, hold,
    raw, reply, text, thinking, tool, usage,
};

fn client() -> reqwest::Client {
    // The client insists on a provider, though it speaks plain HTTP here.
    let _installed_before = rustls::crypto::ring::default_provider().install_default();
    reqwest::Client::builder().no_proxy().build().unwrap()
}

fn openai_body() -> Value {
    json!({
        "model": "m1",
        "stream": true,
        "stream_options": {"include_usage": true},
        "messages": [{"role": "user", "content": "Hello"}],
    })
}

fn anthropic_body() -> Value {
    json!({
        "model": "m1",
        "stream": true,
        "max_tokens": 100,
        "messages": [{"role": "user", "content": "Hello"}],
    })
}

fn responses_body() -> Value {
    let words = json!([{"type": "input_text", "text": "Hello"}]);
    json!({
        "model": "m1",
        "stream": true,
        "store": false,
        "include": ["reasoning.encrypted_content"],
        "input": [{"type": "message", "role": "user", "content": words}],
    })
}

async fn post(model: &ScriptedModel, provider: Provider) -> reqwest::Response {
    let (path, body) = match provider {
        Provider::OpenAi => ("chat/completions", openai_body()),
        Provider::Responses => ("responses", responses_body()),
        Provider::Anthropic => ("v1/messages", anthropic_body()),
    };
    let request = client()
        .post(format!("{}/{path}", model.base_url(provider)))
        .header("anthropic-version", "2023-06-01")
        .header("authorization", "Bearer key");
    request.json(&body).send().await.unwrap()
}

/// The data of every event; `[DONE]` as a string.
fn events(body: &str) -> Vec<Value> {
    let data = body.lines().filter_map(|line| line.strip_prefix("data: "));
    data.map(|data| serde_json::from_str(data).unwrap_or_else(|_| data.into()))
        .collect()
}

#[tokio::test]
async fn openai_text_and_calls_come_in_the_chunks_that_were_asked_for() {
    let model = ScriptedModel::start([reply![
        thinking("hm"),
        text("abcd").chunks(2),
        tool("read", json!({"path": "a"})).id("c1").pieces(2),
        usage(7, 3, 5),
    ]]);
    let body = post(&model, Provider::OpenAi).await.text().await.unwrap();
    let events = events(&body);
    let deltas: Vec<&Value> = events.iter().map(|e| &e["choices"][0]["delta"]).collect();
    let call = |function: Value| json!({"tool_calls": [{"index": 0, "function": function}]});
    assert_eq!(
        deltas[..7],
        [
            &json!({"role": "assistant"}),
            &json!({"reasoning_content": "hm"}),
            &json!({"content": "ab"}),
            &json!({"content": "cd"}),
            &json!({"tool_calls": [{"index": 0, "id": "c1", "type": "function",
                "function": {"name": "read", "arguments": ""}}]}),
            &call(json!({"arguments": "{\"path"})),
            &call(json!({"arguments": "\":\"a\"}"})),
        ]
    );
    assert_eq!(events[7]["choices"][0]["finish_reason"], "tool_calls");
    let usage = json!({"prompt_tokens": 12, "completion_tokens": 3, "total_tokens": 15,
        "prompt_tokens_details": {"cached_tokens": 5}});
    assert_eq!(
        (&events[8]["choices"], &events[8]["usage"]),
        (&json!([]), &usage)
    );
    assert_eq!(events[9..], ["[DONE]"]);
}

#[tokio::test]
async fn openai_quirks_bend_the_stream() {
    let model = ScriptedModel::start([reply![
        comment("keep-alive"),
        tool("read", json!({"path": "a"}))
            .no_index()
            .id("late")
            .id_last(),
        tool("ls", json!({})).as_object().no_id(),
        raw("data: {\"odd\": true}\n\n"),
    ]
    .no_done()
    .null_content()
    .reasoning_field("reasoning")
    .usage_shape(UsageShape::WithFinish)
    .finish("length")]);
    let body = post(&model, Provider::OpenAi).await.text().await.unwrap();
    assert!(body.contains("\n\n: keep-alive\n\n"), "{body}");
    let events = events(&body);
    let call = |n: usize| &events[n]["choices"][0]["delta"]["tool_calls"][0];
    assert_eq!(
        call(1),
        &json!({"function": {"name": "read", "arguments": ""}})
    );
    assert_eq!(
        (&call(2)["id"], &call(2)["index"]),
        (&json!("late"), &Value::Null)
    );
    assert_eq!(
        call(3),
        &json!({"index": 1, "function": {"name": "ls", "arguments": {}}})
    );
    assert_eq!(
        events[1]["choices"][0]["delta"].get("content"),
        Some(&Value::Null)
    );
    assert_eq!(events[4], json!({"odd": true}));
    assert_eq!(events[5]["choices"][0]["finish_reason"], "length");
    assert_eq!(events[5]["usage"]["prompt_tokens"], 100);
    assert_eq!(events.len(), 6, "no [DONE]");
}

#[tokio::test]
async fn responses_tell_each_item_in_pieces_and_whole() {
    let model = ScriptedModel::start([
        reply![
            thinking("hm").signature("s"),
            text("abcd").chunks(2),
            tool("read", json!({"path": "a"})).id("c1").pieces(2),
            usage(7, 3, 5),
        ],
        reply!["cut"].finish("max_output_tokens"),
        reply![error_event("server_error", "broken")],
    ]);
    let asked = async || {
        let answer = post(&model, Provider::Responses).await;
        events(&answer.text().await.unwrap())
    };
    let got = asked().await;
    let deltas: Vec<&str> = got.iter().filter_map(|e| e["delta"].as_str()).collect();
    assert_eq!(deltas, ["hm", "ab", "cd", "{\"path", "\":\"a\"}"]);
    let done = got
        .iter()
        .filter(|e| e["type"] == "response.output_item.done");
    let items: Vec<Value> = done.map(|event| event["item"].clone()).collect();
    let sorts: Vec<&Value> = items.iter().map(|item| &item["type"]).collect();
    assert_eq!(sorts, ["reasoning", "message", "function_call"]);
    assert_eq!(items[0]["encrypted_content"], "s");
    assert_eq!(
        items[0]["summary"],
        json!([{"type": "summary_text", "text": "hm"}])
    );
    assert_eq!(
        (&items[2]["call_id"], &items[2]["arguments"]),
        (&json!("c1"), &json!("{\"path\":\"a\"}"))
    );
    let end = got.last().unwrap();
    assert_eq!(end["type"], "response.completed");
    assert_eq!(end["response"]["output"], json!(items));
    assert_eq!(end["response"]["usage"]["input_tokens"], 12);

    let got = asked().await;
    let end = got.last().unwrap();
    assert_eq!(end["type"], "response.incomplete");
    assert_eq!(
        end["response"]["incomplete_details"]["reason"],
        "max_output_tokens"
    );
    let got = asked().await;
    let end = got.last().unwrap();
    assert_eq!(
        (&end["type"], &end["response"]["error"]["message"]),
        (&json!("response.failed"), &json!("broken"))
    );
}

#[tokio::test]
async fn anthropic_blocks_have_start_deltas_and_stop() {
    let model = ScriptedModel::start([reply![
        thinking("hm").signature("s"),
        "Hi",
        tool("read", json!({"path": "a"})).id("c1"),
        usage(7, 3, 5).cache_write(2),
    ]]);
    let body = post(&model, Provider::Anthropic)
        .await
        .text()
        .await
        .unwrap();
    assert!(body.starts_with("event: message_start\ndata: {"), "{body}");
    let events = events(&body);
    let kinds: Vec<&str> = events.iter().map(|e| e["type"].as_str().unwrap()).collect();
    let block = [
        "content_block_start",
        "content_block_delta",
        "content_block_stop",
    ];
    let [start, delta, stop] = block;
    let mut want = vec!["message_start", "ping", start, delta, delta, stop];
    want.extend(block.into_iter().chain(block));
    want.extend(["message_delta", "message_stop"]);
    assert_eq!(kinds, want);
    let given = &events[0]["message"]["usage"];
    assert_eq!(given["input_tokens"], 7);
    assert_eq!(given["cache_read_input_tokens"], 5);
    assert_eq!(given["cache_creation_input_tokens"], 2);
    assert_eq!(events[4]["delta"]["signature"], "s");
    assert_eq!(events[9]["content_block"]["id"], "c1");
    assert_eq!(events[10]["delta"]["partial_json"], "{\"path\":\"a\"}");
    assert_eq!(events[12]["delta"]["stop_reason"], "tool_use");
    assert_eq!(events[12]["usage"]["output_tokens"], 3);
}

#[tokio::test]
async fn slices_cut_anywhere_and_lose_nothing() {
    let script = || reply![text("Grüße, 世界")];
    let model = ScriptedModel::start([script(), script().slices(1)]);
    let whole = post(&model, Provider::OpenAi).await.text().await.unwrap();
    let mut response = post(&model, Provider::OpenAi).await;
    let mut chunks = Vec::new();
    while let Some(chunk) = response.chunk().await.unwrap() {
        chunks.push(chunk);
    }
    assert_eq!(chunks.concat(), whole.as_bytes());
    assert!(chunks.iter().all(|chunk| chunk.len() == 1));
}

#[tokio::test]
async fn statuses_carry_retry_after_and_a_body() {
    let model = ScriptedModel::start([
        reply![error(429).retry_after(2)],
        reply![error(503).body(json!({"detail": "later"}))],
        reply![error_event("overloaded_error", "Busy")],
    ]);
    let busy = post(&model, Provider::Anthropic).await;
    assert_eq!(
        (busy.status().as_u16(), &busy.headers()["retry-after"]),
        (429, &"2".parse().unwrap())
    );
    assert_eq!(
        busy.json::<Value>().await.unwrap()["error"]["type"],
        "rate_limit_error"
    );
    let down = post(&model, Provider::OpenAi).await;
    assert_eq!(
        down.json::<Value>().await.unwrap(),
        json!({"detail": "later"})
    );
    let body = post(&model, Provider::Anthropic)
        .await
        .text()
        .await
        .unwrap();
    let want = json!({"type": "error", "error": {"type": "overloaded_error", "message": "Busy"}});
    assert_eq!(events(&body).last(), Some(&want));
}

#[tokio::test]
async fn a_stream_that_is_cut_or_hung_up_fails_after_what_came_before() {
    for end in [cut(), hang_up()] {
        let gate = Gate::new();
        let model = ScriptedModel::start([reply![text("half"), hold(&gate), end]]);
        let mut response = post(&model, Provider::OpenAi).await;
        let mut got = String::new();
        while !got.contains("half") {
            got.push_str(std::str::from_utf8(&response.chunk().await.unwrap().unwrap()).unwrap());
        }
        gate.open();
        assert!(
            response.chunk().await.is_err(),
            "the body ended in good order"
        );
        model.played(0).await;
    }
}

#[tokio::test]
async fn a_reply_waits_at_a_gate_and_the_server_sees_the_client_go() {
    let gate = Gate::new();
    let model = ScriptedModel::start([reply![hold(&gate), "a"], reply![hold(&gate).silent()]]);
    let response = post(&model, Provider::OpenAi).await;
    gate.reached().await;
    assert!(!model.is_client_gone(0));
    drop(response);
    model.client_gone(0).await;
    let mut waiting = Box::pin(post(&model, Provider::OpenAi));
    tokio::select! {
        _ = &mut waiting => panic!("a silent hold sent a head"),
        () = gate.reached_times(2) => {}
    }
    let a_moment = tokio::time::timeout(Duration::from_millis(50), &mut waiting);
    assert!(a_moment.await.is_err(), "a silent hold sent a head");
    drop(waiting);
    model.client_gone(1).await;
}

#[tokio::test]
async fn one_connection_carries_many_requests() {
    let model = ScriptedModel::answering(|request| reply![text(request.user_texts().join("|"))]);
    let client = client();
    let url = format!("{}/chat/completions", model.base_url(Provider::OpenAi));
    for _ in 0..3 {
        let response = client.post(&url).json(&openai_body()).send().await.unwrap();
        assert_eq!(response.headers()["content-type"], "text/event-stream");
        let body = response.text().await.unwrap();
        assert!(body.contains("\"content\":\"Hello\""), "{body}");
        let list = client.get(format!("{}/models", model.base_url(Provider::OpenAi)));
        let list = list.send().await.unwrap();
        let list: Value = list.json().await.unwrap();
        assert_eq!(list["data"][1]["id"], "m2");
    }
    assert_eq!(
        (model.requests().len(), model.other_requests().len()),
        (3, 3)
    );
    assert_eq!(model.connections(), 1);
}

#[tokio::test]
async fn it_is_known_when_a_reply_was_over() {
    let gate = Gate::new();
    let model = ScriptedModel::start([reply![hold(&gate), "a"], reply!["b"]]);
    let response = post(&model, Provider::OpenAi).await;
    gate.reached().await;
    let before = std::time::Instant::now();
    gate.open();
    response.text().await.unwrap();
    let over = model.played(0).await;
    post(&model, Provider::OpenAi).await;
    let next = model.request(1).await.arrived;
    assert!(before <= over, "it was over before it went on");
    assert!(over <= next, "it was over after the next request had come");
    assert_eq!(model.played(0).await, over);
}

#[tokio::test]
async fn a_request_without_a_reply_is_a_500_and_a_violation() {
    let model = ScriptedModel::start(["only one"]);
    assert_eq!(post(&model, Provider::OpenAi).await.status(), 200);
    assert_eq!(post(&model, Provider::OpenAi).await.status(), 500);
    assert_eq!(model.take_violations(), ["no reply scripted for request 1"]);
}

#[tokio::test]
async fn a_panic_of_the_script_is_a_violation() {
    let model = ScriptedModel::answering(|request| {
        assert_eq!(request.model(), "m2", "the model");
        reply![]
    });
    assert_eq!(post(&model, Provider::OpenAi).await.status(), 500);
    let violations = model.take_violations();
    assert!(
        violations[0].contains("panicked at request 0"),
        "{violations:?}"
    );
}

#[tokio::test]
async fn a_violation_fails_the_test_that_drops_the_model() {
    let test = tokio::spawn(async {
        let model = ScriptedModel::silent();
        post(&model, Provider::OpenAi).await;
    });
    let panic = test.await.unwrap_err().into_panic();
    let text = panic.downcast_ref::<String>().unwrap();
    assert!(text.contains("no reply scripted for request 0"), "{text}");
}
