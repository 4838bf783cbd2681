//! The daemon ends, and everything with it.

use std::time::Duration;

use serde_json::{Value, json};
use shard_testkit::{
    Answer, DaemonProcess, Gate, ScriptedModel, alive, descendants, reply, text, tool, until,
};

use crate::{Site, halves};

/// Checks that the daemon has ended well and nothing of it is left.
async fn gone(site: &Site, below: &[u32]) {
    let status = site.daemon.exited().await;
    assert_eq!(status.code(), Some(0), "{}", site.daemon.stderr());
    let left: Vec<_> = below.iter().filter(|pid| alive(**pid)).collect();
    assert!(left.is_empty(), "{left:?}");
    let home = site.home.shard_home();
    for file in ["daemon.sock", "daemon.json"] {
        assert!(!home.join(file).exists(), "{file} is left");
    }
}

#[tokio::test]
async fn with_nothing_to_do_it_ends_at_once_and_says_so_first() {
    // With and without agents: either way the answer comes before the end.
    for agents in [0, 2] {
        let site = Site::start(ScriptedModel::silent()).await;
        for _ in 0..agents {
            site.agent().await;
        }
        let below = descendants(site.daemon.pid());
        let data = site.client.ok("daemon.shutdown", json!({})).await;
        assert_eq!(data, Value::Null);
        gone(&site, &below).await;
        site.client.ended().await;
    }
}

#[tokio::test]
async fn a_turn_that_runs_is_finished_first() {
    let gate = Gate::new();
    let mut site = Site::start(ScriptedModel::start([halves(&gate)])).await;
    let agent = site.agent().await;
    let mark = agent.prompt("go").await;
    gate.reached().await;
    let below = descendants(site.daemon.pid());
    site.client.ok("daemon.shutdown", json!({})).await;
    // No more work is begun, and what there is goes on.
    let other = json!({ "type": "agent.create", "id": "c", "cwd": site.home.work() });
    site.client.send(other).await;
    gate.open();
    let turn = agent.follow(mark, |_| Answer::Leave).await;
    assert_eq!(
        (turn.text().as_str(), turn.reason()),
        ("first half, second half", "done")
    );
    let id = agent.id.clone();
    gone(&site, &below).await;
    site.start_again().await;
    let kept = site.client.attach(&id).await;
    let messages = kept.sync["live_window"]["messages"].as_array().unwrap();
    assert_eq!(crate::said(&messages[1]), "first half, second half");
    assert!(messages[1].get("partial").is_none());
}

#[tokio::test]
async fn by_force_it_waits_for_no_turn() {
    let gate = Gate::new();
    let site = Site::start(ScriptedModel::start([halves(&gate)])).await;
    let agent = site.agent().await;
    agent.prompt("go").await;
    gate.reached().await;
    let below = descendants(site.daemon.pid());
    // Politely first; force does not wait for that either.
    site.client.ok("daemon.shutdown", json!({})).await;
    let force = json!({ "force": true });
    site.client.ok("daemon.shutdown", force).await;
    gone(&site, &below).await;
    site.model.client_gone(0).await;
}

#[tokio::test]
async fn a_question_does_not_keep_it() {
    let model = ScriptedModel::start([reply![tool("bash", json!({ "command": "true" }))]]);
    let site = Site::asking(model).await;
    let agent = site.agent().await;
    let mark = agent.prompt("go").await;
    agent.wait_for_type(mark, "permission_request").await;
    let below = descendants(site.daemon.pid());
    site.client.ok("daemon.shutdown", json!({})).await;
    gone(&site, &below).await;
}

#[tokio::test]
async fn a_signal_ends_it_as_a_command_does() {
    let gate = Gate::new();
    let site = Site::start(ScriptedModel::start([halves(&gate)])).await;
    let agent = site.agent().await;
    let mark = agent.prompt("go").await;
    gate.reached().await;
    let below = descendants(site.daemon.pid());
    site.daemon.terminate();
    gate.open();
    let turn = agent.follow(mark, |_| Answer::Leave).await;
    assert_eq!(turn.reason(), "done");
    gone(&site, &below).await;
}

#[tokio::test]
async fn two_signals_end_it_now() {
    let gate = Gate::new();
    let site = Site::start(ScriptedModel::start([halves(&gate)])).await;
    site.agent().await.prompt("go").await;
    gate.reached().await;
    let below = descendants(site.daemon.pid());
    // Signals of one kind that come together count once; so the second is sent until it counts.
    site.daemon.terminate();
    let pid = site.daemon.pid();
    until("the daemon is gone", Duration::from_secs(15), || {
        site.daemon.terminate();
        !alive(pid)
    })
    .await;
    gone(&site, &below).await;
}

#[tokio::test]
async fn a_second_one_is_refused_and_told_which_is_there() {
    let site = Site::start(ScriptedModel::silent()).await;
    let second = shard_testkit::run_cli(&site.home, &["daemon", "--port", "0"], None).await;
    assert_eq!(second.code(), 1);
    let pid = format!("pid {}", site.daemon.pid());
    assert!(second.stderr.contains(&pid), "{}", second.stderr);
    assert_eq!(second.stderr.trim().lines().count(), 1, "{}", second.stderr);
    // The first one is as it was, and its files are still its own.
    let fresh = site.daemon.connect().await;
    assert_eq!(fresh.agents().await.len(), 0);
    let file = std::fs::read_to_string(site.home.shard_home().join("daemon.json")).unwrap();
    assert!(file.contains(&site.daemon.pid().to_string()), "{file}");
}

#[tokio::test]
async fn one_that_takes_a_port_that_is_taken_says_so() {
    let site = Site::start(ScriptedModel::silent()).await;
    let other = shard_testkit::Home::new(&site.model);
    let port = site.daemon.port().to_string();
    let second = shard_testkit::run_cli(&other, &["daemon", "--port", &port], None).await;
    assert_eq!(second.code(), 1);
    assert!(second.stderr.contains(&port), "{}", second.stderr);
    // It left nothing that stands in the way of the next one.
    let daemon = DaemonProcess::start(&other, &[]).await;
    daemon
        .connect()
        .await
        .ok("daemon.shutdown", json!({}))
        .await;
    assert!(daemon.exited().await.success());
}

#[tokio::test]
async fn a_command_that_runs_is_ended_with_its_agent() {
    let command = "setsid sleep 293 & exec sleep 294";
    let model = ScriptedModel::start([
        reply![tool("bash", json!({ "command": command }))],
        reply![text("never")],
    ]);
    let site = Site::start(model).await;
    let agent = site.agent().await;
    let mark = agent.prompt("go").await;
    agent.wait_for_type(mark, "tool_call").await;
    let daemon = site.daemon.pid();
    until("both commands run", Duration::from_secs(10), || {
        crate::crash::sleeping(daemon, &["293", "294"]).len() == 2
    })
    .await;
    let below = descendants(daemon);
    site.client
        .ok("daemon.shutdown", json!({ "force": true }))
        .await;
    gone(&site, &below).await;
}
