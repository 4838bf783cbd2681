//! A disk that takes no more, at each point of a turn: what could not be written is not shown, and
//! the failure is, once.
//!
//! A bound on the size of files stands for the full disk. It holds for a whole process, so each of
//! these tests runs in one of its own.

use std::process::Command;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use serde_json::json;
use shard_types::ErrorCode;

use crate::bench::Bench;

#[test]
fn a_full_disk_at_each_point_of_a_turn() {
    for name in [
        "a_prompt_that_is_not_accepted",
        "a_prompt_that_is_accepted_and_not_delivered",
        "an_answer",
        "a_call_that_starts",
        "a_result",
        "an_abort_with_prompts_that_wait",
        "a_switch",
    ] {
        // Without the trap the kernel ends a process that goes past the bound.
        let output = Command::new("sh")
            .args(["-c", r#"trap '' XFSZ; exec "$0" "$@""#])
            .arg(std::env::current_exe().unwrap())
            .args(["--exact", "--ignored", "--nocapture"])
            .arg(format!("disk::{name}"))
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stdout);
        let failed = String::from_utf8_lossy(&output.stderr);
        assert!(
            output.status.success() && said.contains("1 passed"),
            "{name}: {said}{failed}"
        );
    }
}

/// Lets the session's file grow by so many bytes and no more; without a number, as it likes.
fn room(bench: &Bench, bytes: Option<u64>) {
    let length = std::fs::metadata(bench.path()).unwrap().len();
    let limit = Rlimit {
        current: bytes.map(|bytes| length + bytes),
        maximum: getrlimit(Resource::Fsize).maximum,
    };
    setrlimit(Resource::Fsize, limit).unwrap();
}

fn is_error(line: &str) -> bool {
    line.starts_with("error INTERNAL_ERROR: cannot write to the session")
}

/// The lines of a turn, without its one error.
async fn rest_after_error(bench: &mut Bench) -> Vec<String> {
    let mut lines = bench.rest().await;
    bench.settle().await;
    assert_eq!(bench.fresh(), [""; 0], "no turn starts over it");
    let errors: Vec<_> = lines
        .extract_if(.., |line| line.starts_with("error"))
        .collect();
    assert!(matches!(&errors[..], [one] if is_error(one)), "{errors:?}");
    assert_eq!(lines[lines.len() - 2..], ["turn_end error", "status error"]);
    lines.truncate(lines.len() - 2);
    lines
}

/// With room again, the next prompt reads a history that is true.
async fn goes_on(bench: &mut Bench, history: &str) {
    room(bench, None);
    bench.prompt("again").await;
    let call = bench.call().await;
    assert_eq!(call.history(), history);
    call.answer("ok");
    assert_eq!(bench.rest().await.last().unwrap(), "status idle");
    bench.rows();
}

#[tokio::test(start_paused = true)]
#[ignore = "runs in a process of its own"]
async fn a_prompt_that_is_not_accepted() {
    let mut bench = Bench::new().await;
    room(&bench, Some(20));
    let refused = bench
        .request(json!({"type": "prompt", "message": "go"}))
        .await;
    assert_eq!(refused.unwrap_err().code, ErrorCode::InternalError);
    bench.settle().await;
    assert_eq!(bench.fresh(), [""; 0]);
    goes_on(&mut bench, r#"U: "again""#).await;
}

#[tokio::test(start_paused = true)]
#[ignore = "runs in a process of its own"]
async fn a_prompt_that_is_accepted_and_not_delivered() {
    let mut bench = Bench::new().await;
    room(&bench, Some(6000));
    let long = "x".repeat(4000);
    let id = bench.prompt(&long).await;
    let lines = rest_after_error(&mut bench).await;
    assert_eq!(
        lines,
        [
            "status streaming".to_owned(),
            "turn_start".to_owned(),
            format!("queue [prompt {long}]"),
        ]
    );
    assert!(bench.call_now().is_none());
    room(&bench, None);
    bench.prompt("again").await;
    let call = bench.call().await;
    assert_eq!(call.history(), format!("U: {long:?}"));
    call.answer("ok");
    bench.until("turn_end done").await;
    let call = bench.call().await;
    assert!(call.history().ends_with(r#"U: "again""#));
    call.answer("ok");
    assert_eq!(bench.until("turn_end done").await[4], "queue []");
    let (delivered, _) = bench.delivered_and_cleared();
    assert_eq!(delivered.iter().filter(|one| **one == id).count(), 1);
}

#[tokio::test(start_paused = true)]
#[ignore = "runs in a process of its own"]
async fn an_answer() {
    let mut bench = Bench::new().await;
    bench.prompt("go").await;
    let call = bench.call().await;
    bench.follow_up("later").await;
    bench.until("queue").await;
    room(&bench, Some(20));
    call.tool("c1", "echo", r#"{"say":"x"}"#);
    call.usage(1, 1);
    call.stop();
    let lines = rest_after_error(&mut bench).await;
    assert_eq!(lines, ["delta 0 c1 echo", r#"delta 0 {"say":"x"}"#]);
    assert_eq!(*bench.ran.lock().unwrap(), [""; 0]);
    room(&bench, None);
    let waiting = json!([{"kind": "follow_up", "message": "later"}]);
    assert_eq!(bench.abort().await, waiting);
    goes_on(&mut bench, r#"U: "go" "again""#).await;
}

#[tokio::test(start_paused = true)]
#[ignore = "runs in a process of its own"]
async fn a_call_that_starts() {
    let mut bench = Bench::new().await;
    bench.gate.ask.lock().unwrap().push(("echo", false));
    bench.prompt("go").await;
    let call = bench.call().await;
    call.tool("c1", "echo", r#"{"say":"x"}"#);
    call.stop();
    bench.until("status waiting_for_permission").await;
    room(&bench, Some(20));
    let id = bench.asked().request_id;
    let allow = json!({"type": "permission_response", "request_id": id, "decision": "allow"});
    bench.request(allow).await.unwrap();
    let lines = rest_after_error(&mut bench).await;
    assert_eq!(lines, ["permission_resolved allow", "status streaming"]);
    assert_eq!(*bench.ran.lock().unwrap(), [""; 0], "it never ran");
    let unknown = "no result of this call was recorded; it may or may not have had an effect";
    goes_on(
        &mut bench,
        &format!(r#"U: "go" | A: c1 | U: c1!{unknown} "again""#),
    )
    .await;
}

#[tokio::test(start_paused = true)]
#[ignore = "runs in a process of its own"]
async fn a_result() {
    let mut bench = Bench::new().await;
    bench.prompt("go").await;
    let call = bench.call().await;
    call.tool("c1", "hold", "{}");
    call.stop();
    let held = bench.held().await;
    bench.until("tool_call").await;
    room(&bench, Some(20));
    held.release.send("done").unwrap();
    assert_eq!(rest_after_error(&mut bench).await, [""; 0]);
    let unknown = "no result of this call was recorded; it may or may not have had an effect";
    goes_on(
        &mut bench,
        &format!(r#"U: "go" | A: c1 | U: c1!{unknown} "again""#),
    )
    .await;
}

#[tokio::test(start_paused = true)]
#[ignore = "runs in a process of its own"]
async fn an_abort_with_prompts_that_wait() {
    let mut bench = Bench::new().await;
    bench.prompt("go").await;
    let call = bench.call().await;
    bench.follow_up("later").await;
    bench.until("queue").await;
    room(&bench, Some(20));
    let refused = bench.request(json!({"type": "abort"})).await;
    assert_eq!(refused.unwrap_err().code, ErrorCode::InternalError);
    assert_eq!(rest_after_error(&mut bench).await, [""; 0]);
    call.dropped().await;
    room(&bench, None);
    assert_eq!(
        bench.abort().await,
        json!([{"kind": "follow_up", "message": "later"}])
    );
    goes_on(&mut bench, r#"U: "go" "again""#).await;
}

#[tokio::test(start_paused = true)]
#[ignore = "runs in a process of its own"]
async fn a_switch() {
    let mut bench = Bench::new().await;
    room(&bench, Some(20));
    for message in [
        json!({"type": "set_mode", "mode": "plan"}),
        json!({"type": "set_model", "model": "two/m"}),
    ] {
        let refused = bench.request(message).await;
        assert_eq!(refused.unwrap_err().code, ErrorCode::InternalError);
    }
    assert_eq!(bench.fresh(), [""; 0]);
    assert_eq!(bench.sync().await.mode, "build");
    room(&bench, None);
    bench.prompt("go").await;
    assert_eq!(bench.call().await.provider, "one");
}
