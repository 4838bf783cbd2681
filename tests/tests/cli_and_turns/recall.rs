//! Looking back: what an earlier process of the session was told.

use serde_json::json;
use shard_testkit::{AgentProcess, Home, ScriptedModel, reply, text, tool};

#[tokio::test]
async fn the_model_finds_what_was_said_before_a_restart_without_a_question() {
    let model = ScriptedModel::start([
        reply![text("The port is 7411.")],
        reply![tool("recall", json!({"query": "port"}))],
        reply![tool("recall", json!({"expand": [1]}))],
        reply![text("7411")],
    ]);
    let home = Home::new(&model);
    let agent = AgentProcess::start(&home, &[]);
    agent.turn("remember this").await;
    agent.quit().await;

    let agent = AgentProcess::start(&home, &["--continue"]);
    let turn = agent.turn("which one was it?").await;
    assert_eq!(
        turn.of("permission_request"),
        Vec::<&serde_json::Value>::new()
    );
    let page = &model.request(2).await.tool_results()[0].1;
    assert!(page.starts_with("[1] msg-"), "{page}");
    assert!(page.contains("The port is 7411."), "{page}");
    let whole = &model.request(3).await.tool_results()[1].1;
    assert!(whole.ends_with("\nThe port is 7411.\n"), "{whole}");
    agent.quit().await;
}
