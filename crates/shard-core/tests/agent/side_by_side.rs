//! Calls that only read run side by side; all others keep their place.

use serde_json::json;

use crate::bench::Bench;

/// A message with these calls, named c1, c2, …
async fn calling(bench: &mut Bench, tools: &[&str]) {
    bench.prompt("go").await;
    let call = bench.call().await;
    for (at, tool) in tools.iter().enumerate() {
        call.tool(&format!("c{}", at + 1), tool, r#"{"say":"said"}"#);
    }
    call.stop();
}

/// What happened to calls since the last look.
fn of_calls(lines: &[String]) -> Vec<&str> {
    let starts = lines.iter().filter(|line| line.starts_with("tool_"));
    starts
        .map(|line| line.split([' ', '=', '!']).nth(1).unwrap_or_default())
        .collect()
}

#[tokio::test(start_paused = true)]
async fn looks_run_together_and_their_results_keep_the_order() {
    let mut bench = Bench::new().await;
    calling(&mut bench, &["look", "look", "echo", "look"]).await;
    let first = bench.held().await;
    let second = bench.held().await;
    let third = bench.held().await;
    bench.settle().await;
    let started = bench.fresh();
    assert_eq!(of_calls(&started), ["c1", "c2", "c3", "c4"], "{started:?}");
    // The last is done first, and waits with its result.
    third.release.send("four").unwrap();
    second.release.send("two").unwrap();
    bench.settle().await;
    assert_eq!(bench.fresh(), [""; 0]);
    first.release.send("one").unwrap();
    let call = bench.call().await;
    let results: Vec<_> = bench
        .fresh()
        .into_iter()
        .filter(|line| line.starts_with("tool_result"))
        .collect();
    assert_eq!(
        results,
        [
            "tool_result c1=one",
            "tool_result c2=two",
            "tool_result c3=said",
            "tool_result c4=four"
        ]
    );
    call.answer("ok");
    assert_eq!(bench.rest().await.last().unwrap(), "status idle");
}

#[tokio::test(start_paused = true)]
async fn what_changes_something_runs_by_itself_and_in_its_place() {
    let mut bench = Bench::new().await;
    calling(&mut bench, &["look", "hold", "look"]).await;
    let look = bench.held().await;
    bench.settle().await;
    assert!(
        bench.held_now().is_none(),
        "the change waits for the look before it"
    );
    look.release.send("before").unwrap();
    let change = bench.held().await;
    bench.settle().await;
    assert!(
        bench.held_now().is_none(),
        "the look waits for the change before it"
    );
    change.release.send("changed").unwrap();
    bench.held().await.release.send("after").unwrap();
    bench.call().await.answer("ok");
    let lines = bench.rest().await;
    assert_eq!(
        of_calls(&lines),
        ["c1", "c1", "c2", "c2", "c3", "c3"],
        "{lines:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_question_holds_up_nothing_that_was_allowed_before_it() {
    let mut bench = Bench::new().await;
    bench.gate.ask.lock().unwrap().push(("echo", false));
    calling(&mut bench, &["look", "echo"]).await;
    bench.held().await.release.send("seen").unwrap();
    let lines = bench.until("permission_request").await;
    assert_eq!(of_calls(&lines), ["c1", "c1"], "{lines:?}");
    let answer = json!({
        "type": "permission_response", "request_id": bench.asked().request_id, "decision": "deny",
    });
    bench.request(answer).await.unwrap();
    bench.call().await.answer("ok");
    let lines = bench.rest().await;
    assert_eq!(
        of_calls(&lines),
        ["c2"],
        "a denied call has its result only: {lines:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn an_abort_ends_all_of_them_and_each_has_its_result() {
    let mut bench = Bench::new().await;
    calling(&mut bench, &["look", "look", "hold"]).await;
    let _one = bench.held().await;
    let _two = bench.held().await;
    bench.abort().await;
    let lines = bench.fresh();
    let results: Vec<_> = lines
        .iter()
        .filter(|line| line.starts_with("tool_result"))
        .collect();
    assert_eq!(results.len(), 3, "{lines:?}");
    assert!(
        results[0].contains("c1") && results[1].contains("c2"),
        "{lines:?}"
    );
    assert!(results[2].contains("not started"), "{lines:?}");
    bench.prompt("again").await;
    bench.call().await.answer("fine"); // which checks the history
    assert_eq!(bench.rest().await.last().unwrap(), "status idle");
}

#[tokio::test(start_paused = true)]
async fn an_abort_is_no_failure_of_the_calls_that_it_ends() {
    let mut bench = Bench::new().await;
    calling(&mut bench, &["look"; 6]).await;
    let mut running = Vec::new();
    for _ in 0..6 {
        running.push(bench.held().await);
    }
    bench.abort().await;
    let lines = bench.fresh();
    let end = lines.iter().find(|line| line.starts_with("turn_end"));
    assert_eq!(
        end.map(String::as_str),
        Some("turn_end aborted"),
        "{lines:?}"
    );
    assert!(
        !lines.iter().any(|line| line.contains("in a row")),
        "{lines:?}"
    );
}
