//! An abort at every point of a turn. It is answered within a second, nothing of the turn lives on,
//! and the next call of the model has a history that it accepts.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use shard_testkit::{
    AgentProcess, Answer, Gate, Home, Provider, Reply, ScriptedModel, descendants, error, hold,
    reply, text, tool, until,
};

use crate::{errors, word};

/// How soon an abort is answered.
const ANSWERED_WITHIN: Duration = Duration::from_secs(1);

/// How long the processes of a call may live once it was ended.
const ENDS_WITHIN: Duration = Duration::from_secs(5);

/// A place in a turn.
struct Point {
    name: &'static str,
    reply: fn(&Gate) -> Reply,
    /// The message that says that the turn has come there.
    sign: fn(&Value) -> bool,
    /// What the results of its calls begin with, as the model reads them next.
    results: &'static [&'static str],
}

fn starts(message: &Value) -> bool {
    message["type"] == "turn_start"
}

const POINTS: &[Point] = &[
    Point {
        name: "while the provider says nothing at all",
        reply: |gate| reply![hold(gate).silent()],
        sign: starts,
        results: &[],
    },
    Point {
        name: "before its first word",
        reply: |gate| reply![hold(gate), text("never")],
        sign: starts,
        results: &[],
    },
    Point {
        name: "while words stream",
        reply: |gate| reply![text("half an ans"), hold(gate), text("wer")],
        sign: |message| message["kind"] == "text",
        results: &[],
    },
    Point {
        name: "while a call streams",
        reply: |gate| {
            let write = tool("write", json!({"path": "never", "content": "x"}));
            reply![text("I write."), write.pieces(5), hold(gate)]
        },
        sign: |message| message["kind"] == "tool_call",
        results: &[],
    },
    Point {
        name: "while a retry waits",
        reply: |_| reply![error(429).retry_after(60)],
        sign: |message| word(&message["detail"]).contains("retrying in 60"),
        results: &[],
    },
    Point {
        name: "while a permission is asked",
        reply: |_| {
            let write = tool("write", json!({"path": "never", "content": "x"}));
            reply![tool("ls", json!({})), write, tool("ls", json!({}))]
        },
        sign: |message| message["type"] == "permission_request",
        results: &[".git/", "not started: ", "not started: "],
    },
    Point {
        name: "while a dialog is open",
        reply: |_| reply![tool("ask_user", json!({"question": "Well?"}))],
        sign: |message| message["type"] == "ui_request",
        results: &["nobody answered"],
    },
    Point {
        name: "while a command runs",
        reply: |_| {
            let command = "trap '' TERM; (sleep 315 & sleep 316 & wait) & echo up; sleep 317";
            reply![
                tool("ls", json!({})),
                tool("bash", json!({"command": command})),
                tool("ls", json!({}))
            ]
        },
        sign: |message| message["type"] == "tool_progress",
        results: &[".git/", "up\n[interrupted: ", "not started: "],
    },
];

async fn aborted(provider: Provider, point: &Point) {
    let name = format!("{}, {provider:?}", point.name);
    let gate = Gate::new();
    let model = ScriptedModel::start([(point.reply)(&gate), reply![text("fine")]]);
    let rules = json!([{"action": "allow", "tool": "bash"}]);
    let home = Home::builder().model(&model).provider(provider);
    let home = home.rules(rules).build();
    let agent = AgentProcess::start(&home, &[]);
    let mark = agent.mark();
    agent.ok("prompt", json!({"message": "go"})).await;
    agent.wait_for(mark, &name, point.sign).await;
    model.request(0).await;

    let begun = Instant::now();
    agent.ok("abort", json!({})).await;
    assert!(begun.elapsed() < ANSWERED_WITHIN, "{name}");
    let turn = agent.follow(mark, |_| Answer::Leave).await;
    assert_eq!(turn.reason(), "aborted", "{name}");
    assert_eq!(errors(&turn), [], "{name}: it is no error");
    until(&format!("nothing runs: {name}"), ENDS_WITHIN, || {
        descendants(agent.pid()).is_empty()
    })
    .await;
    let place = agent.mark();
    agent.send(json!({"type": "sync"})).await;
    let sync = agent.wait_for_type(place, "sync").await;
    assert_eq!(
        (&sync["status"], &sync["pending_requests"]),
        (&json!("idle"), &json!([])),
        "{name}"
    );

    // The model refuses a history in which a call has no result, or two.
    assert_eq!(agent.turn("next").await.text(), "fine", "{name}");
    let told = model.request(1).await.tool_results();
    assert_eq!(told.len(), point.results.len(), "{name}: {told:?}");
    for ((_, told), begins) in told.iter().zip(point.results) {
        assert!(told.starts_with(begins), "{name}: {begins} in {told}");
    }
    assert!(!home.has("never"), "{name}");
}

#[tokio::test]
async fn at_every_point_over_the_openai_format() {
    for point in POINTS {
        aborted(Provider::OpenAi, point).await;
    }
}

#[tokio::test]
async fn at_every_point_over_the_responses_format() {
    for point in POINTS {
        aborted(Provider::Responses, point).await;
    }
}

#[tokio::test]
async fn at_every_point_over_the_anthropic_format() {
    for point in POINTS {
        aborted(Provider::Anthropic, point).await;
    }
}
