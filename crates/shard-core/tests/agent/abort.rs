//! An abort at every point of a turn. After each, the history is true and the next prompt works.

use std::time::Duration;

use serde_json::json;
use shard_contracts::{ProviderError, ProviderErrorKind};
use tokio::time::Instant;

use crate::bench::Bench;

/// Aborts; gives the lines of the rest of the turn, and the history of a next prompt. The answer
/// must come after `turn_end`, within a second.
async fn abort(bench: &mut Bench) -> (Vec<String>, String) {
    let before = Instant::now();
    bench.abort().await;
    assert!(
        before.elapsed() < Duration::from_secs(1),
        "{:?}",
        before.elapsed()
    );
    let mut lines = bench.fresh();
    assert!(
        lines.iter().any(|line| line.starts_with("turn_end")),
        "the answer comes after `turn_end`: {lines:?}"
    );
    if lines
        .last()
        .is_some_and(|last| last.starts_with("turn_end"))
    {
        lines.extend(bench.until("status").await);
    }
    bench.prompt("next").await;
    let call = bench.call().await;
    let history = call.history();
    call.answer("fine");
    assert_eq!(bench.rest().await.last().unwrap(), "status idle");
    assert_eq!(bench.open_requests(), [""; 0], "no dialog stays open");
    (lines, history)
}

#[tokio::test(start_paused = true)]
async fn while_the_provider_is_silent() {
    let mut bench = Bench::new().await;
    bench.prompt("go").await;
    let call = bench.call().await;
    bench.fresh();
    let (lines, history) = abort(&mut bench).await;
    assert_eq!(lines, ["turn_end aborted", "status idle"]);
    assert_eq!(history, r#"U: "go" "next""#);
    call.dropped().await;
}

#[tokio::test(start_paused = true)]
async fn while_the_answer_streams() {
    let mut bench = Bench::new().await;
    bench.prompt("go").await;
    let call = bench.call().await;
    call.thought("hm");
    call.text("half an ans");
    call.tool("c1", "echo", r#"{"say":"#);
    call.usage(5, 6);
    bench.until("delta 2 {").await;
    let (lines, history) = abort(&mut bench).await;
    assert_eq!(
        lines,
        [
            r#"assistant (partial): (hm) "half an ans""#,
            "usage 5+6",
            "turn_end aborted 5+6",
            "status idle"
        ]
    );
    assert_eq!(history, r#"U: "go" | A: "half an ans" | U: "next""#);
    let reopened = bench.reopen().await.until("sync").await;
    assert!(
        reopened[1].contains(r#"A: (hm) "half an ans""#),
        "{reopened:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn after_the_answer_came_and_before_the_session_had_read_it() {
    // The pieces wait in the turn's channel while the abort is taken first, or not: either way what
    // is kept is whole or says that it is not.
    for text in ["a", "b", "c", "d", "e", "f", "g", "h"] {
        let mut bench = Bench::new().await;
        bench.prompt("go").await;
        let call = bench.call().await;
        bench.fresh();
        for piece in 0..20 {
            call.more_text(0, &format!("{text}{piece} "));
        }
        call.stop();
        let whole: String = (0..20).map(|piece| format!("{text}{piece} ")).collect();
        bench.abort().await;
        let lines = bench.fresh();
        for line in lines.iter().filter(|line| line.starts_with("assistant:")) {
            assert_eq!(*line, format!("assistant: {whole:?}"));
        }
    }
}

#[tokio::test(start_paused = true)]
async fn while_a_tool_runs_that_stops_when_told() {
    let mut bench = Bench::new().await;
    bench.prompt("go").await;
    let call = bench.call().await;
    call.tool("c1", "echo", r#"{"say":"one"}"#);
    call.tool("c2", "hold", "{}");
    call.tool("c3", "echo", r#"{"say":"three"}"#);
    call.stop();
    bench.held().await;
    bench.until("tool_call c2").await;
    let (lines, history) = abort(&mut bench).await;
    assert_eq!(
        lines,
        [
            "tool_result c2!the test let go",
            "tool_result c3!not started: the turn was aborted before this call ran",
            "turn_end aborted",
            "status idle",
        ]
    );
    assert_eq!(
        history,
        r#"U: "go" | A: c1 c2 c3 | U: c1=one c2!the test let go c3!not started: the turn was aborted before this call ran "next""#
    );
    assert_eq!(*bench.ran.lock().unwrap(), ["c1", "c2"]);
}

#[tokio::test(start_paused = true)]
async fn while_a_tool_runs_that_hears_nothing() {
    let mut bench = Bench::new().await;
    bench.prompt("go").await;
    let call = bench.call().await;
    call.tool("c1", "stubborn", "{}");
    call.stop();
    let _held = bench.held().await;
    bench.until("tool_call c1").await;
    let (lines, _) = abort(&mut bench).await;
    assert_eq!(
        lines,
        [
            "tool_result c1!interrupted: the turn was aborted while this call ran; it may have had part of its effect",
            "turn_end aborted",
            "status idle",
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn while_a_permission_is_asked() {
    let mut bench = Bench::new().await;
    bench.gate.ask.lock().unwrap().push(("echo", false));
    bench.prompt("go").await;
    let call = bench.call().await;
    call.tool("c1", "echo", r#"{"say":"one"}"#);
    call.stop();
    bench.until("status waiting_for_permission").await;
    let asked = bench.asked().request_id;
    bench.gate.ask.lock().unwrap().clear();
    let (lines, history) = abort(&mut bench).await;
    assert_eq!(
        lines,
        [
            "permission_resolved deny aborted",
            "status streaming",
            "tool_result c1!not started: the turn was aborted before this call was permitted",
            "turn_end aborted",
            "status idle",
        ]
    );
    assert!(history.contains("c1!not started"), "{history}");
    assert_eq!(*bench.ran.lock().unwrap(), [""; 0]);
    let late = json!({"type": "permission_response", "request_id": asked, "decision": "allow"});
    assert_eq!(bench.request(late).await.unwrap(), json!({"late": true}));
    bench.settle().await;
    assert_eq!(bench.fresh(), [""; 0], "a late answer changes nothing");
}

#[tokio::test(start_paused = true)]
async fn while_a_dialog_is_open() {
    let mut bench = Bench::new().await;
    bench.prompt("go").await;
    let call = bench.call().await;
    call.tool("c1", "ask", "{}");
    call.stop();
    bench.until("status waiting_for_ui").await;
    let (lines, _) = abort(&mut bench).await;
    assert_eq!(
        lines,
        [
            "ui_resolved null aborted",
            "status streaming",
            "tool_result c1!no answer",
            "turn_end aborted",
            "status idle",
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn in_the_moment_in_which_a_permission_was_given() {
    for _ in 0..8 {
        let mut bench = Bench::new().await;
        bench.gate.ask.lock().unwrap().push(("echo", false));
        bench.prompt("go").await;
        let call = bench.call().await;
        call.tool("c1", "echo", r#"{"say":"one"}"#);
        call.stop();
        bench.until("status waiting_for_permission").await;
        let allow = json!({
            "type": "permission_response",
            "request_id": bench.asked().request_id,
            "decision": "allow",
        });
        // Both are in the inbox before the session looks.
        let (answered, cleared) = tokio::join!(bench.request(allow), bench.abort());
        assert_eq!((answered.unwrap(), cleared), (json!({}), json!([])));
        let lines = bench.fresh();
        assert!(
            lines.contains(
                &"tool_result c1!not started: the turn was aborted before this call ran".to_owned()
            ),
            "{lines:?}"
        );
        assert_eq!(*bench.ran.lock().unwrap(), [""; 0], "it never ran");
    }
}

#[tokio::test(start_paused = true)]
async fn while_a_retry_waits() {
    let mut bench = Bench::new().await;
    bench.prompt("go").await;
    bench.call().await.fail_with(ProviderError {
        retry_after: Some(Duration::from_secs(300)),
        ..ProviderError::new(ProviderErrorKind::Busy, "busy")
    });
    let waits = bench.until("status streaming (").await;
    assert_eq!(
        waits.last().unwrap(),
        "status streaming (retrying in 300.0 s: busy)"
    );
    let (lines, history) = abort(&mut bench).await;
    assert_eq!(
        lines,
        ["status streaming", "turn_end aborted", "status idle"],
        "nothing is retried any more"
    );
    assert_eq!(history, r#"U: "go" "next""#);
}

#[tokio::test(start_paused = true)]
async fn between_turns() {
    let mut bench = Bench::new().await;
    assert_eq!(bench.abort().await, json!([]));
    assert_eq!(bench.fresh(), [""; 0]);
    bench.prompt("go").await;
    bench.call().await.fail(ProviderErrorKind::Auth, "no key");
    bench.until("status error").await;
    assert_eq!(bench.abort().await, json!([]));
    assert_eq!(bench.fresh(), ["status idle"]);
}

#[tokio::test(start_paused = true)]
async fn twice() {
    let mut bench = Bench::new().await;
    bench.prompt("go").await;
    let call = bench.call().await;
    call.tool("c1", "stubborn", "{}");
    call.stop();
    let _held = bench.held().await;
    bench.fresh();
    let late = async {
        bench.settle().await;
        bench.steer("too late").await;
        bench.abort().await
    };
    let (first, second) = tokio::join!(bench.abort(), late);
    assert_eq!(first, json!([]));
    assert_eq!(second, json!([{"kind": "steer", "message": "too late"}]));
    let lines = bench.rest().await;
    assert_eq!(
        lines
            .iter()
            .filter(|line| line.starts_with("turn_"))
            .count(),
        1
    );
}

#[tokio::test(start_paused = true)]
async fn a_steer_during_the_winding_up_starts_the_next_turn() {
    let mut bench = Bench::new().await;
    bench.prompt("go").await;
    let call = bench.call().await;
    call.tool("c1", "stubborn", "{}");
    call.stop();
    let _held = bench.held().await;
    let steer = async {
        bench.settle().await;
        bench.steer("instead").await
    };
    tokio::join!(bench.abort(), steer);
    let call = bench.call().await;
    assert!(
        call.history().ends_with(r#"its effect "instead""#),
        "{}",
        call.history()
    );
    call.answer("ok");
    bench.until("turn_end done").await;
}

#[tokio::test(start_paused = true)]
async fn a_crash_in_a_batch_of_calls() {
    let mut bench = Bench::new().await;
    bench.prompt("go").await;
    let call = bench.call().await;
    for (id, name) in [("c1", "echo"), ("c2", "hold"), ("c3", "echo")] {
        call.tool(id, name, r#"{"say":"x"}"#);
    }
    call.stop();
    let _held = bench.held().await;
    let mut bench = bench.crash();
    let results = "c1=x c2!interrupted: the agent ended while this call ran; it may have had part of its effect c3!not started: the agent ended before this call ran";
    assert_eq!(
        bench.until("sync").await,
        [
            "hello".to_owned(),
            format!(
                r#"sync idle build [U: "go" | A: c1 c2 c3 | U: c1=x | U: {} | U: {}] pending [] queue []"#,
                &results[5..results.find(" c3").unwrap()],
                &results[results.find("c3").unwrap()..],
            ),
        ]
    );
    bench.settle().await;
    assert_eq!(bench.fresh(), [""; 0], "the sync says it all");
    bench.prompt("on").await;
    assert_eq!(
        bench.call().await.history(),
        format!(r#"U: "go" | A: c1 c2 c3 | U: {results} "on""#)
    );
}
