//! A disk that is full, played with a limit on the size of files.

use std::fs;
use std::process::Command;

use serde_json::{Value, json};
use shard_testkit::{AgentProcess, Home, Mark, ScriptedModel, reply, run_cli, text, tool};

/// A home whose agent may write files of at most that many KiB, until [`lift`].
fn limited(model: &ScriptedModel, kib: u32) -> (Home, tempfile::TempDir) {
    let plain = Home::new(model);
    let dir = tempfile::tempdir().unwrap();
    let (draft, script) = (dir.path().join("draft"), dir.path().join("shard"));
    let binary = plain.binary().display();
    let lines = format!("#!/bin/bash\nulimit -f $(<\"$0.limit\")\nexec {binary} \"$@\"\n");
    fs::write(&draft, lines).unwrap();
    // A program that this process had open for writing could not be started for as long as a
    // child that another test forks just then holds a copy of the descriptor.
    let install = Command::new("install").args([&draft, &script]).status();
    assert!(install.unwrap().success());
    let home = Home::builder().model(model).binary(&script).build();
    limit(&home, &kib.to_string());
    (home, dir)
}

fn limit(home: &Home, kib: &str) {
    fs::write(home.binary().with_extension("limit"), kib).unwrap();
}

/// The disk has room again, for agents that start from now on.
fn lift(home: &Home) {
    limit(home, "unlimited");
}

/// Every line of the session is whole, and everything that was shown is among them.
fn assert_whole(home: &Home, agent: &AgentProcess) -> String {
    let file = fs::read_to_string(home.session_file()).unwrap();
    assert!(file.ends_with('\n'));
    let rows: Vec<Value> = file
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    for message in agent.messages_since(Mark::START) {
        let kept = match message["type"].as_str() {
            Some("message_complete") => rows.iter().any(|row| row["id"] == message["message_id"]),
            Some("tool_call") => rows.iter().any(|row| {
                row["details"]["artifactKind"] == "tool_started"
                    && row["details"]
                        .to_string()
                        .contains(message["tool_call_id"].as_str().unwrap())
            }),
            Some("tool_result") => rows
                .iter()
                .any(|row| row["details"]["toolCallId"] == message["tool_call_id"]),
            _ => true,
        };
        assert!(kept, "shown and not kept: {message}");
    }
    file
}

/// The one error that the client hears after the mark.
async fn the_error(agent: &AgentProcess, mark: Mark) -> Value {
    let end = agent.wait_for_type(mark, "turn_end").await;
    assert_eq!(end["reason"], "error");
    let messages = agent.messages_since(mark);
    let errors: Vec<_> = messages.iter().filter(|m| m["type"] == "error").collect();
    assert_eq!(errors.len(), 1, "{errors:?}");
    assert_eq!(errors[0]["code"], "INTERNAL_ERROR");
    let words = errors[0]["message"].as_str().unwrap();
    assert!(words.starts_with("cannot write to the session "), "{words}");
    errors[0].clone()
}

#[tokio::test]
async fn an_answer_that_does_not_fit_is_not_shown_and_leaves_no_half() {
    let model = ScriptedModel::start([
        reply![text("short")],
        reply![text("long ".repeat(8000))],
        reply![text("room again")],
    ]);
    let (home, _script) = limited(&model, 16);
    let agent = AgentProcess::start(&home, &[]);
    assert_eq!(agent.turn("one").await.text(), "short");
    let mark = agent.mark();
    agent.ok("prompt", json!({ "message": "two" })).await;
    the_error(&agent, mark).await;
    assert!(agent.quit().await.success());
    let file = assert_whole(&home, &agent);
    assert!(!file.contains("long long"), "the half row was taken back");

    lift(&home);
    let again = AgentProcess::start(&home, &["--continue"]);
    let window = again.sync().await["live_window"].to_string();
    for kept in ["one", "short", "two"] {
        assert!(window.contains(&format!("\"{kept}\"")), "{kept}: {window}");
    }
    assert_eq!(again.turn("three").await.text(), "room again");
    assert!(again.quit().await.success());
    assert!(assert_whole(&home, &again).starts_with(&file));
    let told = again.messages_since(Mark::START);
    assert!(!told.iter().any(|m| m["type"] == "error"), "no damage");
}

#[tokio::test]
async fn a_prompt_that_does_not_fit_is_refused_and_a_shorter_one_is_taken() {
    let model = ScriptedModel::start([reply![text("short")]]);
    let (home, _script) = limited(&model, 16);
    let agent = AgentProcess::start(&home, &[]);
    let refused = agent
        .err("prompt", json!({ "message": "long ".repeat(8000) }))
        .await;
    assert_eq!(refused["code"], "INTERNAL_ERROR");
    assert_eq!(agent.turn("one").await.text(), "short");
    agent.quit().await;
    let file = assert_whole(&home, &agent);
    assert!(!file.contains("long long"), "{file}");
    assert_eq!(model.request(0).await.user_texts(), ["one"]);
}

#[tokio::test]
async fn a_result_that_does_not_fit_is_told_as_interrupted_after_the_restart() {
    let model = ScriptedModel::start([
        reply![
            tool("bash", json!({ "command": "touch ran; seq 1 6000" })),
            tool("bash", json!({ "command": "touch never" }))
        ],
        reply![text("I see")],
    ]);
    let (home, _script) = limited(&model, 16);
    let agent = AgentProcess::start(&home, &[]);
    agent.ok("prompt", json!({ "message": "go" })).await;
    the_error(&agent, Mark::START).await;
    agent.quit().await;
    assert_whole(&home, &agent);
    assert!(home.has("ran") && !home.has("never"));

    lift(&home);
    let again = AgentProcess::start(&home, &["--continue"]);
    assert_eq!(again.turn("and?").await.text(), "I see");
    let results = model.request(1).await.tool_results();
    assert!(results[0].1.starts_with("interrupted: "), "{results:?}");
    assert!(results[1].1.starts_with("not started: "), "{results:?}");
}

#[tokio::test]
async fn a_session_that_cannot_even_begin_says_so_and_leaves_no_file() {
    let model = ScriptedModel::silent();
    let (home, _script) = limited(&model, 0);
    let output = run_cli(&home, &["agent"], None).await;
    assert_eq!((output.code(), output.stdout.as_str()), (1, ""));
    assert_eq!(output.stderr.trim().lines().count(), 1, "{}", output.stderr);
    assert!(output.stderr.contains("session"), "{}", output.stderr);
    assert_eq!(home.session_files(), Vec::<std::path::PathBuf>::new());
}

#[tokio::test]
async fn an_edit_that_does_not_fit_leaves_the_old_file_whole() {
    let edit = json!({ "path": "big.txt", "old_text": "the start", "new_text": "the beginning" });
    let model = ScriptedModel::start([reply![tool("edit", edit)], reply![text("told")]]);
    let (home, _script) = limited(&model, 256);
    let old = format!("the start\n{}", "filler line\n".repeat(40_000));
    home.write("big.txt", &old);
    let agent = AgentProcess::start(&home, &[]);
    let turn = agent.turn("go").await;
    assert_eq!((turn.text().as_str(), turn.reason()), ("told", "done"));
    let said = turn.result_text(0);
    assert_eq!(turn.results()[0]["is_error"], json!(true), "{said}");
    assert!(said.contains("big.txt"), "{said}");
    assert_eq!(home.read("big.txt"), old);
    let status = home.git(&["status", "--short"]);
    assert_eq!(status, "?? big.txt", "no half-written file is left");
}

#[tokio::test]
async fn a_write_whose_call_does_not_fit_into_the_session_does_not_run() {
    let long = json!({ "path": "old.txt", "content": "new line\n".repeat(8000) });
    let model = ScriptedModel::start([reply![tool("write", long)], reply![text("as before")]]);
    let (home, _script) = limited(&model, 64);
    home.write("old.txt", "old\n");
    let agent = AgentProcess::start(&home, &[]);
    let mark = agent.mark();
    agent.ok("prompt", json!({ "message": "go" })).await;
    the_error(&agent, mark).await;
    assert_eq!(home.read("old.txt"), "old\n");
    assert_eq!(home.git(&["status", "--short"]), "?? old.txt");
    assert_eq!(agent.turn("again").await.text(), "as before");
    assert_eq!(model.request(1).await.tool_calls(), []);
    assert!(agent.quit().await.success());
    assert_whole(&home, &agent);
}
