//! What a client sees of a turn, in order.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use serde_json::json;
use shard_contracts::{EventBus, EventSubscriber};
use shard_types::event::AgentEvent;
use shard_types::{EntryBody, Usage};

use crate::bench::{Bench, Setup};
use crate::lines::line;

#[tokio::test(start_paused = true)]
async fn a_turn_of_words() {
    let mut bench = Bench::new().await;
    let prompt = bench.prompt("hello").await;
    let call = bench.call().await;
    assert_eq!(call.history(), r#"U: "hello""#);
    call.thought("hm");
    call.text("Good ");
    call.more_text(1, "morning");
    call.usage(3, 4);
    call.stop();
    let mut events = bench.events_until("turn_end").await;
    events.extend(bench.events_until("status").await);
    assert_eq!(
        events.iter().map(line).collect::<Vec<_>>(),
        [
            "status streaming",
            "turn_start",
            r#"user: "hello""#,
            "delta 0 hm",
            "delta 1 Good ",
            "delta 1 morning",
            r#"assistant: (hm) "Good morning""#,
            "usage 3+4",
            "turn_end done 3+4",
            "status idle",
        ]
    );
    let messages: Vec<_> = bench
        .rows()
        .into_iter()
        .filter(|row| matches!(row.body, EntryBody::Message(_)))
        .map(|row| row.id)
        .collect();
    assert_eq!(messages[0], prompt, "the accepted id is the message's");
    let deltas = events.iter().filter_map(|event| match event {
        AgentEvent::MessageDelta(delta) => Some(delta.message_id.clone()),
        AgentEvent::MessageComplete(complete) if complete.message_id != prompt => {
            assert_eq!(complete.message.id, complete.message_id);
            Some(complete.message_id.clone())
        }
        _ => None,
    });
    assert_eq!(deltas.collect::<Vec<_>>(), vec![messages[1].clone(); 4]);
    let usage = events.iter().find_map(|event| match event {
        AgentEvent::Usage(usage) => Some(usage.clone()),
        _ => None,
    });
    let priced = Usage {
        input: 3,
        output: 4,
        context_tokens: Some(7),
        cost: Some(7.0),
        model: Some("one/m".to_owned()),
        ..Usage::default()
    };
    assert_eq!(usage, Some(priced));
}

#[tokio::test(start_paused = true)]
async fn a_turn_with_tools() {
    let mut bench = Bench::new().await;
    bench.prompt("look").await;
    let call = bench.call().await;
    call.text("I look");
    call.tool("c1", "echo", r#"{"say":"one"}"#);
    call.tool("c2", "fail", "");
    call.usage(10, 1);
    call.stop();
    let call = bench.call().await;
    assert_eq!(
        call.history(),
        r#"U: "look" | A: "I look" c1 c2 | U: c1=one c2!it failed"#
    );
    call.usage(20, 2);
    call.answer("done");
    assert_eq!(
        bench.rest().await,
        [
            "status streaming",
            "turn_start",
            r#"user: "look""#,
            "delta 0 I look",
            "delta 1 c1 echo",
            r#"delta 1 {"say":"one"}"#,
            "delta 2 c2 fail",
            "delta 2 ",
            r#"assistant: "I look" echo#c1 fail#c2"#,
            "usage 10+1",
            r#"tool_call c1 echo {"say":"one"}"#,
            "tool_result c1=one",
            "tool_call c2 fail {}",
            "tool_result c2!it failed",
            "delta 0 done",
            r#"assistant: "done""#,
            "usage 20+2",
            "turn_end done 30+3",
            "status idle",
        ]
    );
    let last = bench
        .seen
        .all()
        .into_iter()
        .rev()
        .find_map(|event| match event {
            AgentEvent::TurnEnd(end) => end.usage,
            _ => None,
        });
    assert_eq!(last.unwrap().context_tokens, Some(22), "the last call's");
}

/// Notes every event that comes before its row.
struct EarlyEvents {
    path: PathBuf,
    found: Mutex<Vec<String>>,
}

impl EventSubscriber for EarlyEvents {
    fn event(&self, event: &AgentEvent) {
        let row = match event {
            AgentEvent::MessageComplete(complete) => complete.message_id.to_string(),
            AgentEvent::ToolResult(result) => {
                format!(
                    r#""tool_result","details":{{"toolCallId":"{}""#,
                    result.tool_call_id
                )
            }
            AgentEvent::ToolCall(call) => {
                format!(r#""tool_started","toolCallId":"{}""#, call.tool_call_id)
            }
            AgentEvent::ModeChanged(changed) => {
                format!(r#""mode_changed","mode":"{}""#, changed.mode)
            }
            AgentEvent::ModelChanged(changed) => {
                format!(r#""model_changed","model":"{}""#, changed.active.id)
            }
            AgentEvent::QueueChanged(changed) => match changed.queue.last() {
                Some(last) => last.message.clone(),
                None => return,
            },
            _ => return,
        };
        if !std::fs::read_to_string(&self.path).unwrap().contains(&row) {
            self.found
                .lock()
                .unwrap()
                .push(format!("{} ({row})", line(event)));
        }
    }
}

#[tokio::test(start_paused = true)]
async fn what_is_shown_is_on_the_disk_already() {
    let mut bench = Bench::new().await;
    let early = Arc::new(EarlyEvents {
        path: bench.path().to_owned(),
        found: Mutex::default(),
    });
    bench.bus.subscribe(Arc::clone(&early) as _);
    bench.prompt("look").await;
    let call = bench.call().await;
    bench.steer("quickly").await;
    for change in [
        json!({"type": "set_mode", "mode": "plan"}),
        json!({"type": "set_model", "model": "two/m"}),
    ] {
        bench.request(change).await.unwrap();
    }
    call.tool("c1", "echo", r#"{"say":"one"}"#);
    call.stop();
    bench.call().await.answer("done");
    assert_eq!(bench.rest().await.last().unwrap(), "status idle");
    assert_eq!(*early.found.lock().unwrap(), [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_says_nothing_ends_the_turn_at_once() {
    for blank in [&[][..], &[""], &["\n"]] {
        let mut bench = Bench::new().await;
        bench.prompt("hello").await;
        let call = bench.call().await;
        blank.iter().for_each(|text| call.text(text));
        call.stop();
        let lines = bench.rest().await;
        assert_eq!(
            lines[lines.len() - 3..],
            [
                "error PROVIDER_ERROR: one/m answered with nothing; send the message again or pick another model",
                "turn_end error",
                "status error",
            ],
            "{blank:?}"
        );
        assert!(bench.call_now().is_none(), "{blank:?}: asked once");
        bench.prompt("and?").await;
        assert_eq!(bench.call().await.history(), r#"U: "hello" "and?""#);
    }
}

#[tokio::test(start_paused = true)]
async fn thoughts_alone_are_no_answer() {
    let mut bench = Bench::new().await;
    bench.prompt("hello").await;
    let call = bench.call().await;
    call.thought("hm");
    call.stop();
    let lines = bench.rest().await;
    assert_eq!(lines[lines.len() - 2..], ["turn_end error", "status error"]);
    assert!(bench.call_now().is_none());
}

#[tokio::test(start_paused = true)]
async fn the_bound_on_rounds_stops_only_a_turn_that_wants_more() {
    let mut bench = Bench::with(Setup {
        max_rounds: 2,
        ..Setup::default()
    })
    .await;
    bench.prompt("one").await;
    bench.call().await.answer("yes");
    assert_eq!(bench.rest().await.last().unwrap(), "status idle");

    bench.prompt("two").await;
    for id in ["c1", "c2"] {
        let call = bench.call().await;
        call.tool(id, "echo", r#"{"say":"x"}"#);
        call.stop();
    }
    let lines = bench.rest().await;
    assert_eq!(
        lines[lines.len() - 4..],
        [
            "tool_result c2=x",
            "error TOOL_ERROR: the turn was stopped after 2 rounds (`tools.max_rounds`); send a message to go on",
            "turn_end limit",
            "status idle",
        ]
    );

    bench.prompt("three").await;
    let call = bench.call().await;
    assert_eq!(
        call.history(),
        r#"U: "one" | A: "yes" | U: "two" | A: c1 | U: c1=x | A: c2 | U: c2=x "three""#
    );
    call.tool("c3", "echo", r#"{"say":"x"}"#);
    call.stop();
    bench.call().await.answer("whole");
    let lines = bench.rest().await;
    assert_eq!(
        lines[lines.len() - 2..],
        ["turn_end done", "status idle"],
        "the last round that is allowed said everything"
    );
}

#[tokio::test(start_paused = true)]
async fn a_session_ends_with_its_last_handle() {
    let bench = Bench::new().await;
    bench.prompt("hello").await;
    let Bench { handle, task, .. } = bench;
    drop(handle);
    task.await.unwrap();
}
