use serde_json::json;

use super::*;

/// What a caller would have put together from the events.
#[derive(Debug, Default, PartialEq)]
struct Whole {
    text: String,
    thinking: String,
    /// Name and arguments.
    calls: Vec<(String, String)>,
    ids: Vec<String>,
    usage: Option<(u64, u64, Option<u64>, Option<u64>)>,
    stop: Option<StopReason>,
}

fn fold(events: Vec<ProviderEvent>) -> Whole {
    let (mut whole, mut opened, mut blocks) = (Whole::default(), 0, Vec::new());
    for event in events {
        assert_eq!(whole.stop, None, "nothing follows the end");
        let mut open = |block: u32| {
            assert!(block <= opened, "blocks open without gaps");
            opened = opened.max(block + 1);
        };
        match event {
            ProviderEvent::Text { block, delta } => {
                open(block);
                whole.text += &delta;
            }
            ProviderEvent::Thinking { block, delta } => {
                open(block);
                whole.thinking += &delta;
            }
            ProviderEvent::ToolCall { block, id, name } => {
                open(block);
                blocks.push(block);
                whole.ids.push(id);
                whole.calls.push((name, String::new()));
            }
            ProviderEvent::ToolArgs { block, delta } => {
                let at = blocks
                    .iter()
                    .position(|b| *b == block)
                    .expect("an open call");
                whole.calls[at].1 += &delta;
            }
            ProviderEvent::Usage(u) => {
                assert_eq!(whole.usage, None, "counted once");
                whole.usage = Some((u.input, u.output, u.cache_read, u.context_tokens));
            }
            ProviderEvent::Stop(stop) => whole.stop = Some(stop),
            ProviderEvent::Signature { .. } => panic!("no signatures here"),
        }
    }
    whole
}

fn decode(chunks: &[String]) -> Result<Whole, ProviderError> {
    let mut decoder = Decoder::new(CallIds::default());
    let mut events = Vec::new();
    for chunk in chunks {
        events.extend(decoder.push(chunk)?);
    }
    events.extend(decoder.finish()?);
    Ok(fold(events))
}

fn delta(delta: Value) -> String {
    json!({ "choices": [{ "index": 0, "delta": delta, "finish_reason": null }] }).to_string()
}

fn finish(reason: &str) -> String {
    json!({ "choices": [{ "delta": {}, "finish_reason": reason }] }).to_string()
}

fn calls(list: Value) -> String {
    delta(json!({ "tool_calls": list }))
}

const ARGS: &str = r#"{"path":"é.txt"}"#;

fn function(name: &str, args: &str) -> Value {
    json!({ "name": name, "arguments": args })
}

fn more(args: &str) -> Value {
    json!({ "arguments": args })
}

/// Whatever the chunks look like, they say `read` with [`ARGS`].
fn check_read(name: &str, mut chunks: Vec<String>) {
    chunks.push(finish("tool_calls"));
    let got = decode(&chunks).unwrap_or_else(|e| panic!("{name}: {e}"));
    let want = vec![("read".to_owned(), ARGS.to_owned())];
    assert_eq!((got.text.as_str(), got.calls), ("", want), "{name}");
    assert!(got.ids.len() == 1 && !got.ids[0].is_empty(), "{name}");
    assert_eq!(got.stop, Some(StopReason::Done), "{name}");
}

#[test]
fn arguments_by_the_character_become_the_same_message() {
    let cases = [
        (
            "index",
            json!({ "index": 0, "id": "a" }),
            json!({ "index": 0 }),
            "",
        ),
        ("no index", json!({ "id": "a" }), json!({}), ""),
        ("no index, no id", json!({}), json!({}), ""),
        (
            "all in every chunk",
            json!({ "index": 0, "id": "a" }),
            json!({ "index": 0, "id": "a" }),
            "read",
        ),
        (
            "name in every chunk",
            json!({ "index": 0 }),
            json!({ "index": 0 }),
            "read",
        ),
    ];
    for (name, mut first, rest, named) in cases {
        first["function"] = function("read", "");
        let piece = |c: char| {
            let mut piece = rest.clone();
            piece["function"] = function(named, &c.to_string());
            calls(json!([piece]))
        };
        let chunks = [calls(json!([first]))]
            .into_iter()
            .chain(ARGS.chars().map(piece));
        check_read(name, chunks.collect());
    }
}

#[test]
fn loose_tool_calls_become_the_same_message() {
    let cases = [
        (
            "one chunk",
            vec![json!([{ "index": 0, "id": "a", "function": function("read", ARGS) }])],
        ),
        (
            "an object",
            vec![
                json!([{ "id": "a", "function": { "name": "read", "arguments": { "path": "é.txt" } } }]),
            ],
        ),
        (
            "id in the last chunk",
            vec![
                json!([{ "index": 0, "function": function("read", "{\"path\":") }]),
                json!([{ "index": 0, "id": "late", "function": more("\"é.txt\"}") }]),
            ],
        ),
        (
            "another id in every chunk",
            vec![
                json!([{ "index": 0, "id": "x", "function": function("read", "{\"path\":") }]),
                json!([{ "index": 0, "id": "y", "function": more("\"é.txt\"}") }]),
            ],
        ),
        (
            "name after the id",
            vec![
                json!([{ "index": 0, "id": "a", "function": more("{\"path\":") }]),
                json!([{ "index": 0, "function": function("read", "\"é.txt\"}") }]),
            ],
        ),
        (
            "an empty end with the name",
            vec![
                json!([{ "index": 0, "id": "a", "function": function("read", ARGS) }]),
                json!([{ "index": 0, "function": function("read", "") }]),
            ],
        ),
    ];
    for (name, chunks) in cases {
        check_read(name, chunks.into_iter().map(calls).collect());
    }
    let blank = vec![
        delta(json!({ "role": "assistant", "content": null, "tool_calls": null })),
        calls(json!([{ "index": 0, "id": "", "function": function("read", ARGS) }])),
        delta(json!({ "content": "\n" })),
    ];
    check_read("content null", blank);
}

#[test]
fn arguments_pass_through_whatever_their_cut() {
    let parts = [r#"{"t":"\u00"#, r#"e9 \"#, r#"n"}"#];
    let mut chunks = vec![calls(
        json!([{ "index": 0, "id": "a", "function": { "name": "w" } }]),
    )];
    chunks.extend(
        parts.map(|part| calls(json!([{ "index": 0, "function": { "arguments": part } }]))),
    );
    chunks.push(finish("tool_calls"));
    let got = decode(&chunks).expect("whole");
    assert_eq!(got.calls[0].1, parts.concat());
}

#[test]
fn parallel_calls_are_told_apart() {
    let cases = [
        (
            "indexes, interleaved",
            vec![
                json!([{ "index": 0, "id": "a", "function": function("x", "") }, { "index": 1, "id": "b", "function": function("y", "") }]),
                json!([{ "index": 1, "function": { "arguments": "{\"n\":2}" } }]),
                json!([{ "index": 0, "function": { "arguments": "{\"n\":1}" } }]),
            ],
        ),
        (
            "no index, ids",
            vec![
                json!([{ "id": "a", "function": function("x", "{\"n\":1}") }]),
                json!([{ "id": "b", "function": function("y", "{\"n\":2}") }]),
            ],
        ),
        (
            "all of them 0",
            vec![
                json!([{ "index": 0, "id": "a", "function": function("x", "{\"n\":1}") }]),
                json!([{ "index": 0, "id": "b", "function": function("y", "{\"n\":2}") }]),
            ],
        ),
        (
            "nothing but names",
            vec![
                json!([{ "function": function("x", "{\"n\":1}") }, { "function": function("y", "{\"n\":2}") }]),
            ],
        ),
        (
            "one id for all, no index",
            vec![
                json!([{ "id": "call_0", "function": function("x", "{\"n\":1}") }]),
                json!([{ "id": "call_0", "function": function("y", "{\"n\":2}") }]),
            ],
        ),
        (
            "one id for all",
            vec![
                json!([{ "index": 0, "id": "call_0", "function": function("x", "{\"n\":1}") }]),
                json!([{ "index": 1, "id": "call_0", "function": function("y", "{\"n\":2}") }]),
            ],
        ),
    ];
    let want = [("x", "{\"n\":1}"), ("y", "{\"n\":2}")].map(|(n, a)| (n.to_owned(), a.to_owned()));
    for (name, chunks) in cases {
        let chunks: Vec<_> = chunks
            .into_iter()
            .map(calls)
            .chain([finish("tool_calls")])
            .collect();
        let got = decode(&chunks).unwrap_or_else(|e| panic!("{name}: {e}"));
        assert_eq!(got.calls, want, "{name}");
        assert_ne!(got.ids[0], got.ids[1], "{name}");
    }
    let twice = json!([{ "function": function("x", "{\"n\":1}") }, { "function": function("x", "{\"n\":2}") }]);
    let got = decode(&[calls(twice), finish("stop")]).expect("the same tool twice");
    assert_eq!(got.calls.len(), 2);
}

#[test]
fn an_id_of_an_earlier_message_is_not_used_again() {
    let mut ids = CallIds::default();
    ids.claim(Some("call_0"));
    let mut decoder = Decoder::new(ids);
    let chunk = calls(json!([{ "index": 0, "id": "call_0", "function": { "name": "x" } }]));
    let events = decoder.push(&chunk).expect("events");
    let Some(ProviderEvent::ToolCall { id, .. }) = events.first() else {
        panic!("{events:?}")
    };
    assert!(id != "call_0" && id.starts_with("call-"), "{id}");
}

#[test]
fn usage_is_counted_once_wherever_it_comes() {
    let used = json!({ "prompt_tokens": 100, "completion_tokens": 20, "prompt_tokens_details": { "cached_tokens": 40 } });
    let hi = delta(json!({ "content": "hi" }));
    let cases = [
        ("own chunk", vec![hi.clone(), finish("stop"), json!({ "choices": [], "usage": used }).to_string()]),
        ("null choices", vec![hi.clone(), finish("stop"), json!({ "choices": null, "usage": used }).to_string()]),
        ("no choices", vec![hi.clone(), finish("stop"), json!({ "usage": used }).to_string(), "[DONE]".into()]),
        ("last content chunk", vec![hi.clone(), json!({ "choices": [{ "delta": {}, "finish_reason": "stop" }], "usage": used }).to_string()]),
        ("every chunk", vec![
            json!({ "choices": [{ "delta": { "content": "hi" } }], "usage": { "prompt_tokens": 100, "completion_tokens": 1 } }).to_string(),
            json!({ "choices": [{ "delta": {}, "finish_reason": "stop" }], "usage": used }).to_string(),
            json!({ "choices": [], "usage": null }).to_string(),
        ]),
    ];
    for (name, chunks) in cases {
        let got = decode(&chunks).unwrap_or_else(|e| panic!("{name}: {e}"));
        assert_eq!(got.usage, Some((60, 20, Some(40), Some(120))), "{name}");
        assert_eq!(got.text, "hi", "{name}");
    }
    assert_eq!(decode(&[hi, finish("stop")]).expect("whole").usage, None);
}

#[test]
fn thoughts_have_two_names_and_count_once() {
    for key in ["reasoning_content", "reasoning"] {
        let chunks = [
            delta(json!({ key: "hm" })),
            delta(json!({ "content": "yes" })),
            finish("stop"),
        ];
        let got = decode(&chunks).expect("whole");
        assert_eq!((got.thinking.as_str(), got.text.as_str()), ("hm", "yes"));
    }
    let both = delta(json!({ "reasoning_content": "hm", "reasoning": "hm", "content": "" }));
    assert_eq!(
        decode(&[both, finish("stop")]).expect("whole").thinking,
        "hm"
    );
}

#[test]
fn ends_are_told_from_cuts() {
    let hi = delta(json!({ "content": "hi" }));
    let cases = [
        ("stop", StopReason::Done),
        ("tool_calls", StopReason::Done),
        ("length", StopReason::Length),
        ("content_filter", StopReason::Refused),
        ("anything else", StopReason::Done),
    ];
    for (reason, stop) in cases {
        let got = decode(&[hi.clone(), finish(reason)]).expect("whole");
        assert_eq!(got.stop, Some(stop), "{reason}");
    }
    let done = decode(&[hi.clone(), "[DONE]".into()]).expect("done without a reason");
    assert_eq!(done.stop, Some(StopReason::Done));
    for cut in [vec![], vec![hi.clone()], vec![hi, finish("")]] {
        assert_eq!(decode(&cut).expect_err("cut").kind, Kind::Network);
    }
}

#[test]
fn a_call_without_arguments_gets_an_empty_object_unless_it_was_cut() {
    let bare =
        calls(json!([{ "index": 0, "id": "a", "function": { "name": "ls", "arguments": "" } }]));
    let args = |reason| {
        decode(&[bare.clone(), finish(reason)])
            .expect("whole")
            .calls[0]
            .1
            .clone()
    };
    assert_eq!(args("tool_calls"), "{}");
    assert_eq!(args("length"), "");
}

#[test]
fn errors_inside_the_stream_are_errors() {
    let cases = [
        (
            json!({ "error": { "message": "overloaded", "code": 529 } }),
            Kind::Busy,
        ),
        (json!({ "error": { "message": "odd" } }), Kind::Busy),
        (json!({ "error": "odd" }), Kind::Busy),
        (
            json!({ "error": { "message": "no", "code": 401 } }),
            Kind::Auth,
        ),
        (
            json!({ "error": { "message": "no", "type": "invalid_request_error" } }),
            Kind::Rejected,
        ),
        (
            json!({ "error": { "code": "context_length_exceeded", "message": "" } }),
            Kind::ContextTooLong,
        ),
        (json!({ "object": "error", "message": "odd" }), Kind::Busy),
        (
            json!({ "choices": [{ "delta": {}, "finish_reason": "error", "error": { "code": 502, "message": "x" } }] }),
            Kind::Busy,
        ),
    ];
    for (chunk, kind) in cases {
        let error = decode(&[chunk.to_string()]).expect_err("an error");
        assert_eq!(error.kind, kind, "{chunk}");
    }
    assert!(
        decode(&[
            json!({ "error": null, "choices": [] }).to_string(),
            "[DONE]".into()
        ])
        .is_ok()
    );
    assert_eq!(
        decode(&["nonsense".into()]).expect_err("an error").kind,
        Kind::Malformed
    );
}

#[test]
fn blank_text_opens_no_block_but_is_kept_before_text() {
    let text = |text: &str| delta(json!({ "content": text }));
    let got = decode(&[
        text(""),
        text("\n\n"),
        text("a"),
        text(" "),
        text("b"),
        finish("stop"),
    ]);
    assert_eq!(got.expect("whole").text, "\n\na b");
    let parts = delta(json!({ "content": [
        { "type": "thinking", "thinking": [{ "type": "text", "text": "hm" }] },
        { "type": "text", "text": "yes" },
    ]}));
    let got = decode(&[parts, finish("stop")]).expect("whole");
    assert_eq!((got.thinking.as_str(), got.text.as_str()), ("hm", "yes"));
}
