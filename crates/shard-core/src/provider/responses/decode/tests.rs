use serde_json::json;

use super::*;

/// What a caller would have put together from the events: a line for each block.
#[derive(Debug, Default, PartialEq)]
struct Whole {
    blocks: Vec<String>,
    ids: Vec<String>,
    signatures: Vec<(u32, Value)>,
    usage: Option<(u64, u64, Option<u64>, Option<u64>)>,
    stop: Option<StopReason>,
}

fn fold(events: Vec<ProviderEvent>) -> Whole {
    let mut whole = Whole::default();
    for event in events {
        assert_eq!(whole.stop, None, "nothing follows the end");
        let mut say = |block: u32, kind: &str, delta: &str| {
            let at = block as usize;
            assert!(at <= whole.blocks.len(), "blocks open without gaps");
            if at == whole.blocks.len() {
                whole.blocks.push(format!("{kind}: "));
            }
            assert!(whole.blocks[at].starts_with(kind), "{kind} in {at}");
            whole.blocks[at] += delta;
        };
        match event {
            ProviderEvent::Text { block, delta } => say(block, "text", &delta),
            ProviderEvent::Thinking { block, delta } => say(block, "thought", &delta),
            ProviderEvent::ToolCall { block, id, name } => {
                say(block, "call", &format!("{name} "));
                whole.ids.push(id);
            }
            ProviderEvent::ToolArgs { block, delta } => say(block, "call", &delta),
            ProviderEvent::Signature { block, signature } => {
                let item = serde_json::from_str(&signature).expect("an item");
                whole.signatures.push((block, item));
            }
            ProviderEvent::Usage(u) => {
                assert_eq!(whole.usage, None, "counted once");
                whole.usage = Some((u.input, u.output, u.cache_read, u.context_tokens));
            }
            ProviderEvent::Stop(stop) => whole.stop = Some(stop),
        }
    }
    whole
}

fn decode(events: &[Value]) -> Result<Whole, ProviderError> {
    let mut decoder = Decoder::new(CallIds::default());
    let mut out = Vec::new();
    for event in events {
        out.extend(decoder.push(&event.to_string())?);
    }
    out.extend(decoder.finish()?);
    Ok(fold(out))
}

/// An event; `more` are its fields beside the type.
fn event(name: &str, more: Value) -> Value {
    let mut event = more;
    event["type"] = format!("response.{name}").into();
    event
}

fn completed() -> Value {
    event(
        "completed",
        json!({ "response": { "status": "completed", "output": [] } }),
    )
}

fn sealed(id: &str, summary: &[&str]) -> Value {
    let part = |text: &&str| json!({ "type": "summary_text", "text": text });
    let summary: Vec<Value> = summary.iter().map(part).collect();
    json!({ "type": "reasoning", "id": id, "summary": summary, "encrypted_content": "gAAA" })
}

fn message(text: &str) -> Value {
    json!({ "type": "message", "id": "msg_1", "role": "assistant", "status": "completed",
        "content": [{ "type": "output_text", "text": text, "annotations": [] }] })
}

fn call(args: &str) -> Value {
    json!({ "type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "read", "arguments": args })
}

/// One answer with thoughts, words and a call, told as often as OpenAI tells it.
const USUAL: &str = include_str!("usual.jsonl");

fn usual() -> Vec<Value> {
    let events = USUAL.lines().map(serde_json::from_str);
    events.collect::<Result<_, _>>().expect("events")
}

fn usual_whole() -> Whole {
    Whole {
        blocks: [
            "thought: first\n\nsecond",
            "text: yes",
            "call: read {\"path\":\"x\"}",
        ]
        .map(str::to_owned)
        .to_vec(),
        ids: vec!["call_1".into()],
        signatures: vec![(0, sealed("rs_1", &["first", "second"]))],
        usage: Some((60, 20, Some(40), Some(120))),
        stop: Some(StopReason::Done),
    }
}

/// The usual events whose type is `kept`, after something was done to each.
fn bent(kept: impl Fn(&str) -> bool, bend: impl Fn(&mut Value)) -> Vec<Value> {
    let mut events = usual();
    events.retain(|event| kept(event["type"].as_str().expect("a type")));
    events.iter_mut().for_each(bend);
    events
}

fn without(event: &mut Value, key: &str) {
    event.as_object_mut().map(|event| event.remove(key));
}

#[test]
fn whatever_a_server_leaves_out_the_answer_is_the_same() {
    let all = |_: &str| true;
    let same = |_: &mut Value| {};
    let ends = |kind: &str, ends: &[&str]| ends.iter().any(|end| kind.ends_with(end));
    let cases = [
        ("everything", bent(all, same)),
        ("no deltas", bent(|kind| !ends(kind, &[".delta"]), same)),
        (
            "whole items alone",
            bent(|kind| ends(kind, &["item.done", "completed"]), same),
        ),
        (
            "the response alone",
            bent(|kind| ends(kind, &["completed"]), same),
        ),
        (
            "nothing said twice",
            bent(
                |kind| !ends(kind, &["text.done", "part.done", "arguments.done"]),
                |event| {
                    without(
                        event.get_mut("response").unwrap_or(&mut Value::Null),
                        "output",
                    )
                },
            ),
        ),
        (
            "no ids in deltas",
            bent(all, |event| without(event, "item_id")),
        ),
        (
            "no numbers of items",
            bent(all, |event| without(event, "output_index")),
        ),
        (
            "neither",
            bent(all, |event| {
                without(event, "output_index");
                without(event, "item_id");
            }),
        ),
        (
            "all of them 0",
            bent(all, |event| {
                if event.get("output_index").is_some() {
                    event["output_index"] = json!(0);
                }
            }),
        ),
        (
            "new ids in every event",
            bent(all, |event| {
                let kind = event["type"].clone();
                if event.get("item_id").is_some() {
                    event["item_id"] = kind;
                }
            }),
        ),
        (
            "arguments as an object",
            bent(
                |kind| ends(kind, &["item.done", "completed"]),
                |event| {
                    if event.pointer("/item/arguments").is_some() {
                        event["item"]["arguments"] = json!({ "path": "x" });
                    }
                },
            ),
        ),
    ];
    for (name, events) in cases {
        let got = decode(&events).unwrap_or_else(|e| panic!("{name}: {e}"));
        assert_eq!(got, usual_whole(), "{name}");
    }
}

#[test]
fn a_response_that_comes_whole_is_read_like_its_end() {
    let end = usual().pop().expect("an end");
    assert_eq!(
        decode(&[end["response"].clone()]).expect("whole"),
        usual_whole()
    );
    let mut running = end["response"].clone();
    running["status"] = json!("in_progress");
    assert_eq!(
        decode(&[running]).expect_err("not whole").kind,
        Kind::Network
    );
}

#[test]
fn parallel_calls_are_told_apart() {
    let item = |n: u64, args: &str| json!({ "type": "function_call", "id": format!("fc_{n}"), "call_id": format!("call_{n}"), "name": "x", "arguments": args });
    let added = |n: u64| {
        event(
            "output_item.added",
            json!({ "output_index": n, "item": item(n, "") }),
        )
    };
    let delta = |n: u64, delta: &str| {
        event(
            "function_call_arguments.delta",
            json!({ "output_index": n, "item_id": format!("fc_{n}"), "delta": delta }),
        )
    };
    let done = |n: u64, args: &str| {
        event(
            "output_item.done",
            json!({ "output_index": n, "item": item(n, args) }),
        )
    };
    let cases = [
        (
            "interleaved",
            vec![
                added(0),
                added(1),
                delta(1, "{\"n\":"),
                delta(0, "{\"n\":0}"),
                delta(1, "1}"),
                completed(),
            ],
        ),
        (
            "whole",
            vec![done(0, "{\"n\":0}"), done(1, "{\"n\":1}"), completed()],
        ),
        (
            "begun together",
            vec![
                added(0),
                added(1),
                done(1, "{\"n\":1}"),
                done(0, "{\"n\":0}"),
                completed(),
            ],
        ),
    ];
    for (name, events) in cases {
        let got = decode(&events).unwrap_or_else(|e| panic!("{name}: {e}"));
        assert_eq!(
            got.blocks,
            ["call: x {\"n\":0}", "call: x {\"n\":1}"],
            "{name}"
        );
        assert_eq!(got.ids, ["call_0", "call_1"], "{name}");
    }
}

#[test]
fn a_call_may_be_named_late_and_must_be_named() {
    let delta = event(
        "function_call_arguments.delta",
        json!({ "item_id": "fc_1", "delta": "{\"path\"" }),
    );
    let done = event(
        "output_item.done",
        json!({ "item": call("{\"path\":\"x\"}") }),
    );
    let got = decode(&[delta.clone(), done, completed()]).expect("whole");
    assert_eq!(got.blocks, ["call: read {\"path\":\"x\"}"]);
    let error = decode(&[delta, completed()]).expect_err("no name");
    assert_eq!(error.kind, Kind::Malformed);
}

#[test]
fn ids_of_calls_are_used_once_and_made_up_where_none_came() {
    let mut ids = CallIds::default();
    ids.claim(Some("call_1"));
    let mut decoder = Decoder::new(ids);
    let mut bare = call("{}");
    bare["call_id"] = json!("");
    bare["id"] = json!("");
    let mut out = Vec::new();
    for item in [call("{}"), bare] {
        let done = event("output_item.done", json!({ "item": item }));
        out.extend(decoder.push(&done.to_string()).expect("events"));
    }
    let ids: Vec<_> = out
        .iter()
        .filter_map(|event| match event {
            ProviderEvent::ToolCall { id, .. } => Some(id.as_str()),
            _ => None,
        })
        .collect();
    let made_up = |id: &&str| id.starts_with("call-");
    assert!(ids.len() == 2 && ids.iter().all(made_up), "{ids:?}");
    assert_ne!(ids[0], ids[1]);
}

#[test]
fn thoughts_are_kept_only_when_they_can_be_read_again() {
    let done = |item: Value| {
        event(
            "output_item.done",
            json!({ "output_index": 0, "item": item }),
        )
    };
    let hi = event(
        "output_item.done",
        json!({ "output_index": 1, "item": message("hi") }),
    );
    let decode = |item: Value| decode(&[done(item), hi.clone(), completed()]).expect("whole");
    let silent = decode(sealed("rs_1", &[]));
    assert_eq!(silent.blocks, ["thought: ", "text: hi"]);
    assert_eq!(silent.signatures, [(0, sealed("rs_1", &[]))]);
    for key in ["encrypted_content", "id"] {
        let mut item = sealed("rs_1", &["hm"]);
        item[key] = Value::Null;
        let got = decode(item);
        assert_eq!((got.signatures.len(), got.blocks.len()), (0, 2), "{key}");
    }
    // Servers with open models show the thoughts themselves, some of them in both ways.
    let mut open = sealed("rs_1", &[]);
    open["content"] = json!([{ "type": "reasoning_text", "text": "aloud" }]);
    assert_eq!(decode(open.clone()).blocks[0], "thought: aloud");
    open["summary"] = json!([{ "type": "summary_text", "text": "in short" }]);
    assert_eq!(decode(open).blocks[0], "thought: in short");
}

#[test]
fn parts_without_numbers_are_not_told_twice() {
    let events = bent(
        |_| true,
        |event| {
            without(event, "summary_index");
            without(event, "content_index");
        },
    );
    let got = decode(&events).expect("whole");
    assert_eq!(got.blocks[0], "thought: firstsecond");
    assert_eq!(got.blocks[1..], usual_whole().blocks[1..]);
}

#[test]
fn ends_are_told_from_cuts() {
    let cut = |reason: Value| {
        let details = json!({ "reason": reason });
        event(
            "incomplete",
            json!({ "response": { "status": "incomplete", "incomplete_details": details } }),
        )
    };
    let begun = event(
        "output_item.added",
        json!({ "output_index": 0, "item": call("") }),
    );
    let cases = [
        (completed(), StopReason::Done, "call: read {}"),
        (
            cut(json!("max_output_tokens")),
            StopReason::Length,
            "call: read ",
        ),
        (
            cut(json!("content_filter")),
            StopReason::Refused,
            "call: read ",
        ),
        (cut(Value::Null), StopReason::Length, "call: read "),
    ];
    for (end, stop, block) in cases {
        let got = decode(&[begun.clone(), end.clone()]).expect("whole");
        assert_eq!(
            (got.stop, got.blocks[0].as_str()),
            (Some(stop), block),
            "{end}"
        );
    }
    let refusal = event("refusal.delta", json!({ "delta": "I will not" }));
    let whole = event("refusal.done", json!({ "refusal": "I will not." }));
    let got = decode(&[refusal, whole, completed()]).expect("whole");
    assert_eq!(
        (got.stop, got.blocks),
        (
            Some(StopReason::Refused),
            vec!["text: I will not.".to_owned()]
        )
    );
    let mut refused = message("");
    refused["content"] = json!([{ "type": "refusal", "refusal": "no" }]);
    let got = decode(&[
        event("output_item.done", json!({ "item": refused })),
        completed(),
    ]);
    assert_eq!(got.expect("whole").stop, Some(StopReason::Refused));

    // Without the response's own end nothing is whole, whatever the body ends with.
    let mut unfinished = usual();
    unfinished.pop();
    assert_eq!(decode(&unfinished).expect_err("cut").kind, Kind::Network);
    let mut decoder = Decoder::new(CallIds::default());
    assert_eq!(decoder.push("[DONE]"), Ok(vec![]));
    assert_eq!(decoder.finish().expect_err("cut").kind, Kind::Network);
}

#[test]
fn errors_inside_the_stream_are_errors() {
    let failed = |error: Value| {
        event(
            "failed",
            json!({ "response": { "status": "failed", "error": error } }),
        )
    };
    let cases = [
        (
            failed(json!({ "code": "server_error", "message": "odd" })),
            Kind::Busy,
        ),
        (
            failed(json!({ "code": "rate_limit_exceeded", "message": "slow" })),
            Kind::Busy,
        ),
        (
            failed(json!({ "code": "context_length_exceeded", "message": "x" })),
            Kind::ContextTooLong,
        ),
        (
            failed(json!({ "code": "invalid_prompt", "message": "no" })),
            Kind::Rejected,
        ),
        (
            failed(json!({ "code": "insufficient_quota", "message": "pay" })),
            Kind::Rejected,
        ),
        (failed(Value::Null), Kind::Busy),
        (event("failed", json!({})), Kind::Busy),
        (
            json!({ "type": "error", "code": "context_length_exceeded", "message": "x", "param": null }),
            Kind::ContextTooLong,
        ),
        (
            json!({ "type": "error", "error": { "type": "invalid_request_error", "code": null, "message": "x" } }),
            Kind::Rejected,
        ),
        (
            json!({ "error": { "message": "no", "code": 401 } }),
            Kind::Auth,
        ),
    ];
    for (event, kind) in cases {
        let error = decode(std::slice::from_ref(&event)).expect_err("an error");
        assert_eq!(error.kind, kind, "{event}");
        assert!(
            error.message.starts_with("the server broke off: "),
            "{error}"
        );
    }
    let mut decoder = Decoder::new(CallIds::default());
    let error = decoder.push("nonsense").expect_err("an error");
    assert_eq!(error.kind, Kind::Malformed);
}
