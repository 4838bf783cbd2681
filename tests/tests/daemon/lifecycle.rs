//! Listing, attaching, detaching, stopping and killing.

use serde_json::{Value, json};
use shard_testkit::{Gate, ScriptedModel, alive, reply, text, until};

use crate::{Site, halves, lines, of, transcript};

#[tokio::test]
async fn an_agent_is_announced_listed_and_renamed_before_everybody() {
    let site = Site::start(ScriptedModel::silent()).await;
    let other = site.daemon.connect().await;
    other.hello().await;
    assert_eq!(site.client.agents().await, Vec::<Value>::new());
    let mark = other.mark();
    let wish =
        json!({ "cwd": site.home.work(), "name": "bob", "model": "mock/m2", "mode": "build" });
    let id = site.client.create(wish).await;
    assert!(id.starts_with("agent-"), "{id}");
    let spawned = other.wait_for_type(mark, "agent_spawned").await;
    let info = &site.client.agents().await[0];
    assert_eq!((&spawned["agent_id"], &spawned["info"]), (&json!(id), info));
    for (key, value) in [
        ("agent_id", json!(id)),
        ("name", json!("bob")),
        ("cwd", json!(site.home.work())),
        ("provider", json!("mock")),
        ("model", json!("m2")),
        ("mode", json!("build")),
        ("status", json!("idle")),
        ("runtime_state", json!("running")),
    ] {
        assert_eq!(info[key], value, "{key} of {info}");
    }
    assert!(info["created_at"].as_u64() > Some(1_600_000_000_000));

    let mark = other.mark();
    let rename = json!({ "agent_id": id, "name": "  alice " });
    let data = site.client.ok("agent.rename", rename).await;
    assert_eq!(data["agent"]["name"], "alice");
    other.wait_for_type(mark, "agent_status_changed").await;
    assert_eq!(other.agent(&id).await["name"], "alice");
    for name in ["", "  ", "two\nlines", &"x".repeat(101)] {
        let rename = json!({ "agent_id": id, "name": name });
        site.client
            .refused("INVALID_REQUEST", "agent.rename", rename)
            .await;
    }
}

#[tokio::test]
async fn what_is_not_there_is_not_found() {
    let site = Site::start(ScriptedModel::silent()).await;
    let client = &site.client;
    for kind in [
        "agent.attach",
        "agent.detach",
        "agent.terminate",
        "agent.kill",
        "agent.status",
        "agent.rename",
    ] {
        let fields = json!({ "agent_id": "agent-nope", "name": "x" });
        client.refused("NOT_FOUND", kind, fields).await;
    }
    for kind in ["prompt", "abort", "list_modes", "permission_response"] {
        for fields in [json!({}), json!({ "agent_id": "agent-nope" })] {
            client.refused("NOT_ATTACHED", kind, fields).await;
        }
    }
}

#[tokio::test]
async fn who_detached_hears_nothing_and_may_come_back() {
    let site = Site::start(ScriptedModel::start(["one", "two"])).await;
    let agent = site.agent().await;
    let other = site.daemon.connect().await;
    let watching = other.attach(&agent.id).await;
    agent.ok("agent.detach", json!({})).await;
    agent
        .refused("NOT_ATTACHED", "prompt", json!({ "message": "x" }))
        .await;
    agent
        .refused("NOT_ATTACHED", "agent.detach", json!({}))
        .await;
    let mark = agent.mark();
    watching.turn("hello").await;
    let again = site.client.attach(&agent.id).await;
    let heard = site.client.messages_since(mark);
    assert_eq!(of(&heard, "turn_end").len(), 0, "{heard:?}");
    assert_eq!(
        transcript(&again.sync["live_window"]["messages"]),
        lines(&[("user", "hello"), ("assistant", "one")])
    );
    // Attaching twice is no harm: the second time brings a `sync` and changes the role.
    let observing = site.client.observe(&agent.id).await;
    assert_eq!(observing.turn("again").await.text(), "two");
    assert_eq!(of(&site.client.messages_since(mark), "turn_end").len(), 1);
}

#[tokio::test]
async fn an_idle_agent_stops_at_once_and_that_is_no_failure() {
    let site = Site::start(ScriptedModel::start(["one"])).await;
    let agent = site.agent().await;
    let mark = agent.prompt("remember").await;
    agent.status(mark, "streaming").await;
    agent.status(mark, "idle").await;
    let (mark, pid) = (agent.mark(), site.pid(&agent.id));
    let data = agent.ok("agent.terminate", json!({})).await;
    assert_eq!(data, json!({ "deferred": false }));
    site.client.runtime_state(mark, &agent.id, "stopped").await;
    assert!(!alive(pid));
    assert_eq!(
        of(&site.client.messages_since(mark), "agent_exited").len(),
        0
    );
    // Once it is stopped, there is nothing to stop.
    let data = agent.ok("agent.terminate", json!({})).await;
    assert_eq!(data, json!({ "deferred": false }));
    assert_eq!(agent.ok("agent.kill", json!({})).await, Value::Null);
}

#[tokio::test]
async fn an_agent_at_work_finishes_its_turn_before_it_stops() {
    let gate = Gate::new();
    let site = Site::start(ScriptedModel::start([halves(&gate)])).await;
    let agent = site.agent().await;
    let mark = agent.prompt("go").await;
    gate.reached().await;
    let data = agent.ok("agent.terminate", json!({})).await;
    assert_eq!(data, json!({ "deferred": true }));
    gate.open();
    let turn = agent.follow(mark, |_| shard_testkit::Answer::Leave).await;
    assert_eq!(
        (turn.text().as_str(), turn.reason()),
        ("first half, second half", "done")
    );
    site.client.runtime_state(mark, &agent.id, "stopped").await;
}

#[tokio::test]
async fn a_prompt_that_was_just_sent_counts_as_work() {
    let site = Site::start(ScriptedModel::start([reply![text("whole")]])).await;
    let agent = site.agent().await;
    let mark = agent.mark();
    agent.send("prompt", json!({ "message": "go" })).await;
    let data = agent.ok("agent.terminate", json!({})).await;
    assert_eq!(data, json!({ "deferred": true }));
    let turn = agent.follow(mark, |_| shard_testkit::Answer::Leave).await;
    assert_eq!((turn.text().as_str(), turn.reason()), ("whole", "done"));
    site.client.runtime_state(mark, &agent.id, "stopped").await;
}

#[tokio::test]
async fn an_agent_that_is_just_starting_stops_when_it_is_there() {
    let site = Site::start(ScriptedModel::silent()).await;
    let agent = site.agent().await;
    agent.ok("agent.kill", json!({})).await;
    let mark = agent.mark();
    let fields = json!({ "type": "agent.attach", "agent_id": agent.id });
    site.client.send(fields).await;
    let data = agent.ok("agent.terminate", json!({})).await;
    assert_eq!(data, json!({ "deferred": true }));
    site.client.runtime_state(mark, &agent.id, "running").await;
    site.client.runtime_state(mark, &agent.id, "stopped").await;
}

#[tokio::test]
async fn whoever_leaves_while_it_waits_for_an_agent_is_answered() {
    let site = Site::start(ScriptedModel::silent()).await;
    let agent = site.agent().await;
    agent.ok("agent.kill", json!({})).await;
    agent.ok("agent.detach", json!({})).await;
    let mark = agent.mark();
    let attach = json!({ "type": "agent.attach", "id": "a", "agent_id": agent.id });
    site.client.send(attach).await;
    agent.ok("agent.detach", json!({})).await;
    let answers = |m: &Value| m["type"] == "response" && m["id"] == "a";
    let answer = site
        .client
        .wait_for(mark, "an answer to the attach", answers)
        .await;
    assert_eq!(answer["error"]["code"], "CONFLICT", "{answer}");
    agent
        .refused("NOT_ATTACHED", "prompt", json!({ "message": "x" }))
        .await;
}

#[tokio::test]
async fn killing_ends_the_process_and_keeps_the_conversation() {
    for force in [false, true] {
        let gate = Gate::new();
        let site = Site::start(ScriptedModel::start([halves(&gate)])).await;
        let agent = site.agent().await;
        agent.prompt("kept").await;
        gate.reached().await;
        let (mark, pid) = (agent.mark(), site.pid(&agent.id));
        let killed = agent.ok("agent.kill", json!({ "force": force })).await;
        assert_eq!(killed, Value::Null);
        until(
            "the process is gone",
            std::time::Duration::from_secs(1),
            || !alive(pid),
        )
        .await;
        site.client.runtime_state(mark, &agent.id, "stopped").await;
        assert_eq!(
            of(&site.client.messages_since(mark), "agent_exited").len(),
            0
        );
        let info = site.client.agent(&agent.id).await;
        assert_eq!(info["runtime_state"], "stopped");
        let again = site.client.attach(&agent.id).await;
        let messages = &again.sync["live_window"]["messages"];
        assert_eq!(transcript(messages)[0], ("user", "kept".to_owned()));
        assert_eq!(again.sync["runtime_epoch"], 1);
    }
}
