//! Model servers that fail, each through the binary.

use serde_json::{Value, json};
use shard_testkit::{
    AgentProcess, Gate, Home, Mark, ScriptedModel, Turn, cut, error, error_event, hold, reply,
    text, tool,
};

fn errors(turn: &Turn) -> Vec<(String, String)> {
    let word = |value: &Value| value.as_str().unwrap().to_owned();
    turn.of("error")
        .iter()
        .map(|e| (word(&e["code"]), word(&e["message"])))
        .collect()
}

#[tokio::test]
async fn what_cannot_help_is_not_tried_again_and_says_what_to_do() {
    for (status, words) in [
        (401, "key"),
        (403, "key"),
        (404, "model"),
        (400, "scripted"),
    ] {
        let model = ScriptedModel::start([
            reply![error(status).message("scripted refusal")],
            reply![text("fine")],
        ]);
        let home = Home::new(&model);
        let agent = AgentProcess::start(&home, &[]);
        let turn = agent.turn("go").await;
        let errors = errors(&turn);
        assert_eq!(errors.len(), 1, "{status}: {errors:?}");
        assert_eq!(errors[0].0, "PROVIDER_ERROR");
        assert!(
            errors[0].1.contains(words) && errors[0].1.contains("scripted refusal"),
            "{status}: {errors:?}"
        );
        assert_eq!(
            (turn.reason(), model.requests().len()),
            ("error", 1),
            "{status}"
        );
        assert_eq!(agent.turn("again").await.text(), "fine", "{status}");
    }
}

#[tokio::test]
async fn what_may_pass_is_tried_again_in_sight_and_shown_once() {
    for first in [
        reply![error(429).retry_after(0)],
        reply![error(500).retry_after(0)],
        reply![cut()],
    ] {
        let model = ScriptedModel::silent();
        model.add(first);
        model.add(reply![text("here").chunks(2)]);
        let home = Home::new(&model);
        let agent = AgentProcess::start(&home, &[]);
        let turn = agent.turn("go").await;
        assert_eq!(
            (turn.text().as_str(), turn.reason(), model.requests().len()),
            ("here", "done", 2)
        );
        assert!(errors(&turn).is_empty());
        let retrying = turn
            .of("status")
            .iter()
            .any(|s| s["detail"].as_str().is_some_and(|d| d.contains("retrying")));
        assert!(retrying, "{:?}", turn.of("status"));
        assert_eq!(model.request(1).await.user_texts(), ["go"]);
    }
}

#[tokio::test]
async fn an_answer_that_breaks_off_is_kept_marked_and_told() {
    for end in [cut(), error_event("overloaded_error", "scripted overload")] {
        let model = ScriptedModel::silent();
        model.add(reply![text("half an answer").chunks(2), end]);
        model.add(reply![text("whole")]);
        let home = Home::new(&model);
        let agent = AgentProcess::start(&home, &[]);
        let turn = agent.turn("go").await;
        assert_eq!(
            (errors(&turn).len(), turn.reason(), model.requests().len()),
            (1, "error", 1)
        );
        let last = turn.of("message_complete").last().unwrap()["message"].clone();
        assert_eq!(last["partial"], json!(true), "{last}");
        assert!(
            "half an answer".starts_with(last["content"][0]["text"].as_str().unwrap()),
            "{last}"
        );
        assert_eq!(agent.turn("again").await.text(), "whole");
    }
}

#[tokio::test]
async fn a_server_that_is_not_there_and_a_key_that_is_not_set_are_named() {
    let model = ScriptedModel::silent();
    let gone = Home::builder().base_url("http://127.0.0.1:9/v1").build();
    let agent = AgentProcess::start(&gone, &[]);
    agent.ok("prompt", json!({ "message": "go" })).await;
    let status = agent
        .wait_for(Mark::START, "a retry", |m| {
            m["type"] == "status" && m["detail"].is_string()
        })
        .await;
    assert!(
        status["detail"].as_str().unwrap().contains("127.0.0.1:9"),
        "{status}"
    );
    agent.ok("abort", json!({})).await;

    let keyless = Home::builder()
        .model(&model)
        .provider_config(json!({ "api_key_env": "NO_SUCH_KEY" }))
        .build();
    let agent = AgentProcess::start(&keyless, &[]);
    let turn = agent.turn("go").await;
    assert!(
        errors(&turn)[0].1.contains("NO_SUCH_KEY"),
        "{:?}",
        errors(&turn)
    );
}

#[tokio::test]
async fn a_call_whose_arguments_were_cut_or_broken_does_not_run() {
    let model = ScriptedModel::start([
        reply![tool("write", json!({})).raw("{\"path\": \"cut.txt\", \"content\": \"begin"),]
            .finish("length"),
        reply![
            tool("write", json!({})).raw("{bad"),
            tool("write", json!({ "path": 7 }))
        ],
        reply![text("understood")],
    ]);
    let home = Home::new(&model);
    let agent = AgentProcess::start(&home, &[]);
    let turn = agent.turn("go").await;
    assert_eq!(
        (turn.text().as_str(), turn.results().len()),
        ("understood", 3)
    );
    assert!(turn.of("tool_call").is_empty() && !home.has("cut.txt"));
    assert!(
        turn.result_text(0).contains("output limit"),
        "{}",
        turn.result_text(0)
    );
    assert!(
        turn.result_text(1).contains("not valid JSON"),
        "{}",
        turn.result_text(1)
    );
    assert!(
        turn.result_text(2).contains("path"),
        "{}",
        turn.result_text(2)
    );
}

#[tokio::test]
async fn the_key_is_nowhere_but_at_the_provider() {
    let model = ScriptedModel::start([
        reply![tool(
            "bash",
            json!({ "command": "env; cat /proc/$PPID/environ /proc/self/environ" })
        )],
        reply![error(401).message("bad key sk-mock-3f9a-never-shown")],
    ]);
    let home = Home::builder()
        .model(&model)
        .env("SHARD_LOG", "trace")
        .build();
    let agent = AgentProcess::start(&home, &[]);
    agent.turn("go").await;
    agent.quit().await;
    let secret = "sk-mock-3f9a-never-shown";
    assert_eq!(
        model.request(0).await.header("authorization"),
        Some(format!("Bearer {secret}").as_str())
    );
    let everything = format!("{:?} {}", agent.messages_since(Mark::START), agent.stderr());
    assert!(!everything.contains(secret));
    assert!(
        !std::fs::read_to_string(home.session_file())
            .unwrap()
            .contains(secret)
    );
}

#[tokio::test]
async fn an_abort_ends_the_call_at_the_provider() {
    let gate = Gate::new();
    let model = ScriptedModel::start([reply![text("part"), hold(&gate)], reply![text("fresh")]]);
    let home = Home::new(&model);
    let agent = AgentProcess::start(&home, &[]);
    let mark = agent.mark();
    agent.ok("prompt", json!({ "message": "one" })).await;
    gate.reached().await;
    agent.ok("abort", json!({})).await;
    model.client_gone(0).await;
    let end = agent.wait_for_type(mark, "turn_end").await;
    assert_eq!(end["reason"], "aborted");
    assert_eq!(agent.turn("two").await.text(), "fresh");
}
