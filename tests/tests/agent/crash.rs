//! What survives when the agent is killed, and what does not live on.

use std::time::Duration;

use serde_json::json;
use shard_testkit::{
    AgentProcess, Gate, Home, Mark, ScriptedModel, ask_all, hold, processes_under, reply, text,
    tool, until,
};

const ENDS_WITHIN: Duration = Duration::from_secs(5);

async fn nothing_lives_on(home: &Home) {
    let root = home.root().to_owned();
    until("every process of the agent is gone", ENDS_WITHIN, || {
        processes_under(&root).is_empty()
    })
    .await;
}

#[tokio::test]
async fn killed_while_a_tool_runs_the_session_says_what_happened() {
    let model = ScriptedModel::start([
        reply![
            tool("bash", json!({ "command": "echo shown-$((40+2))" })),
            tool(
                "bash",
                json!({ "command": "(setsid sleep 271 &); sleep 271" })
            ),
            tool("write", json!({ "path": "never.txt", "content": "x" })),
        ],
        reply![text("going on")],
    ]);
    let home = Home::new(&model);
    let agent = AgentProcess::start(&home, &[]);
    agent
        .ok("prompt", json!({ "message": "remember this" }))
        .await;
    agent
        .wait_for(Mark::START, "the second call starts", |m| {
            m["type"] == "tool_call"
                && m["args"]["command"]
                    .as_str()
                    .is_some_and(|c| c.contains("271"))
        })
        .await;
    agent.kill9().await;
    nothing_lives_on(&home).await;

    let again = AgentProcess::start(&home, &["--continue"]);
    let window = again.sync().await["live_window"].to_string();
    assert!(
        window.contains("remember this") && window.contains("shown-42"),
        "{window}"
    );
    let turn = again.turn("go on").await;
    assert_eq!((turn.text().as_str(), turn.reason()), ("going on", "done"));
    let results = model.request(1).await.tool_results();
    let texts: Vec<_> = results.iter().map(|(_, text)| text.as_str()).collect();
    assert!(texts[0].starts_with("shown-42"), "{texts:?}");
    assert!(texts[1].starts_with("interrupted: "), "{texts:?}");
    assert!(texts[2].starts_with("not started: "), "{texts:?}");
    assert!(!home.has("never.txt"));
}

#[tokio::test]
async fn killed_while_it_streams_nothing_shown_is_lost() {
    let gate = Gate::new();
    let model = ScriptedModel::start([
        reply![text("first answer")],
        reply![text("half").chunks(2), hold(&gate)],
        reply![text("second answer")],
    ]);
    let home = Home::new(&model);
    let agent = AgentProcess::start(&home, &[]);
    agent.turn("one").await;
    agent.ok("prompt", json!({ "message": "two" })).await;
    gate.reached().await;
    agent.kill9().await;
    nothing_lives_on(&home).await;

    let again = AgentProcess::start(&home, &["--continue"]);
    again.sync().await;
    assert_eq!(again.turn("three").await.text(), "second answer");
    assert_eq!(
        model.request(2).await.user_texts().concat(),
        "onetwo\n\nthree"
    );
}

#[tokio::test]
async fn a_prompt_that_waited_runs_once_after_the_restart() {
    let gate = Gate::new();
    let model = ScriptedModel::start([
        reply![text("working"), hold(&gate)],
        reply![text("did what waited")],
        reply![text("and nothing twice")],
    ]);
    let home = Home::new(&model);
    let agent = AgentProcess::start(&home, &[]);
    agent.ok("prompt", json!({ "message": "first" })).await;
    gate.reached().await;
    agent
        .ok(
            "prompt",
            json!({ "message": "later", "streaming_behavior": "follow_up" }),
        )
        .await;
    agent.kill9().await;

    let again = AgentProcess::start(&home, &["--continue"]);
    let end = again.wait_for_type(Mark::START, "turn_end").await;
    assert_eq!(end["reason"], "done");
    assert!(again.quit().await.success());
    let third = AgentProcess::start(&home, &["--continue"]);
    assert_eq!(third.turn("more").await.text(), "and nothing twice");
    assert_eq!(model.requests().len(), 3);
    assert_eq!(
        model
            .request(2)
            .await
            .user_texts()
            .iter()
            .filter(|t| t.contains("later"))
            .count(),
        1
    );
}

#[tokio::test]
async fn killed_with_a_question_open_the_call_did_not_run() {
    let model = ScriptedModel::start([
        reply![tool("write", json!({ "path": "x.txt", "content": "x" }))],
        reply![text("ok")],
    ]);
    let home = Home::builder().model(&model).rules(ask_all()).build();
    let agent = AgentProcess::start(&home, &[]);
    agent.ok("prompt", json!({ "message": "write" })).await;
    agent.wait_for_type(Mark::START, "permission_request").await;
    agent.kill9().await;

    let again = AgentProcess::start(&home, &["--continue"]);
    assert_eq!(again.sync().await["pending_requests"], json!([]));
    assert_eq!(again.turn("go on").await.reason(), "done");
    assert!(
        model.request(1).await.tool_results()[0]
            .1
            .starts_with("not started: ")
    );
    assert!(!home.has("x.txt"));
}

#[tokio::test]
async fn a_peer_that_goes_away_ends_the_agent_and_all_it_started() {
    let model = ScriptedModel::start([reply![
        tool(
            "bash",
            json!({ "command": "(setsid sleep 272 &); sleep 272" })
        ),
        tool("bash", json!({ "command": "touch never" })),
    ]]);
    let home = Home::new(&model);
    let agent = AgentProcess::start(&home, &[]);
    agent.ok("prompt", json!({ "message": "go" })).await;
    agent.wait_for_type(Mark::START, "tool_call").await;
    assert!(agent.quit().await.success());
    nothing_lives_on(&home).await;
    let results = home
        .session_rows(&home.session_file())
        .into_iter()
        .filter(|row| row["type"] == "tool_result");
    assert_eq!(results.count(), 2);
    assert!(!home.has("never"));
}
