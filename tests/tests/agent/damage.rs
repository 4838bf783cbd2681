//! A session with any one of its lines damaged: it goes on, and nothing happens twice.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use shard_testkit::{AgentProcess, Home, Mark, Provider, ScriptedModel, reply, text, tool};

/// Two turns, the first with two calls in one message. Gives the lines of the file.
async fn recorded(home: &Home) -> Vec<String> {
    let agent = AgentProcess::start(home, &[]);
    agent.turn("count it").await;
    agent.turn("and then").await;
    assert!(agent.quit().await.success());
    let text = fs::read_to_string(home.session_file()).unwrap();
    text.lines().map(str::to_owned).collect()
}

fn model() -> ScriptedModel {
    let count = json!({ "command": "echo once >> count.txt" });
    let model = ScriptedModel::start([reply![
        text("Two calls."),
        tool("bash", count),
        tool("read", json!({ "path": "README.md" }))
    ]]);
    model.add(reply![text("counted")]);
    model.add(reply![text("second answer")]);
    model
}

/// Takes the session up with this file; gives what the client was told of damage, line by line.
async fn goes_on(home: &Home, model: &ScriptedModel, path: &Path, file: &str) -> Vec<Value> {
    fs::write(path, file).unwrap();
    model.add(reply![text("goes on")]);
    let before = model.requests().len();
    let agent = AgentProcess::start(home, &["--continue"]);
    agent.sync().await;
    let turn = agent.turn("more").await;
    assert_eq!((turn.text().as_str(), turn.reason()), ("goes on", "done"));
    assert!(agent.quit().await.success());
    assert_eq!(model.requests().len(), before + 1, "no prompt ran again");
    assert_eq!(model.violations(), Vec::<String>::new());
    assert_eq!(home.read("count.txt"), "once\n");
    let now = fs::read_to_string(path).unwrap();
    assert!(now.starts_with(file), "nothing was rewritten");
    let messages = agent.messages_since(Mark::START);
    let place = |kind: &str| messages.iter().position(|m| m["type"] == kind);
    if let Some(told) = place("error") {
        assert!(place("sync").unwrap() < told, "`sync` comes first");
    }
    let told = messages.into_iter().filter(|m| m["type"] == "error");
    told.map(|error| json!([error["code"], error["fatal"], error["data"]]))
        .collect()
}

async fn any_line_may_be_damaged(provider: Provider) {
    let model = model();
    let home = Home::builder().model(&model).provider(provider).build();
    let lines = recorded(&home).await;
    let path = home.session_file();
    for at in 1..lines.len() {
        let mut damaged = lines.clone();
        let half = damaged[at].len() / 2;
        damaged[at].truncate(half);
        let told = goes_on(&home, &model, &path, &(damaged.join("\n") + "\n")).await;
        let want = json!(["SESSION_CORRUPT", false, { "line": at + 1 }]);
        assert_eq!(told, [want], "{}", lines[at]);
    }
}

#[tokio::test]
async fn whichever_line_is_damaged_the_session_goes_on_over_the_openai_format() {
    any_line_may_be_damaged(Provider::OpenAi).await;
}

#[tokio::test]
async fn whichever_line_is_damaged_the_session_goes_on_over_the_responses_format() {
    any_line_may_be_damaged(Provider::Responses).await;
}

#[tokio::test]
async fn whichever_line_is_damaged_the_session_goes_on_over_the_anthropic_format() {
    any_line_may_be_damaged(Provider::Anthropic).await;
}
