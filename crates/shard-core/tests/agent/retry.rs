//! Provider calls that fail.

use std::time::Duration;

use shard_contracts::{ProviderError, ProviderErrorKind};
use shard_types::event::AgentEvent;
use tokio::time::Instant;

use crate::bench::Bench;

fn busy(seconds: u64) -> ProviderError {
    ProviderError {
        retry_after: Some(Duration::from_secs(seconds)),
        ..ProviderError::new(ProviderErrorKind::Busy, "busy")
    }
}

#[tokio::test(start_paused = true)]
async fn what_fails_before_it_says_anything_is_tried_again() {
    let mut bench = Bench::new().await;
    bench.prompt("go").await;
    let call = bench.call().await;
    call.usage(7, 1);
    call.fail_with(busy(2));
    let began = Instant::now();
    let again = bench.call().await;
    assert_eq!(began.elapsed().as_secs(), 2, "as long as the server asks");
    assert_eq!(again.history(), r#"U: "go""#);
    drop(again); // breaks off without a word
    let call = bench.call().await;
    call.usage(10, 2);
    call.answer("ok");
    let mut lines = bench.rest().await;
    let waits = lines.remove(5);
    assert!(
        waits.starts_with("status streaming (retrying in ")
            && waits.ends_with(" s: the answer of one/m ended before it was whole)"),
        "{waits}"
    );
    assert_eq!(
        lines,
        [
            "status streaming",
            "turn_start",
            r#"user: "go""#,
            "usage 7+1",
            "status streaming (retrying in 2.0 s: busy)",
            "status streaming",
            "delta 0 ok",
            r#"assistant: "ok""#,
            "usage 10+2",
            "turn_end done 17+3",
            "status idle",
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn what_fails_for_good_is_told_once() {
    for kind in [
        ProviderErrorKind::Auth,
        ProviderErrorKind::NotFound,
        ProviderErrorKind::Rejected,
        ProviderErrorKind::Malformed,
    ] {
        let mut bench = Bench::new().await;
        bench.prompt("go").await;
        bench.call().await.fail(kind, "no");
        let lines = bench.rest().await;
        assert_eq!(
            lines[3..],
            ["error PROVIDER_ERROR: no", "turn_end error", "status error"],
            "{kind:?}"
        );
        bench.prompt("again").await;
        let call = bench.call().await;
        assert_eq!(call.history(), r#"U: "go" "again""#);
        assert_eq!(
            bench.until("user").await,
            [
                "status idle",
                "status streaming",
                "turn_start",
                r#"user: "again""#
            ]
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_busy_provider_is_tried_six_times() {
    let mut bench = Bench::new().await;
    bench.prompt("go").await;
    for _ in 0..6 {
        bench.call().await.fail_with(busy(1));
    }
    let lines = bench.rest().await;
    let waits = lines
        .iter()
        .filter(|line| line.contains("retrying"))
        .count();
    let errors: Vec<_> = lines
        .iter()
        .filter(|line| line.starts_with("error"))
        .collect();
    assert_eq!(
        (waits, errors),
        (5, vec![&"error PROVIDER_ERROR: busy".to_owned()])
    );
    assert_eq!(lines[lines.len() - 2..], ["turn_end error", "status error"]);
    bench.settle().await;
    assert!(bench.call_now().is_none());
}

#[tokio::test(start_paused = true)]
async fn an_answer_without_an_end_is_ended() {
    let mut bench = Bench::new().await;
    bench.prompt("go").await;
    let call = bench.call().await;
    let piece = "x".repeat(1024 * 1024);
    call.text(&piece);
    for _ in 0..5 {
        call.more_text(0, &piece);
    }
    let lines = bench.rest().await;
    assert_eq!(lines[lines.len() - 2..], ["turn_end error", "status error"]);
    let errors: Vec<_> = lines
        .iter()
        .filter(|line| line.starts_with("error"))
        .collect();
    assert!(
        errors.len() == 1 && errors[0].contains("is longer than 4194304 bytes"),
        "{errors:?}"
    );
    let kept = bench.seen.all().into_iter().find_map(|event| match event {
        AgentEvent::MessageComplete(done) if done.message.partial => Some(done.message.text()),
        _ => None,
    });
    assert_eq!(kept.map(|text| text.len()), Some(4 * 1024 * 1024));
    bench.prompt("again").await;
    bench.call().await.answer("ok");
}

#[tokio::test(start_paused = true)]
async fn what_has_begun_to_answer_is_not_tried_again() {
    for transient in [true, false] {
        let mut bench = Bench::new().await;
        bench.prompt("go").await;
        let call = bench.call().await;
        call.text("half");
        call.tool("c1", "echo", r#"{"say":"x"}"#);
        call.usage(3, 1);
        if transient {
            call.fail_with(busy(1));
        } else {
            call.fail(ProviderErrorKind::Rejected, "busy");
        }
        let lines = bench.rest().await;
        assert_eq!(
            lines[lines.len() - 5..],
            [
                "error PROVIDER_ERROR: busy. What it had said so far is kept",
                r#"assistant (partial): "half""#,
                "usage 3+1",
                "turn_end error 3+1",
                "status error",
            ]
        );
        let usage = bench.seen.all().into_iter().find_map(|event| match event {
            shard_types::event::AgentEvent::Usage(usage) => Some(usage),
            _ => None,
        });
        let usage = usage.unwrap();
        assert_eq!(
            (usage.cost, usage.model.as_deref()),
            (Some(4.0), Some("one/m"))
        );
        assert_eq!(*bench.ran.lock().unwrap(), [""; 0], "no call of it runs");
        bench.prompt("again").await;
        assert_eq!(
            bench.call().await.history(),
            r#"U: "go" | A: "half" | U: "again""#
        );
    }
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_reached_the_output_limit() {
    let mut bench = Bench::new().await;
    bench.prompt("go").await;
    let call = bench.call().await;
    call.text("a long st");
    call.cut();
    let lines = bench.rest().await;
    assert_eq!(
        lines[lines.len() - 4..],
        [
            r#"assistant: "a long st""#,
            "error PROVIDER_ERROR: the answer was cut at the model's output limit; send a message to go on",
            "turn_end limit",
            "status idle",
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn a_call_that_was_cut_does_not_run_however_whole_it_looks() {
    for args in [r#"{"say":"on"#, r#"{"say":"one"}"#] {
        let mut bench = Bench::new().await;
        bench.prompt("go").await;
        let call = bench.call().await;
        call.tool("c1", "echo", args);
        call.cut();
        let call = bench.call().await;
        assert!(
            call.history()
                .contains("c1!the answer reached the output limit")
        );
        assert_eq!(*bench.ran.lock().unwrap(), [""; 0]);
        call.answer("in pieces then");
        assert_eq!(bench.rest().await.last().unwrap(), "status idle");
    }
}

#[tokio::test(start_paused = true)]
async fn a_refusal_is_told_as_one_and_runs_nothing() {
    let mut bench = Bench::new().await;
    bench.prompt("go").await;
    let call = bench.call().await;
    call.text("I had rather not");
    call.tool("c1", "echo", r#"{"say":"x"}"#);
    call.refuse();
    let lines = bench.rest().await;
    assert_eq!(
        lines[lines.len() - 4..],
        [
            "error PROVIDER_ERROR: one/m refused to go on; say it in other words or pick another model",
            "tool_result c1!not started: the turn ended before this call ran",
            "turn_end error",
            "status error",
        ]
    );
    assert_eq!(*bench.ran.lock().unwrap(), [""; 0]);
    bench.prompt("again").await;
    bench.call().await;
}
