//! A disk that is full, played with a limit on the size of files.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use serde_json::{Value, json};
use shard_testkit::{AgentProcess, Home, Mark, ScriptedModel, reply, text, tool};

/// A home whose agent may write files of at most `blocks` KiB.
fn limited(model: &ScriptedModel, blocks: u32) -> (Home, tempfile::TempDir) {
    let plain = Home::new(model);
    let dir = tempfile::tempdir().unwrap();
    let script = dir.path().join("shard");
    let binary = plain.binary().display();
    fs::write(
        &script,
        format!("#!/bin/bash\nulimit -f {blocks}\nexec {binary} \"$@\"\n"),
    )
    .unwrap();
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
    (Home::builder().model(model).binary(&script).build(), dir)
}

#[tokio::test]
async fn a_row_that_does_not_fit_is_not_shown_and_leaves_no_half() {
    let model = ScriptedModel::start([reply![text("short")], reply![text("long ".repeat(8000))]]);
    let (home, _script) = limited(&model, 16);
    let agent = AgentProcess::start(&home, &[]);
    assert_eq!(agent.turn("one").await.text(), "short");
    let mark = agent.mark();
    agent.ok("prompt", json!({ "message": "two" })).await;
    let error = agent.wait_for_type(mark, "error").await;
    assert!(
        error["message"].as_str().unwrap().contains("session"),
        "{error}"
    );
    let end = agent.wait_for_type(mark, "turn_end").await;
    assert_eq!(end["reason"], "error");
    agent.quit().await;
    let file = fs::read_to_string(home.session_file()).unwrap();
    assert!(file.ends_with('\n'));
    for line in file.lines() {
        serde_json::from_str::<Value>(line).unwrap();
    }
    for message in agent.messages_since(Mark::START) {
        if message["type"] == "message_complete" {
            assert!(
                file.contains(message["message_id"].as_str().unwrap()),
                "shown and not kept: {message}"
            );
        }
    }
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
    assert_eq!(turn.results()[0]["is_error"], json!(true));
    assert!(
        turn.result_text(0).contains("big.txt"),
        "{}",
        turn.result_text(0)
    );
    assert_eq!(home.read("big.txt"), old);
    assert_eq!(
        home.git(&["status", "--short"]),
        "?? big.txt",
        "no half-written file is left"
    );
}
