//! Windows that are too small for what is asked, and compaction by hand, through the real binary.

use serde_json::json;
use shard_testkit::{
    AgentProcess, DaemonProcess, Home, Mark, ScriptedModel, error, reply, text, tool, usage,
};

use crate::word;

/// A server that finds a request too long answers so.
fn too_long() -> shard_testkit::Reply {
    let message = "This model's maximum context length is 100000 tokens. However, your messages resulted in 123456 tokens.";
    let body = json!({ "error": {
        "message": message, "type": "invalid_request_error", "code": "context_length_exceeded",
    } });
    error(400).body(body).into()
}

#[tokio::test]
async fn a_request_that_the_server_finds_too_long_is_made_again_with_a_summary() {
    let model = ScriptedModel::start([
        reply![text("The first answer.")],
        too_long(),
        reply![text("The second answer.")],
    ]);
    let home = Home::new(&model);
    let agent = AgentProcess::start(&home, &[]);
    agent.turn("Remember the first task.").await;
    let turn = agent.turn("And the second.").await;
    assert_eq!(
        (turn.text().as_str(), turn.reason()),
        ("The second answer.", "done")
    );
    assert_eq!(turn.of("error").len(), 0);
    assert_eq!(turn.of("compaction").len(), 1);
    let request = model.request(2).await;
    assert!(request.system().contains("Remember the first task."));
    assert_eq!(request.user_texts(), ["And the second."]);
}

#[tokio::test]
async fn a_server_that_is_never_content_ends_the_turn_and_not_the_session() {
    let model = ScriptedModel::start([
        reply![text("The first answer.")],
        too_long(),
        too_long(),
        reply![text("Now it fits.")],
    ]);
    let home = Home::new(&model);
    let agent = AgentProcess::start(&home, &[]);
    agent.turn("Remember the first task.").await;
    let turn = agent.turn("And the second.").await;
    assert_eq!(turn.reason(), "error");
    let told = word(&turn.of("error")[0]["message"]).to_owned();
    assert!(
        told.contains("The context window of 100000 tokens is full"),
        "{told}"
    );
    assert_eq!(agent.turn("And now?").await.text(), "Now it fits.");
}

#[tokio::test]
async fn a_result_that_overflows_the_window_is_shortened_and_kept_whole() {
    let model = ScriptedModel::start([
        reply![
            tool("bash", json!({ "command": "seq 1 9000" })),
            usage(3000, 10, 0)
        ],
        too_long(),
        too_long(),
        reply![text("Enough.")],
    ]);
    let home = Home::new(&model);
    let agent = AgentProcess::start(&home, &[]);
    let turn = agent.turn("Count.").await;
    assert_eq!((turn.text().as_str(), turn.reason()), ("Enough.", "done"));
    let (_, sent) = model.request(1).await.tool_results().pop().unwrap();
    let (_, shortened) = model.request(3).await.tool_results().pop().unwrap();
    assert!(sent.len() > 40_000, "{}", sent.len());
    assert!(shortened.len() < 5000, "{}", shortened.len());
    assert!(shortened.starts_with("1\n2\n3\n"), "{shortened}");
    assert!(shortened.contains("recall"), "{shortened}");
    let rows = std::fs::read_to_string(home.session_file()).unwrap();
    assert!(
        rows.contains("\\n4499\\n4500\\n4501\\n"),
        "the file has all of it"
    );
}

#[tokio::test]
async fn compaction_by_hand_tells_every_client_and_the_browser_of_it() {
    let model = ScriptedModel::start([
        reply![text("one")],
        reply![text("two")],
        reply![text("three")],
    ]);
    let home = Home::new(&model);
    let daemon = DaemonProcess::start(&home, &[]).await;
    let client = daemon.connect().await;
    let id = client.create(json!({ "cwd": home.work() })).await;
    let agent = client.attach(&id).await;
    agent.turn("Plan the garden.").await;
    agent.turn("Now the pond.").await;
    let other = daemon.connect().await;
    other.attach(&id).await;
    let mark = other.mark();
    let args = json!({ "agent_id": id, "op": "compact", "args": { "keep_recent_tokens": 1 } });
    let done = client.ok("session_op", args).await;
    assert_eq!(
        (&done["compacted"], &done["index"]),
        (&json!(true), &json!(0)),
        "{done}"
    );
    let event = other.wait_for_type(mark, "compaction").await;
    assert_eq!(event["first_kept_entry_id"], done["first_kept_entry_id"]);
    other
        .wait_for(mark, "idle again", |m| {
            m["type"] == "status" && m["status"] == "idle"
        })
        .await;
    let sync = daemon.connect().await;
    sync.attach(&id).await;
    let sync = sync.wait_for_type(Mark::START, "sync").await;
    assert_eq!(sync["live_window"]["compaction_index"], 0);
    assert_eq!(sync["live_window"]["has_more"], true);
    let page = json!({ "session_id": client.agent(&id).await["session_id"] });
    let page = client.ok("session.messages", page).await;
    assert_eq!(
        page["messages"].as_array().unwrap().len(),
        4,
        "nothing is gone: {page}"
    );
    assert_eq!(agent.turn("And the fence.").await.text(), "three");
    assert!(model.request(2).await.system().contains("Plan the garden."));
}
