//! What is refused leaves nothing behind.

use serde_json::json;
use shard_testkit::{AgentProcess, Home, ScriptedModel, reply, run_cli, text, tool};

#[tokio::test]
async fn without_a_prompt_there_is_no_session() {
    let model = ScriptedModel::silent();
    let home = Home::new(&model);
    let output = run_cli(&home, &["run"], Some(b"")).await;
    assert_eq!(output.code(), 2);
    assert_eq!(output.stderr.trim().lines().count(), 1, "{}", output.stderr);
    assert!(home.session_files().is_empty());
}

#[tokio::test]
async fn mistakes_are_told_in_one_line() {
    let model = ScriptedModel::silent();
    let home = Home::new(&model);
    for (args, code, words) in [
        (
            vec!["run", "x", "--cwd", "/nowhere/at/all"],
            1,
            "/nowhere/at/all",
        ),
        (vec!["run", "x", "--tools", "read,teleport"], 1, "teleport"),
        (vec!["run", "x", "--mode", "dream"], 1, "dream"),
        (vec!["run", "x", "--model", "nosuch/zzz"], 1, "nosuch"),
        (vec!["run", "x", "--headless-policy", "hope"], 2, "hope"),
        (vec!["teleport"], 2, "teleport"),
    ] {
        let output = run_cli(&home, &args, None).await;
        assert_eq!(output.code(), code, "{args:?}: {}", output.stderr);
        assert!(output.stderr.contains(words), "{args:?}: {}", output.stderr);
        assert_eq!(
            output.stderr.trim().lines().count(),
            1,
            "{args:?}: {}",
            output.stderr
        );
    }
    assert!(
        home.session_files().is_empty(),
        "nothing is left of a start that failed"
    );
}

#[tokio::test]
async fn no_tool_runs_once_the_working_directory_is_gone() {
    let model = ScriptedModel::start([
        reply![
            tool("bash", json!({ "command": "echo hi" })),
            tool("read", json!({ "path": "README.md" })),
            tool("write", json!({ "path": "x.txt", "content": "x" })),
        ],
        reply![text("understood")],
    ]);
    let home = Home::new(&model);
    let agent = AgentProcess::start(&home, &[]);
    agent.sync().await;
    std::fs::remove_dir_all(home.work()).unwrap();
    let turn = agent.turn("go").await;
    for call in 0..3 {
        let said = turn.result_text(call);
        assert!(
            said.contains("the working directory") && said.contains("is gone"),
            "{said}"
        );
    }
    assert_eq!(turn.text(), "understood");
    assert!(!home.work().exists(), "nothing made it again");
}
