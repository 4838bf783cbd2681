use serde_json::json;

use super::*;

fn decode(events: &[Value]) -> Result<Vec<ProviderEvent>, ProviderError> {
    let mut decoder = Decoder::new(CallIds::default());
    let mut out = Vec::new();
    for event in events {
        out.extend(decoder.push(&event.to_string())?);
    }
    out.extend(decoder.finish()?);
    Ok(out)
}

fn start(block: Value) -> Value {
    json!({ "type": "content_block_start", "index": 0, "content_block": block })
}

fn delta(delta: Value) -> Value {
    json!({ "type": "content_block_delta", "index": 0, "delta": delta })
}

fn end(reason: &str) -> Value {
    json!({ "type": "message_delta", "delta": { "stop_reason": reason }, "usage": { "output_tokens": 20 } })
}

fn stop() -> Value {
    json!({ "type": "message_stop" })
}

#[test]
fn a_whole_answer() {
    let events = decode(&[
        json!({ "type": "message_start", "message": { "usage": { "input_tokens": 60, "output_tokens": 1,
            "cache_read_input_tokens": 40, "cache_creation_input_tokens": 5 } } }),
        json!({ "type": "ping" }),
        start(json!({ "type": "thinking", "thinking": "", "signature": "" })),
        delta(json!({ "type": "thinking_delta", "thinking": "hm" })),
        delta(json!({ "type": "signature_delta", "signature": "c2ln" })),
        json!({ "type": "content_block_stop", "index": 0 }),
        start(json!({ "type": "redacted_thinking", "data": "xyz" })),
        start(json!({ "type": "text", "text": "" })),
        delta(json!({ "type": "text_delta", "text": "yes" })),
        start(json!({ "type": "server_tool_use", "id": "s", "name": "web", "input": {} })),
        delta(json!({ "type": "input_json_delta", "partial_json": "{}" })),
        start(json!({ "type": "tool_use", "id": "toolu_1", "name": "read", "input": {} })),
        delta(json!({ "type": "input_json_delta", "partial_json": "" })),
        delta(json!({ "type": "input_json_delta", "partial_json": "{\"path\":" })),
        delta(json!({ "type": "input_json_delta", "partial_json": "\"x\"}" })),
        json!({ "type": "something_new" }),
        end("tool_use"),
        stop(),
    ])
    .expect("whole");
    let thinking = |block, delta: &str| ProviderEvent::Thinking {
        block,
        delta: delta.into(),
    };
    let sign = |block, signature: &str| ProviderEvent::Signature {
        block,
        signature: signature.into(),
    };
    let args = |delta: &str| ProviderEvent::ToolArgs {
        block: 3,
        delta: delta.into(),
    };
    let want = [
        thinking(0, ""),
        thinking(0, "hm"),
        sign(0, "c2ln"),
        thinking(1, ""),
        sign(1, "redacted:xyz"),
        ProviderEvent::Text {
            block: 2,
            delta: "yes".into(),
        },
        ProviderEvent::ToolCall {
            block: 3,
            id: "toolu_1".into(),
            name: "read".into(),
        },
        args("{\"path\":"),
        args("\"x\"}"),
        ProviderEvent::Usage(Usage {
            input: 60,
            output: 20,
            cache_read: Some(40),
            cache_write: Some(5),
            context_tokens: Some(125),
            ..Usage::default()
        }),
        ProviderEvent::Stop(StopReason::Done),
    ];
    assert_eq!(events, want);
}

#[test]
fn a_call_in_one_piece_and_one_without_id() {
    let whole = json!({ "type": "tool_use", "name": "read", "input": { "path": "x" } });
    let args = |reason: &str| {
        let events = decode(&[start(whole.clone()), end(reason), stop()]).expect("whole");
        let Some(ProviderEvent::ToolCall { id, .. }) = events.first() else {
            panic!("{events:?}")
        };
        assert!(id.starts_with("call-"), "{id}");
        let text = |event: &ProviderEvent| match event {
            ProviderEvent::ToolArgs { delta, .. } => Some(delta.clone()),
            _ => None,
        };
        events.iter().find_map(text)
    };
    assert_eq!(args("tool_use").as_deref(), Some(r#"{"path":"x"}"#));
    assert_eq!(args("max_tokens"), None);
}

#[test]
fn ends_are_told_from_cuts() {
    let cases = [
        ("end_turn", StopReason::Done),
        ("pause_turn", StopReason::Done),
        ("max_tokens", StopReason::Length),
        ("refusal", StopReason::Refused),
    ];
    for (reason, want) in cases {
        for events in [vec![end(reason), stop()], vec![end(reason)]] {
            let got = decode(&events).expect("whole");
            assert_eq!(got.last(), Some(&ProviderEvent::Stop(want)), "{reason}");
        }
    }
    let text = start(json!({ "type": "text", "text": "hi" }));
    assert_eq!(decode(&[text]).expect_err("cut").kind, Kind::Network);
}

#[test]
fn errors_inside_the_stream_are_errors() {
    let told =
        |kind: &str| json!({ "type": "error", "error": { "type": kind, "message": "words" } });
    let cases = [
        ("overloaded_error", Kind::Busy),
        ("api_error", Kind::Busy),
        ("rate_limit_error", Kind::Busy),
        ("authentication_error", Kind::Auth),
        ("invalid_request_error", Kind::Rejected),
        ("a_new_error", Kind::Busy),
    ];
    for (name, kind) in cases {
        let error = decode(&[told(name)]).expect_err("an error");
        assert_eq!(error.kind, kind, "{name}");
        assert!(error.message.contains("words"), "{error}");
    }
}
