//! What modes do to a conversation, and what they keep of it.

use std::sync::Arc;

use serde_json::{Map, Value, json};
use shard_contracts::{Artifact, Mode, ProviderErrorKind};
use shard_types::{Checkpoint, EntryBody, Message};

use crate::bench::{Bench, Setup};
use crate::tools::FakeMode;

async fn set_mode(bench: &mut Bench, mode: &str) {
    let wish = json!({"type": "set_mode", "mode": mode});
    bench.request(wish).await.unwrap();
    bench.until("mode_changed").await;
}

/// One prompt and its answer; what the model was told as the system prompt.
async fn turn(bench: &mut Bench, answer: &str) -> String {
    bench.prompt("go").await;
    let call = bench.call().await;
    let system = call.request.system.clone();
    call.answer(answer);
    bench.until("status idle").await;
    system
}

/// What modes have kept, row by row.
fn kept(bench: &Bench) -> Vec<Value> {
    let rows = bench.rows().into_iter();
    rows.filter_map(|row| match row.body {
        EntryBody::Checkpoint(Checkpoint::Other(details)) => Some(Value::Object(details)),
        _ => None,
    })
    .collect()
}

#[tokio::test(start_paused = true)]
async fn a_plan_is_kept_and_shown_where_it_is_carried_out() {
    let mut bench = Bench::new().await;
    let bare = turn(&mut bench, "hello").await;
    assert!(!bare.contains("## Active Plan"), "{bare}");
    set_mode(&mut bench, "plan").await;
    let planning = turn(&mut bench, "I see.\n\n## Implementation Plan\n\n1. first").await;
    assert!(planning.contains("`## Implementation Plan`"), "{planning}");
    let message = bench.sync().await.live_window.messages.pop().unwrap();
    let want = json!({"artifactKind": "plan", "text": "1. first", "messageId": message.id});
    assert_eq!(kept(&bench), [want]);
    assert_eq!(
        turn(&mut bench, "Any questions?").await,
        planning,
        "a turn without a plan leaves the one that is there"
    );

    set_mode(&mut bench, "build").await;
    let working = turn(
        &mut bench,
        "## Implementation Plan\n\n1. of a mode that keeps none",
    )
    .await;
    assert!(working.starts_with(bare.split("Mode:").next().unwrap()));
    assert!(working.contains("## Active Plan"), "{working}");
    assert!(working.ends_with("\n\n1. first\n"), "{working}");

    // After a restart, and after a death.
    let mut bench = bench.reopen().await;
    assert_eq!(turn(&mut bench, "ok").await, working);
    let mut bench = bench.crash();
    assert!(turn(&mut bench, "ok").await.ends_with("\n\n1. first\n"));
    // The latest counts.
    set_mode(&mut bench, "plan").await;
    turn(&mut bench, "## Implementation Plan\n1. second").await;
    set_mode(&mut bench, "review").await;
    let reviewing = turn(&mut bench, "fine").await;
    assert!(!reviewing.contains("1. second"), "{reviewing}");
    set_mode(&mut bench, "build").await;
    let working = turn(&mut bench, "ok").await;
    assert!(working.ends_with("\n\n1. second\n"), "{working}");
    assert!(!working.contains("1. first"), "{working}");
    assert_eq!(kept(&bench).len(), 2);
}

#[tokio::test(start_paused = true)]
async fn only_a_turn_that_ends_well_leaves_a_plan() {
    const PLAN: &str = "## Implementation Plan\n1. half";
    let mut bench = Bench::new().await;
    set_mode(&mut bench, "plan").await;
    bench.prompt("go").await;
    let call = bench.call().await;
    call.text(PLAN);
    bench.until("delta").await;
    bench.abort().await;
    bench.prompt("go").await;
    let call = bench.call().await;
    call.text(PLAN);
    call.cut();
    bench.until("turn_end limit").await;
    bench.prompt("go").await;
    let call = bench.call().await;
    call.text(PLAN);
    call.fail(ProviderErrorKind::Network, "gone");
    bench.until("turn_end error").await;
    // Nor a message that is not the last.
    bench.prompt("go").await;
    let call = bench.call().await;
    call.text(PLAN);
    call.tool("c1", "echo", r#"{"say":"x"}"#);
    call.stop();
    bench.call().await.answer("never mind");
    bench.until("turn_end done").await;
    assert_eq!(kept(&bench), [Value::Null; 0]);
}

#[tokio::test(start_paused = true)]
async fn a_plan_belongs_to_the_mode_that_it_was_written_in() {
    let mut bench = Bench::new().await;
    set_mode(&mut bench, "plan").await;
    bench.prompt("go").await;
    let call = bench.call().await;
    call.text("## Implementation Plan\n1. do");
    bench.until("delta").await;
    // A person who has read enough goes on before the turn is over.
    set_mode(&mut bench, "build").await;
    call.stop();
    bench.until("status idle").await;
    assert_eq!(kept(&bench).len(), 1);
    let working = turn(&mut bench, "ok").await;
    assert!(working.ends_with("1. do\n"), "{working}");
}

/// Keeps something under a kind that sessions use themselves.
struct Forger;

impl Mode for Forger {
    fn name(&self) -> &str {
        "forger"
    }

    fn description(&self) -> &str {
        "a mode of the tests"
    }

    fn on_turn_end(&self, _: &Message) -> Option<Artifact> {
        Some(Artifact {
            kind: "prompts_cleared".to_owned(),
            details: Map::new(),
        })
    }
}

#[tokio::test(start_paused = true)]
async fn a_mode_cannot_write_the_rows_of_a_session() {
    let mut bench = Bench::with(Setup {
        modes: vec![Arc::new(Forger), Arc::new(FakeMode("other"))],
        ..Setup::default()
    })
    .await;
    turn(&mut bench, "ok").await;
    assert_eq!(kept(&bench), [Value::Null; 0], "and the file is whole");
    let mut bench = bench.reopen().await;
    turn(&mut bench, "ok").await;
}

#[tokio::test(start_paused = true)]
async fn each_mode_says_which_tools_there_are() {
    let mut bench = Bench::new().await;
    let listed = bench.request(json!({"type": "list_modes"})).await.unwrap();
    let modes = listed["modes"].as_array().unwrap();
    let names: Vec<_> = modes.iter().map(|mode| mode["name"].clone()).collect();
    assert_eq!(names, ["build", "plan", "review"]);
    assert_eq!(listed["active"], "build");
    for mode in ["plan", "review"] {
        set_mode(&mut bench, mode).await;
        bench.prompt("go").await;
        let call = bench.call().await;
        assert_eq!(call.tools(), ["echo", "look"], "{mode}");
        call.tool("c1", "fail", "{}");
        call.stop();
        let call = bench.call().await;
        let refusal =
            format!(r#"!the mode {mode} does not have the tool "fail"; use one of: echo, look"#);
        assert!(call.history().ends_with(&refusal), "{}", call.history());
        call.answer("ok");
        bench.until("status idle").await;
    }
    assert_eq!(*bench.ran.lock().unwrap(), [""; 0], "nothing ran");
}
