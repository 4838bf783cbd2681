//! Commands, pieces of answers and tools in any order: whatever comes, the agent gets idle again,
//! every request that a provider gets is valid, and each accepted prompt is delivered once or cleared.

use std::collections::HashMap;
use std::time::Duration;

use proptest::prelude::*;
use serde_json::json;
use shard_contracts::ProviderErrorKind;
use shard_types::event::AgentEvent;
use shard_types::{AgentStatus, EntryId};

use crate::bench::{Bench, Setup};
use crate::provider::Call;
use crate::tools::Held;

#[derive(Debug, Clone, Copy)]
enum Step {
    Prompt,
    Steer,
    FollowUp,
    Abort,
    Answer(&'static str),
    Text,
    Tool(&'static str),
    Stop,
    Cut,
    BreakOff,
    Busy,
    Reject,
    Release,
    Settle,
    Wait(u64),
    Sync,
}

fn step() -> impl Strategy<Value = Step> {
    let tools = prop::sample::select(vec![
        "echo", "hold", "look", "stubborn", "fail", "panic", "ask", "chatty", "none",
    ]);
    prop_oneof![
        4 => Just(Step::Prompt),
        2 => Just(Step::Steer),
        2 => Just(Step::FollowUp),
        2 => Just(Step::Abort),
        3 => prop::sample::select(vec!["once", "always", "no", "nonsense"]).prop_map(Step::Answer),
        3 => Just(Step::Text),
        6 => tools.prop_map(Step::Tool),
        5 => Just(Step::Stop),
        1 => Just(Step::Cut),
        1 => Just(Step::BreakOff),
        1 => Just(Step::Busy),
        1 => Just(Step::Reject),
        3 => Just(Step::Release),
        4 => Just(Step::Settle),
        2 => (1u64..3000).prop_map(Step::Wait),
        1 => Just(Step::Sync),
    ]
}

struct Driver {
    bench: Bench,
    call: Option<Call>,
    held: Vec<Held>,
    tools: u32,
    accepted: Vec<EntryId>,
}

impl Driver {
    fn look(&mut self) {
        while let Some(call) = self.bench.call_now() {
            self.call = Some(call);
        }
        while let Some(held) = self.bench.held_now() {
            self.held.push(held);
        }
    }

    async fn say(&mut self, kind: &str, behavior: Option<&str>) {
        let mut message =
            json!({"type": kind, "message": format!("words {}", self.accepted.len())});
        if let Some(behavior) = behavior {
            message["streaming_behavior"] = behavior.into();
        }
        if let Ok(data) = self.bench.request(message).await {
            let id = data["message_id"].as_str().unwrap().parse().unwrap();
            self.accepted.push(id);
        }
    }

    async fn answer(&self, choice: &str) {
        for id in self.bench.open_requests() {
            for message in [
                json!({"type": "permission_response", "request_id": id, "choice_id": choice}),
                json!({"type": "ui_response", "request_id": id, "value": choice}),
            ] {
                _ = self.bench.request(message).await;
            }
        }
    }

    async fn take(&mut self, step: Step) {
        self.look();
        match step {
            Step::Prompt => self.say("prompt", None).await,
            Step::Steer => self.say("steer", None).await,
            Step::FollowUp => self.say("prompt", Some("follow_up")).await,
            Step::Abort => _ = self.bench.abort().await,
            Step::Answer(choice) => self.answer(choice).await,
            Step::Settle => self.bench.settle().await,
            Step::Wait(ms) => tokio::time::sleep(Duration::from_millis(ms)).await,
            Step::Sync => _ = self.bench.sync().await,
            Step::Release => {
                for held in self.held.drain(..) {
                    _ = held.release.send("released");
                }
            }
            Step::Text => _ = self.call.as_ref().map(|call| call.text("text")),
            Step::Tool(tool) => {
                self.tools += 1;
                let id = format!("c{}", self.tools);
                _ = self
                    .call
                    .as_ref()
                    .map(|call| call.tool(&id, tool, r#"{"say":"x"}"#));
            }
            Step::Stop => _ = self.call.take().map(Call::stop),
            Step::Cut => _ = self.call.take().map(Call::cut),
            Step::BreakOff => self.call = None,
            Step::Busy => {
                _ = self
                    .call
                    .take()
                    .map(|call| call.fail(ProviderErrorKind::Busy, "busy"))
            }
            Step::Reject => {
                _ = self
                    .call
                    .take()
                    .map(|call| call.fail(ProviderErrorKind::Rejected, "no"))
            }
        }
    }

    /// Plays along until nothing happens any more.
    async fn wind_up(&mut self) {
        for round in 0.. {
            assert!(round < 2000, "it never gets idle");
            self.take(Step::Answer("once")).await;
            self.take(Step::Release).await;
            self.take(Step::Text).await;
            self.take(Step::Stop).await;
            self.bench.settle().await;
            let sync = self.bench.sync().await;
            let idle = matches!(sync.status, AgentStatus::Idle | AgentStatus::Error);
            if idle && sync.queue.is_empty() && sync.pending_requests.is_empty() {
                return;
            }
            if round % 8 == 7 {
                // A stubborn tool, or a retry that waits.
                tokio::time::sleep(Duration::from_secs(20)).await;
            }
            if round % 64 == 63 {
                self.bench.abort().await;
            }
        }
    }
}

/// Turns do not overlap, nothing of a turn stands outside it, each call that starts has one result,
/// and the status agrees.
fn check_events(events: &[AgentEvent]) {
    let mut in_turn = false;
    let mut results: HashMap<&str, (u32, u32)> = HashMap::new();
    let mut status = AgentStatus::Idle;
    for event in events {
        match event {
            AgentEvent::TurnStart(_) => {
                assert!(!in_turn, "turns overlap");
                assert_eq!(status, AgentStatus::Streaming);
                in_turn = true;
            }
            AgentEvent::TurnEnd(_) => {
                assert!(in_turn, "a turn ends twice");
                in_turn = false;
            }
            AgentEvent::Status(next) => {
                let working = !matches!(next.status, AgentStatus::Idle | AgentStatus::Error);
                assert!(!in_turn || working, "{next:?} in a turn");
                status = next.status;
            }
            AgentEvent::Sync(sync) => assert_eq!(sync.status, status),
            AgentEvent::ToolCall(call) => {
                assert!(in_turn);
                results.entry(&call.tool_call_id).or_default().0 += 1;
            }
            AgentEvent::ToolResult(result) => {
                assert!(in_turn);
                results.entry(&result.tool_call_id).or_default().1 += 1;
            }
            AgentEvent::MessageDelta(_)
            | AgentEvent::MessageComplete(_)
            | AgentEvent::Usage(_)
            | AgentEvent::ToolProgress(_)
            | AgentEvent::PermissionRequest(_)
            | AgentEvent::UiRequest(_) => assert!(in_turn, "{event:?} outside a turn"),
            _ => {}
        }
    }
    assert!(!in_turn);
    for (id, (calls, answers)) in results {
        assert!(
            calls <= 1 && answers == 1,
            "{id}: {calls} calls, {answers} results"
        );
    }
}

async fn play(steps: Vec<Step>, rounds: u32) {
    let setup = Setup {
        max_rounds: rounds,
        ..Setup::default()
    };
    let bench = Bench::with(setup).await;
    bench
        .gate
        .ask
        .lock()
        .unwrap()
        .extend([("fail", false), ("hold", true)]);
    let mut driver = Driver {
        bench,
        call: None,
        held: Vec::new(),
        tools: 0,
        accepted: Vec::new(),
    };
    for step in steps {
        driver.take(step).await;
    }
    driver.wind_up().await;
    check_events(&driver.bench.seen.all());
    assert_eq!(driver.bench.open_requests(), [""; 0]);

    let Driver {
        bench, accepted, ..
    } = driver;
    let mut bench = bench.reopen().await;
    bench.until("sync").await;
    let (delivered, cleared) = bench.delivered_and_cleared();
    for id in &accepted {
        let times = |list: &[EntryId]| list.iter().filter(|one| *one == id).count();
        assert_eq!(times(&delivered) + times(&cleared), 1, "{id}");
    }
    bench.settle().await;
    assert!(bench.call_now().is_none(), "nothing runs again");
    bench.prompt("last words").await;
    let call = bench.call().await;
    assert!(call.history().ends_with(r#""last words""#));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, max_shrink_iters: 400, ..ProptestConfig::default() })]
    #[test]
    fn the_agent_gets_idle_again(steps in prop::collection::vec(step(), 1..60), rounds in 1u32..6) {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .start_paused(true)
            .build()
            .unwrap();
        runtime.block_on(async {
            let played = tokio::time::timeout(Duration::from_secs(24 * 3600), play(steps, rounds));
            assert!(played.await.is_ok(), "it hangs");
        });
    }
}
