//! Tool calls that are wrong, and tools that are.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use shard_contracts::{BoxFuture, CodeError, CodeIntelligence, Symbol};
use shard_types::event::AgentEvent;

use crate::bench::{Bench, Setup};

/// Makes one call, and gives its result as a line.
async fn result_of(bench: &mut Bench, tool: &str, args: &str) -> String {
    bench.prompt("go").await;
    let call = bench.call().await;
    call.tool("c1", tool, args);
    call.stop();
    let result = bench.until("tool_result").await.pop().unwrap();
    // Whatever the call was, what is stored is valid and the turn goes on.
    bench.call().await.answer("ok");
    assert_eq!(bench.rest().await.last().unwrap(), "status idle");
    result
}

#[tokio::test(start_paused = true)]
async fn what_cannot_run_is_told_to_the_model() {
    for (tool, args, said) in [
        (
            "echo",
            r#"{"say":"#,
            "the arguments are not valid JSON (line 1, column 7), so nothing was run; send them again",
        ),
        (
            "echo",
            "[1]",
            "the arguments are no JSON object, so nothing was run; send an object",
        ),
        (
            "echo",
            "{}",
            r#"the arguments of echo do not fit, so nothing was run: "say" is a required property"#,
        ),
        (
            "echo",
            r#"{"say":7}"#,
            r#"the arguments of echo do not fit, so nothing was run: say: value is not of type "string""#,
        ),
        (
            "ecco",
            "{}",
            r#"there is no tool "ecco"; use one of: echo, hold, stubborn, fail, panic, panic_early, ask, chatty, look, change"#,
        ),
    ] {
        let mut bench = Bench::new().await;
        let result = result_of(&mut bench, tool, args).await;
        assert_eq!(result, format!("tool_result c1!{said}"));
        assert_eq!(*bench.ran.lock().unwrap(), [""; 0]);
        let started = bench
            .seen
            .all()
            .iter()
            .any(|event| matches!(event, AgentEvent::ToolCall(_)));
        assert!(!started, "a call that never starts has no `tool_call`");
    }
}

#[tokio::test(start_paused = true)]
async fn a_rule_that_denies() {
    let mut bench = Bench::new().await;
    bench.gate.deny.lock().unwrap().push("echo");
    let result = result_of(&mut bench, "echo", r#"{"say":"x"}"#).await;
    assert_eq!(result, "tool_result c1!a rule denies it");
}

#[tokio::test(start_paused = true)]
async fn a_tool_that_breaks_down_costs_its_call() {
    let mut bench = Bench::new().await;
    let result = result_of(&mut bench, "panic", "{}").await;
    assert_eq!(
        result,
        "tool_result c1!the tool panic broke down; this is a bug in it"
    );
}

#[tokio::test(start_paused = true)]
async fn a_turn_that_breaks_down_says_so_and_the_next_one_works() {
    let mut bench = Bench::new().await;
    bench.prompt("go").await;
    let call = bench.call().await;
    call.tool("c1", "panic_early", "{}");
    call.stop();
    let lines = bench.rest().await;
    assert_eq!(
        lines[lines.len() - 4..],
        [
            "error INTERNAL_ERROR: the turn broke down, which is a bug in Shard; what it had done is kept",
            "tool_result c1!not started: the turn ended before this call ran",
            "turn_end error",
            "status error",
        ]
    );
    bench.prompt("again").await;
    bench.call().await.answer("ok");
    bench.until("turn_end done").await;
}

#[tokio::test(start_paused = true)]
async fn every_call_has_an_id_of_its_own() {
    let mut bench = Bench::new().await;
    for (round, ids) in [["a", "a", ""], ["a", "", "b"]].into_iter().enumerate() {
        bench.prompt("go").await;
        let call = bench.call().await;
        for id in ids {
            call.tool(id, "echo", r#"{"say":"x"}"#);
        }
        call.stop();
        bench.call().await.answer("ok");
        let events = bench.events_until("turn_end").await;
        let shown = |pick: fn(&AgentEvent) -> Option<String>| -> Vec<String> {
            events.iter().filter_map(pick).collect()
        };
        let opened = shown(|event| match event {
            AgentEvent::MessageDelta(delta) => delta.tool_call_id.clone(),
            _ => None,
        });
        let answered = shown(|event| match event {
            AgentEvent::ToolResult(result) => Some(result.tool_call_id.clone()),
            _ => None,
        });
        assert_eq!(opened, answered, "clients and results agree");
        let mut unique = opened.clone();
        unique.sort();
        unique.dedup();
        assert_eq!(unique.len(), 3, "{opened:?}");
        assert!(!opened.contains(&String::new()));
        assert_eq!(opened.contains(&"a".to_owned()), round == 0, "{opened:?}");
        bench.until("status idle").await;
    }
    assert_eq!(bench.ran.lock().unwrap().len(), 6);
}

#[tokio::test(start_paused = true)]
async fn the_same_failure_five_times_in_a_row_ends_the_turn() {
    let mut bench = Bench::new().await;
    bench.prompt("go").await;
    for round in 0..5 {
        let call = bench.call().await;
        call.tool(&format!("c{round}"), "fail", r#"{"say":"x"}"#);
        if round == 4 {
            call.tool("c5", "echo", r#"{"say":"x"}"#);
        }
        call.stop();
    }
    let lines = bench.rest().await;
    assert_eq!(
        lines[lines.len() - 4..],
        [
            "error TOOL_ERROR: the turn was stopped: the same call of `fail` failed 5 times in a row; say how to go on",
            "tool_result c5!not started: the turn ended before this call ran",
            "turn_end limit",
            "status idle",
        ]
    );
    assert!(bench.call_now().is_none());
}

#[tokio::test(start_paused = true)]
async fn nothing_is_shown_of_a_call_after_its_result() {
    let mut bench = Bench::new().await;
    bench.prompt("go").await;
    let call = bench.call().await;
    call.tool("c1", "chatty", "{}");
    call.stop();
    let held = bench.held().await;
    let call = bench.call().await;
    held.release.send("").unwrap();
    bench.settle().await;
    call.answer("ok");
    bench.settle().await;
    let lines = bench.rest().await;
    assert_eq!(
        lines[6..9],
        [
            "tool_call c1 chatty {}",
            "progress c1 while",
            "tool_result c1=ended"
        ]
    );
    assert!(
        !lines.contains(&"progress c1 after".to_owned()),
        "{lines:?}"
    );
}

/// Remembers which files it was told of.
#[derive(Default)]
struct Changes(Mutex<Vec<PathBuf>>);

impl CodeIntelligence for Changes {
    fn outline<'a>(&'a self, _: &'a Path) -> BoxFuture<'a, Result<Vec<Symbol>, CodeError>> {
        Box::pin(std::future::ready(Ok(Vec::new())))
    }

    fn symbol<'a>(
        &'a self,
        _: &'a str,
        _: Option<&'a Path>,
    ) -> BoxFuture<'a, Result<Vec<Symbol>, CodeError>> {
        Box::pin(std::future::ready(Ok(Vec::new())))
    }

    fn signatures(&self, _: &[PathBuf]) -> Vec<String> {
        Vec::new()
    }

    fn invalidate(&self, path: &Path) {
        self.0.lock().unwrap().push(path.to_owned());
    }
}

#[tokio::test(start_paused = true)]
async fn what_a_call_changed_is_told_to_whoever_understands_code() {
    let changes = Arc::new(Changes::default());
    let setup = Setup {
        code: Some(Arc::clone(&changes) as _),
        ..Setup::default()
    };
    let mut bench = Bench::with(setup).await;
    let result = result_of(&mut bench, "change", r#"{"say":"/w/a.rs"}"#).await;
    assert_eq!(result, "tool_result c1=changed");
    assert_eq!(*changes.0.lock().unwrap(), [Path::new("/w/a.rs")]);
}
