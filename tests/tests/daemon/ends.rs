//! How processes end, what is told of it, and what happens when they fail again and again.

use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::{Value, json};
use shard_testkit::{
    Answer, Attached, Gate, ScriptedModel, alive, hold, reply, signal, text, tool, until,
};

use crate::{Site, of, word};

/// A way in which an agent's process comes to its end.
#[derive(Debug, Clone, Copy)]
enum End {
    Terminated,
    Killed,
    KilledByForce,
    /// Stopped by the system, so that it cannot wind up, and killed then.
    KilledWhileFrozen,
    Signalled(Signal),
    /// Killed by the daemon because it does not answer.
    Unresponsive,
}

async fn bring_about(end: End, site: &Site, agent: &Attached<'_>) {
    let pid = site.pid(&agent.id);
    match end {
        End::Terminated => _ = agent.ok("agent.terminate", json!({})).await,
        End::Killed => _ = agent.ok("agent.kill", json!({})).await,
        End::KilledByForce => _ = agent.ok("agent.kill", json!({ "force": true })).await,
        End::KilledWhileFrozen => {
            signal(pid, Signal::STOP);
            agent.ok("agent.kill", json!({})).await;
        }
        End::Signalled(which) => signal(pid, which),
        End::Unresponsive => {
            signal(pid, Signal::STOP);
            let wish = json!({ "agent_id": agent.id });
            let other = site.daemon.connect().await;
            other
                .refused("RUNTIME_START_FAILED", "agent.attach", wish)
                .await;
        }
    }
}

#[tokio::test]
async fn every_end_is_told_as_what_it_is() {
    for (end, state, exit_code) in [
        (End::Terminated, "stopped", None),
        (End::Killed, "stopped", None),
        (End::KilledByForce, "stopped", None),
        (End::KilledWhileFrozen, "stopped", None),
        (End::Signalled(Signal::KILL), "failed", Some(Value::Null)),
        (End::Signalled(Signal::ABORT), "failed", Some(Value::Null)),
        (End::Signalled(Signal::TERM), "failed", Some(json!(0))),
        (End::Unresponsive, "failed", Some(Value::Null)),
    ] {
        let site = Site::start(ScriptedModel::start(["before", "after"])).await;
        let agent = site.agent().await;
        agent.turn("one").await;
        let watching = site.daemon.connect().await;
        watching.hello().await;
        let (mark, pid) = (watching.mark(), site.pid(&agent.id));
        bring_about(end, &site, &agent).await;
        watching.runtime_state(mark, &agent.id, state).await;
        if exit_code.is_some() {
            watching.wait_for_type(mark, "agent_exited").await;
        }
        assert!(!alive(pid), "{end:?}");
        // Asked for, so that what was told before has come.
        let info = watching.agent(&agent.id).await;
        assert_eq!(
            (&info["runtime_state"], &info["status"]),
            (&json!(state), &json!("idle")),
            "{end:?}"
        );
        let told = watching.messages_since(mark);
        let exits: Vec<_> = of(&told, "agent_exited")
            .into_iter()
            .map(|it| {
                assert_eq!(it["runtime_state"], "failed", "{end:?}");
                assert!(!word(&it["reason"]).is_empty(), "{end:?}");
                it["exit_code"].clone()
            })
            .collect();
        assert_eq!(exits, Vec::from_iter(exit_code), "{end:?}: {told:?}");
        // Work brings the next one, and clients hear which it is.
        let mark = agent.mark();
        assert_eq!(agent.turn("two").await.text(), "after", "{end:?}");
        let sync = agent.wait_for_type(mark, "sync").await;
        assert_eq!(sync["runtime_epoch"], 1, "{end:?}");
    }
}

#[tokio::test]
async fn one_that_failed_counts_as_stopped_once_somebody_says_so() {
    for kind in ["agent.kill", "agent.terminate"] {
        let site = Site::start(ScriptedModel::silent()).await;
        let agent = site.agent().await;
        let mark = agent.mark();
        signal(site.pid(&agent.id), Signal::KILL);
        site.client.runtime_state(mark, &agent.id, "failed").await;
        let mark = agent.mark();
        agent.ok(kind, json!({})).await;
        site.client.runtime_state(mark, &agent.id, "stopped").await;
        let told = site.client.messages_since(mark);
        assert_eq!(of(&told, "agent_exited").len(), 0, "{kind}");
    }
}

#[tokio::test]
async fn one_that_is_killed_gently_can_still_be_killed_by_force() {
    let site = Site::start(ScriptedModel::silent()).await;
    let agent = site.agent().await;
    let pid = site.pid(&agent.id);
    signal(pid, Signal::STOP);
    let gently = json!({ "type": "agent.kill", "id": "gently", "agent_id": agent.id });
    let mark = agent.mark();
    site.client.send(gently).await;
    let began = Instant::now();
    agent.ok("agent.kill", json!({ "force": true })).await;
    assert!(began.elapsed() < Duration::from_secs(3), "{began:?}");
    assert!(!alive(pid));
    let answers = |m: &Value| m["type"] == "response" && m["id"] == "gently";
    let answer = site.client.wait_for(mark, "an answer", answers).await;
    assert_eq!(answer["success"], true);
}

#[tokio::test]
async fn no_agent_that_waits_for_a_person_is_idle() {
    for (call, request) in [
        (
            tool("write", json!({ "path": "x", "content": "x" })),
            "permission_request",
        ),
        (
            tool("ask_user", json!({ "question": "Which?" })),
            "ui_request",
        ),
    ] {
        let model = ScriptedModel::start([reply![call], reply![text("done")]]);
        let ask = |home: shard_testkit::HomeBuilder| home.rules(shard_testkit::ask_all());
        let site = Site::with(model, ask, &["--idle-timeout", "1"]).await;
        let agent = site.agent().await;
        let mark = agent.prompt("go").await;
        let asked = agent.wait_for_type(mark, request).await;
        // For as long as others live that have nothing to do.
        for _ in 0..2 {
            let other = site.create().await;
            site.client.runtime_state(mark, &other, "stopped").await;
        }
        let info = site.client.agent(&agent.id).await;
        assert_eq!(info["runtime_state"], "running", "{request}");
        // It is at rest only now.
        if request == "ui_request" {
            let value = json!({ "request_id": asked["request_id"], "value": "this" });
            agent.ok("ui_response", value).await;
        } else {
            agent.answer(&asked, &Answer::Allow).await;
        }
        agent.wait_for_type(mark, "turn_end").await;
        site.client.runtime_state(mark, &agent.id, "stopped").await;
    }
}

#[tokio::test]
async fn an_agent_that_waits_for_a_person_is_stopped_after_its_answer() {
    let model = ScriptedModel::start([
        reply![tool("write", json!({ "path": "x", "content": "x" }))],
        reply![text("done")],
    ]);
    let site = Site::asking(model).await;
    let agent = site.agent().await;
    let mark = agent.prompt("go").await;
    let asked = agent.wait_for_type(mark, "permission_request").await;
    let data = agent.ok("agent.terminate", json!({})).await;
    assert_eq!(data, json!({ "deferred": true }));
    agent.answer(&asked, &Answer::Allow).await;
    let end = agent.wait_for_type(mark, "turn_end").await;
    assert_eq!(end["reason"], "done");
    site.client.runtime_state(mark, &agent.id, "stopped").await;
    assert!(site.home.has("x"));
}

/// An agent whose processes cannot come up, and what its home's configuration was.
async fn failing(site: &Site) -> (String, String) {
    let id = site.create().await;
    let this = json!({ "agent_id": id });
    site.client.ok("agent.kill", this.clone()).await;
    let good = std::fs::read_to_string(site.home.config_path()).unwrap();
    site.home.write_config("{ broken");
    for _ in 0..3 {
        let why = site
            .client
            .refused("RUNTIME_START_FAILED", "agent.attach", this.clone())
            .await;
        assert!(!why.contains("in a row"), "{why}");
    }
    (id, good)
}

#[tokio::test]
async fn one_that_fails_again_and_again_is_not_started_for_a_while() {
    let site = Site::start(ScriptedModel::start(["back"])).await;
    let (id, good) = failing(&site).await;
    let this = json!({ "agent_id": id });
    let mark = site.client.mark();
    let answer = site.client.request("agent.attach", this.clone()).await;
    let error = &answer["error"];
    assert_eq!(error["code"], "RUNTIME_START_FAILED", "{answer}");
    let wait = error["data"]["retry_after_ms"].as_u64().unwrap();
    assert!((1..=1000).contains(&wait), "{answer}");
    let message = word(&error["message"]);
    for part in ["3 times in a row", "agent.kill"] {
        assert!(message.contains(part), "{message}");
    }
    assert_eq!(message.matches("config.json").count(), 1, "{message}");
    site.client.agents().await; // so that all that was told before has come
    let told = site.client.messages_since(mark);
    assert_eq!(of(&told, "agent_status_changed").len(), 0, "{told:?}");
    // Whoever has mended it need not wait.
    site.home.write_config(&good);
    site.client.ok("agent.kill", this).await;
    assert_eq!(
        site.client.attach(&id).await.turn("go").await.text(),
        "back"
    );
}

#[tokio::test]
async fn after_the_pause_it_is_tried_again() {
    let site = Site::start(ScriptedModel::start(["back"])).await;
    let (id, good) = failing(&site).await;
    site.home.write_config(&good);
    let this = json!({ "agent_id": id });
    let (began, mut refused) = (Instant::now(), 0);
    loop {
        let answer = site.client.request("agent.attach", this.clone()).await;
        if answer["success"] == true {
            break;
        }
        refused += 1;
        assert!(began.elapsed() < Duration::from_secs(10), "{answer}");
    }
    assert!(refused > 0, "at first it is refused");
    // What it does now makes good for what was.
    let agent = site.client.attach(&id).await;
    assert_eq!(agent.turn("go").await.text(), "back");
}

#[tokio::test]
async fn an_agent_is_killed_in_the_middle_of_its_turn_by_and_by() {
    let gate = Gate::new();
    let model = ScriptedModel::start([reply![text("half"), hold(&gate), text("whole")]]);
    let site = Site::start(model).await;
    let agent = site.agent().await;
    let mark = agent.prompt("go").await;
    gate.reached().await;
    let pid = site.pid(&agent.id);
    agent.ok("agent.kill", json!({})).await;
    let end = agent.wait_for_type(mark, "turn_end").await;
    assert_eq!(end["reason"], "aborted", "it had the chance to wind up");
    until("the process is gone", Duration::from_secs(1), || {
        !alive(pid)
    })
    .await;
}
