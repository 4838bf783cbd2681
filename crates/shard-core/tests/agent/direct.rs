//! A direct connection: each record, and the exact line that answers it.

use std::sync::{Arc, Mutex};

use shard_contracts::{BoxFuture, EventBus, EventSubscriber};
use shard_core::direct::{Direct, Events, Next, Outlet};
use shard_protocol::codec::Record;
use shard_types::AgentStatus;
use shard_types::event::Status;

use crate::bench::Bench;

#[derive(Default)]
struct Lines(Mutex<Vec<String>>);

impl Outlet for Lines {
    fn send(&self, line: String) {
        self.0.lock().unwrap().push(line);
    }

    fn ready(&self) -> BoxFuture<'_, ()> {
        Box::pin(std::future::ready(()))
    }
}

async fn check(bench: &Bench, record: Record, lines: &[&str], next: Next) {
    let outlet = Arc::new(Lines::default());
    let direct = Direct::new(bench.handle.clone(), Arc::clone(&outlet) as _);
    let shown = format!("{record:?}");
    assert_eq!(direct.take(record).await, next, "{shown}");
    bench.settle().await;
    assert_eq!(*outlet.0.lock().unwrap(), lines, "{shown}");
}

#[tokio::test(start_paused = true)]
async fn each_record_has_its_answer() {
    let bench = Bench::new().await;
    for (line, answer) in [
        (
            r#"{"type":"abort","id":"r1"}"#,
            &[
                r#"{"type":"response","id":"r1","command":"abort","success":true,"data":{"cleared":[]}}"#,
            ][..],
        ),
        (r#"{"type":"abort"}"#, &[]),
        (
            r#"{"id":"r1","type":"set_mode","mode":"dream"}"#,
            &[
                r#"{"type":"response","id":"r1","command":"set_mode","success":false,"error":{"code":"NOT_FOUND","message":"there is no mode \"dream\"; there are: build, plan, review"}}"#,
            ],
        ),
        (r#"{"type":"set_mode","mode":"dream"}"#, &[]),
        (
            r#"{"id":"r1","type":"set_mode"}"#,
            &[
                r#"{"type":"response","id":"r1","command":"set_mode","success":false,"error":{"code":"INVALID_REQUEST","message":"missing field `mode`"}}"#,
            ],
        ),
        (
            r#"{"type":"set_mode","mode":7}"#,
            &[
                r#"{"type":"error","code":"INVALID_REQUEST","message":"`mode`: expected a string","fatal":false}"#,
            ],
        ),
        (
            r#"{"id":"r1","type":"dance","step":1}"#,
            &[
                r#"{"type":"response","id":"r1","command":"dance","success":false,"error":{"code":"INVALID_REQUEST","message":"there is no command `dance`"}}"#,
            ],
        ),
        (
            r#"{"type":"dance"}"#,
            &[
                r#"{"type":"error","code":"INVALID_REQUEST","message":"there is no command `dance`","fatal":false}"#,
            ],
        ),
        (
            r#"{"id":"r1","type":"agent.list"}"#,
            &[
                r#"{"type":"response","id":"r1","command":"agent.list","success":false,"error":{"code":"INVALID_REQUEST","message":"`agent.list` is for a daemon; this connection is bound to one agent"}}"#,
            ],
        ),
        (
            "nonsense",
            &[
                r#"{"type":"error","code":"INVALID_REQUEST","message":"not valid JSON at line 1, column 2; send one JSON object a line","fatal":false}"#,
            ],
        ),
    ] {
        check(
            &bench,
            Record::Line(line.to_owned()),
            answer,
            Next::Continue,
        )
        .await;
    }
}

#[tokio::test(start_paused = true)]
async fn what_is_no_line_has_its_answer_too() {
    let bench = Bench::new().await;
    check(
        &bench,
        Record::NotUtf8,
        &[r#"{"type":"error","code":"INVALID_REQUEST","message":"the line is not UTF-8; send JSON in UTF-8","fatal":false}"#],
        Next::Continue,
    )
    .await;
    check(
        &bench,
        Record::TooLong(br#"{"type":"prompt","id":"r1","message":"xx"#.to_vec()),
        &[r#"{"type":"response","id":"r1","command":"prompt","success":false,"error":{"code":"INVALID_REQUEST","message":"the message is larger than 16777216 bytes; the connection is closed"}}"#],
        Next::Close,
    )
    .await;
    check(
        &bench,
        Record::TooLong(b"xxxx".to_vec()),
        &[r#"{"type":"error","code":"INVALID_REQUEST","message":"the message is larger than 16777216 bytes; the connection is closed","fatal":false}"#],
        Next::Close,
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn events_and_answers_stand_in_one_order() {
    let mut bench = Bench::new().await;
    let outlet = Arc::new(Lines::default());
    bench
        .bus
        .subscribe(Arc::new(Events(Arc::clone(&outlet) as _)));
    let direct = Direct::new(bench.handle.clone(), Arc::clone(&outlet) as _);
    bench.prompt("go").await;
    let _call = bench.call().await;
    let abort = Record::Line(r#"{"type":"abort","id":"r1"}"#.to_owned());
    direct.take(abort).await;
    bench.rest().await;
    let sync = Record::Line(r#"{"type":"sync"}"#.to_owned());
    direct.take(sync).await;
    bench.until("sync").await;
    let lines = outlet.0.lock().unwrap().clone();
    let kinds: Vec<_> = lines
        .iter()
        .map(|line| line.split('"').nth(3).unwrap())
        .collect();
    assert_eq!(
        kinds,
        [
            "status",
            "turn_start",
            "message_complete",
            "turn_end",
            "response",
            "status",
            "sync"
        ]
    );
}

#[test]
fn an_event_is_its_line() {
    let outlet = Arc::new(Lines::default());
    let events = Events(Arc::clone(&outlet) as _);
    events.event(
        &Status {
            status: AgentStatus::WaitingForUi,
            detail: None,
        }
        .into(),
    );
    assert_eq!(
        *outlet.0.lock().unwrap(),
        [r#"{"type":"status","status":"waiting_for_ui"}"#]
    );
}
