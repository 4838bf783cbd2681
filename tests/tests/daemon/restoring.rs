//! A process ends, one way or another, and the agent goes on.

use std::time::Duration;

use rustix::process::Signal;
use serde_json::{Value, json};
use shard_testkit::{Answer, Gate, ScriptedModel, alive, reply, signal, text, tool, until};

use crate::{Site, halves, lines, of, transcript};

#[tokio::test]
async fn a_prompt_wakes_a_stopped_agent_and_all_who_watch_see_it() {
    let site = Site::start(ScriptedModel::start(["one", "two"])).await;
    let agent = site.agent().await;
    let other = site.daemon.connect().await;
    let watching = other.attach(&agent.id).await;
    assert_eq!(agent.sync["runtime_epoch"], 0);
    agent.turn("first").await;
    agent.ok("agent.kill", json!({})).await;
    for kind in ["list_modes", "list_models"] {
        agent.refused("CONFLICT", kind, json!({})).await;
    }
    let (mark, start) = (agent.mark(), watching.mark());
    let turn = agent.turn("second").await;
    assert_eq!(turn.text(), "two");
    for fresh in [
        agent.wait_for_type(mark, "sync").await,
        watching.wait_for_type(start, "sync").await,
    ] {
        assert_eq!(fresh["runtime_epoch"], 1);
        assert_eq!(
            transcript(&fresh["live_window"]["messages"]),
            lines(&[("user", "first"), ("assistant", "one")])
        );
        assert_eq!(fresh["capabilities"], agent.sync["capabilities"]);
    }
    assert_eq!(
        site.model.request(1).await.user_texts(),
        ["first", "second"]
    );
    let modes = agent.ok("list_modes", json!({})).await;
    assert_eq!(modes["active"], "build");
}

fn word_list(value: &Value) -> Vec<&Value> {
    value.as_array().into_iter().flatten().collect()
}

#[tokio::test]
async fn an_agent_that_is_killed_fails_and_its_dialogs_close() {
    let model = ScriptedModel::start([
        reply![tool("write", json!({"path": "x.txt", "content": "x"}))],
        reply![text("again")],
    ]);
    let site = Site::asking(model).await;
    let agent = site.agent().await;
    let mark = agent.prompt("write").await;
    let ask = agent.wait_for_type(mark, "permission_request").await;
    let pid = site.pid(&agent.id);
    signal(pid, Signal::KILL);
    let closed = agent.wait_for_type(mark, "permission_resolved").await;
    assert_eq!(
        (
            &closed["request_id"],
            &closed["decision"],
            &closed["source"]
        ),
        (&ask["request_id"], &json!("deny"), &json!("aborted"))
    );
    let exited = site.client.wait_for_type(mark, "agent_exited").await;
    assert_eq!(
        (&exited["agent_id"], &exited["runtime_state"]),
        (&json!(agent.id), &json!("failed"))
    );
    assert_eq!(
        site.client.agent(&agent.id).await["runtime_state"],
        "failed"
    );
    // The answer comes too late, which is no error and wakes nothing.
    let late = agent.answer(&ask, &Answer::Allow).await;
    assert_eq!(late, json!({ "late": true }));
    assert_eq!(site.daemon.agent_pid(&agent.id), None);
    let mark = agent.mark();
    assert_eq!(agent.turn("go on").await.text(), "again");
    let fresh = agent.wait_for_type(mark, "sync").await;
    assert_eq!(
        (&fresh["runtime_epoch"], &fresh["pending_requests"]),
        (&json!(1), &json!([]))
    );
    assert!(!site.home.has("x.txt"));
    // The call that nobody permitted has its result all the same.
    assert_eq!(site.model.request(1).await.tool_results().len(), 1);
}

#[tokio::test]
async fn a_dialog_of_an_agent_that_is_killed_closes_too() {
    let ask = tool("ask_user", json!({ "question": "Which?" }));
    let site = Site::start(ScriptedModel::start([reply![ask]])).await;
    let agent = site.agent().await;
    let mark = agent.prompt("ask").await;
    let request = agent.wait_for_type(mark, "ui_request").await;
    agent.ok("agent.kill", json!({ "force": true })).await;
    let closed = agent.wait_for_type(mark, "ui_resolved").await;
    assert_eq!(
        (&closed["request_id"], &closed["value"], &closed["source"]),
        (&request["request_id"], &Value::Null, &json!("aborted"))
    );
    let late = json!({ "request_id": request["request_id"], "value": "this" });
    assert_eq!(agent.ok("ui_response", late).await, json!({ "late": true }));
    let own = agent.messages_since(mark);
    assert_eq!(of(&own, "ui_resolved").len(), 1, "once");
}

#[tokio::test]
async fn a_command_that_the_agent_did_not_live_to_answer_is_answered() {
    let gate = Gate::new();
    let site = Site::start(ScriptedModel::start([halves(&gate), "later".into()])).await;
    let agent = site.agent().await;
    agent.prompt("go").await;
    gate.reached().await;
    signal(site.pid(&agent.id), Signal::STOP);
    let mark = agent.mark();
    site.client
        .send(json!({ "type": "abort", "id": "lost", "agent_id": agent.id }))
        .await;
    agent.ok("agent.kill", json!({ "force": true })).await;
    let answers = |m: &Value| m["type"] == "response" && m["id"] == "lost";
    let answer = site.client.wait_for(mark, "an answer", answers).await;
    assert_eq!(answer["success"], false, "{answer}");
    assert_eq!(agent.turn("next").await.text(), "later");
}

#[tokio::test]
async fn after_the_daemon_was_killed_everything_that_was_shown_is_there() {
    let gate = Gate::new();
    let mut site = Site::start(ScriptedModel::start([
        reply![text("a"), tool("bash", json!({ "command": "echo out" }))],
        reply![text("b")],
        halves(&gate),
        reply![text("c")],
    ]))
    .await;
    let agent = site.agent().await;
    agent.turn("one").await;
    agent.prompt("two").await;
    gate.reached().await;
    let (id, shown) = (agent.id.clone(), agent.messages_since(agent.mark));
    let pid = site.pid(&id);
    site.daemon.kill9().await;
    until("the agent is gone", Duration::from_secs(5), || !alive(pid)).await;
    site.start_again().await;
    let info = site.client.agent(&id).await;
    assert_eq!(info["runtime_state"], "stopped");
    let agent = site.client.attach(&id).await;
    let kept = &agent.sync["live_window"]["messages"];
    for message in of(&shown, "message_complete") {
        assert!(
            word_list(kept).contains(&&message["message"]),
            "shown and not kept: {message}"
        );
    }
    assert_eq!(agent.turn("three").await.text(), "c");
    assert_eq!(
        site.model.request(3).await.user_texts(),
        ["one", "two", "three"]
    );
}

#[tokio::test]
async fn prompts_that_were_accepted_run_once_whatever_dies() {
    let gate = Gate::new();
    let mut site = Site::start(ScriptedModel::start([
        halves(&gate),
        reply![text("second")],
        reply![text("third")],
    ]))
    .await;
    let agent = site.agent().await;
    let first = json!({ "message": "one", "request_key": "k1" });
    let second = json!({
        "message": "two", "request_key": "k2", "streaming_behavior": "follow_up",
    });
    agent.ok("prompt", first.clone()).await;
    gate.reached().await;
    agent.ok("prompt", second.clone()).await;
    let id = agent.id.clone();
    site.daemon.kill9().await;
    site.start_again().await;

    let agent = site.client.attach(&id).await;
    // The one that waited is carried out now; the one that was under way is not begun again.
    let turn = agent.follow(agent.mark, |_| Answer::Leave).await;
    assert_eq!(turn.text(), "second");
    for repeat in [first, second] {
        let data = agent.ok("prompt", repeat).await;
        assert_eq!(data["duplicate"], true, "{data}");
    }
    let other = json!({ "message": "something else", "request_key": "k1" });
    agent.refused("CONFLICT", "prompt", other).await;
    let third = json!({ "message": "one", "request_key": "k3" });
    let mark = agent.mark();
    agent.ok("prompt", third).await;
    agent.follow(mark, |_| Answer::Leave).await;
    assert_eq!(
        site.model.request(2).await.user_texts(),
        ["one", "two", "one"]
    );
}

#[tokio::test]
async fn an_idle_agent_is_stopped_and_whoever_is_attached_stays_so() {
    let gate = Gate::new();
    let site = Site::with(
        ScriptedModel::start([halves(&gate), "more".into()]),
        |home| home,
        &["--idle-timeout", "1"],
    )
    .await;
    let agent = site.agent().await;
    let mark = agent.prompt("go").await;
    gate.reached().await;
    // An agent at work is not idle, however long that takes: here as long as another one lives.
    let other = site.create().await;
    site.client.runtime_state(mark, &other, "stopped").await;
    assert_eq!(
        site.client.agent(&agent.id).await["runtime_state"],
        "running"
    );
    gate.open();
    agent.follow(mark, |_| Answer::Leave).await;
    site.client.runtime_state(mark, &agent.id, "stopped").await;
    let told = site.client.messages_since(mark);
    assert_eq!(of(&told, "agent_exited").len(), 0, "{told:?}");
    agent.refused("CONFLICT", "list_modes", json!({})).await;
    assert_eq!(agent.turn("again").await.text(), "more");
}
