//! What attached clients see, and when.

use std::process::Stdio;
use std::time::Duration;

use serde_json::{Value, json};
use shard_testkit::{Answer, Gate, ScriptedModel, reply, text, tool};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::Command;

use crate::{Site, halves, lines, of, transcript};

#[tokio::test]
async fn two_clients_see_the_same_over_whatever_they_are_connected() {
    let site = Site::start(ScriptedModel::start([
        reply![
            text("let me look").chunks(4),
            tool("read", json!({"path": "README.md"})).pieces(3)
        ],
        reply![text("all is well").chunks(3)],
    ]))
    .await;
    let agent = site.agent().await;
    let browser = site.daemon.browser().await.connect().await;
    browser.hello().await;
    let watching = browser.attach(&agent.id).await;
    let (mine, theirs) = (agent.mark(), watching.mark());
    agent.prompt("go").await;
    let idle = |m: &Value| m["type"] == "status" && m["status"] == "idle";
    agent.wait_for(mine, "the end", idle).await;
    watching.wait_for(theirs, "the end", idle).await;
    let seen = watching.messages_since(theirs);
    assert_eq!(seen, {
        let mut own = agent.messages_since(mine);
        own.retain(|message| message["type"] != "response");
        own
    });
    assert_eq!(of(&seen, "tool_result").len(), 1);
    assert!(of(&seen, "message_delta").len() > 5, "{seen:?}");
}

#[tokio::test]
async fn many_who_attach_at_once_all_get_a_sync_and_the_rest() {
    let gate = Gate::new();
    let site = Site::start(ScriptedModel::start([halves(&gate)])).await;
    let agent = site.agent().await;
    let mark = agent.prompt("go").await;
    gate.reached().await;
    let delta = |m: &Value| m["text_delta"] == "first half, ";
    agent.wait_for(mark, "the first half", delta).await;
    let mut many = Vec::new();
    for _ in 0..12 {
        many.push(site.daemon.connect().await);
    }
    let attach = json!({ "type": "agent.attach", "id": "a", "agent_id": agent.id });
    for client in &many {
        client.send(attach.clone()).await;
    }
    for client in &many {
        let sync = client
            .wait_for_type(shard_testkit::Mark::START, "sync")
            .await;
        assert_eq!(
            transcript(&sync["live_window"]["messages"]),
            lines(&[("user", "go"), ("assistant", "first half, ")])
        );
    }
    gate.open();
    for client in &many {
        client
            .wait_for_type(shard_testkit::Mark::START, "turn_end")
            .await;
        let all = client.messages_since(shard_testkit::Mark::START);
        let kinds: Vec<_> = all.iter().map(|m| m["type"].as_str().unwrap()).collect();
        let at = |kind: &str| kinds.iter().position(|it| *it == kind).unwrap();
        assert!(at("response") < at("sync"), "{kinds:?}");
        assert_eq!(of(&all, "sync").len(), 1, "{kinds:?}");
        let deltas = of(&all, "message_delta");
        assert_eq!(deltas.len(), 1, "{kinds:?}");
        assert_eq!(deltas[0]["text_delta"], "second half");
    }
}

#[tokio::test]
async fn an_observer_becomes_one_that_answers_and_back() {
    let model = ScriptedModel::start([
        reply![tool("bash", json!({ "command": "echo hi" }))],
        reply![text("end")],
    ]);
    let site = Site::asking(model).await;
    let agent = site.agent().await;
    let other = site.daemon.connect().await;
    let observer = other.observe(&agent.id).await;
    let mark = observer.mark();
    agent.prompt("go").await;
    let ask = observer.wait_for_type(mark, "permission_request").await;
    let answer = json!({ "request_id": ask["request_id"], "decision": "allow" });
    observer
        .refused("PERMISSION_DENIED", "permission_response", answer.clone())
        .await;
    let dialog = json!({ "request_id": ask["request_id"], "value": null });
    observer
        .refused("PERMISSION_DENIED", "ui_response", dialog)
        .await;
    let promoted = other.attach(&agent.id).await;
    assert_eq!(
        promoted.sync["pending_requests"][0]["request_id"],
        ask["request_id"]
    );
    let demoted = other.observe(&agent.id).await;
    demoted
        .refused("PERMISSION_DENIED", "permission_response", answer)
        .await;
    let promoted = other.attach(&agent.id).await;
    assert_eq!(promoted.answer(&ask, &Answer::Allow).await, json!({}));
    let turn = promoted.follow(mark, |_| Answer::Leave).await;
    assert_eq!(turn.of("permission_request").len(), 1, "never sent again");
    assert_eq!(turn.result_text(0).trim(), "hi");
    // An observer may drive all the same: only answers are not its own.
    let again = other.observe(&agent.id).await;
    again.ok("set_model", json!({ "model": "mock/m2" })).await;
}

#[tokio::test]
async fn all_hear_what_one_of_them_changed() {
    let site = Site::start(ScriptedModel::silent()).await;
    let agent = site.agent().await;
    let other = site.daemon.connect().await;
    let watching = other.attach(&agent.id).await;
    let mark = watching.mark();
    let data = agent.ok("set_mode", json!({ "mode": "build" })).await;
    assert_eq!(data, json!({ "previous_mode": "build", "mode": "build" }));
    agent.ok("set_model", json!({ "model": "mock/m2" })).await;
    let changed = watching.wait_for_type(mark, "model_changed").await;
    assert_eq!(changed["active"]["id"], "mock/m2");
    agent
        .refused("NOT_FOUND", "set_mode", json!({ "mode": "dreaming" }))
        .await;
    let heard = watching.messages_since(mark);
    assert_eq!(of(&heard, "mode_changed").len(), 0, "it was so already");
    assert_eq!(other.agent(&agent.id).await["model"], "m2");
    // It is still so when the process is another one.
    agent.ok("agent.kill", json!({})).await;
    let again = other.attach(&agent.id).await;
    assert_eq!(again.sync["model"]["id"], "mock/m2");
}

#[tokio::test]
async fn everybody_hears_what_agents_are_at_and_nothing_of_what_they_say() {
    let site = Site::start(ScriptedModel::start([
        reply![tool("read", json!({"path": "README.md"}))],
        reply![text("secret words")],
    ]))
    .await;
    let agent = site.agent().await;
    let stranger = site.daemon.connect().await;
    stranger.hello().await;
    agent.turn("secret wish").await;
    let idle = |m: &Value| m["type"] == "agent_activity" && m["phase"] == "idle";
    let start = shard_testkit::Mark::START;
    stranger.wait_for(start, "that it is done", idle).await;
    let heard = stranger.messages_since(start);
    let tool = of(&heard, "agent_activity");
    assert!(
        tool.iter()
            .any(|m| m["phase"] == "tool" && m["tool_name"] == "read")
    );
    for message in &heard[1..] {
        let kind = message["type"].as_str().unwrap();
        assert!(kind.starts_with("agent_"), "{message}");
        let text = message.to_string();
        assert!(
            !text.contains("secret") && !text.contains("README"),
            "{text}"
        );
    }
}

#[tokio::test]
async fn a_log_that_nobody_reads_any_more_ends_though_nothing_comes() {
    let site = Site::start(ScriptedModel::start([reply![text("one")]])).await;
    let agent = site.agent().await;
    agent.turn("go").await;
    let mut log = Command::new(site.home.binary())
        .args(["log", "-f", &agent.id])
        .envs(site.home.env())
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(log.stdout.take().unwrap()).lines();
    assert_eq!(lines.next_line().await.unwrap().unwrap(), "you:");
    drop(lines);
    let ended = tokio::time::timeout(Duration::from_secs(10), log.wait()).await;
    assert!(ended.unwrap().unwrap().success());
}
