//! `shard run` and the commands beside it.

use serde_json::{Value, json};
use shard_testkit::{
    AgentProcess, Home, ScriptedModel, allow_all, ask_all, error, reply, run_cli, text, tool,
};

#[tokio::test]
async fn the_answer_is_on_stdout_and_everything_about_it_is_not() {
    let model = ScriptedModel::start([
        reply![tool("bash", json!({ "command": "echo tool-output" }))],
        reply![text("The answer\u{1b}[2J is 42.").chunks(3)],
    ]);
    let home = Home::new(&model);
    let output = run_cli(&home, &["run", "what is it?"], None).await;
    assert_eq!(output.code(), 0, "{}", output.stderr);
    assert_eq!(
        output.stdout, "The answer[2J is 42.\n",
        "no sequence reaches a terminal"
    );
    assert!(
        output.stderr.contains("bash echo tool-output"),
        "{}",
        output.stderr
    );
    assert_eq!(home.session_files().len(), 1);
}

#[tokio::test]
async fn raw_events_are_json_lines_and_a_failed_turn_is_a_failed_command() {
    let model = ScriptedModel::start([reply![text("fine")], reply![error(400)]]);
    let home = Home::new(&model);
    let output = run_cli(&home, &["run", "--json"], Some(b"hello\nnot this\n")).await;
    assert_eq!(output.code(), 0, "{}", output.stderr);
    let events: Vec<Value> = output
        .stdout
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(
        (&events[0]["type"], &events[1]["type"]),
        (&json!("hello"), &json!("sync"))
    );
    assert!(
        events
            .iter()
            .any(|event| event["type"] == "turn_end" && event["reason"] == "done")
    );
    assert_eq!(model.request(0).await.user_texts(), ["hello"]);
    assert_eq!(run_cli(&home, &["run", "bad"], None).await.code(), 1);
}

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
async fn nobody_to_ask_means_what_the_policy_says() {
    for (policy, rules, written) in [
        ("deny", ask_all(), false),
        ("allow_if_rule_matches", allow_all(), true),
        ("allow_if_rule_matches", ask_all(), false),
    ] {
        let model = ScriptedModel::start([
            reply![tool("write", json!({ "path": "x.txt", "content": "x" }))],
            reply![text("ok")],
        ]);
        let home = Home::builder().model(&model).rules(rules).build();
        let output = run_cli(&home, &["run", "write", "--headless-policy", policy], None).await;
        assert_eq!(
            (output.code(), home.has("x.txt")),
            (0, written),
            "{policy}: {}",
            output.stderr
        );
        if !written {
            assert!(
                model.request(1).await.tool_results()[0]
                    .1
                    .contains("nobody was there to ask")
            );
        }
    }
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

#[tokio::test]
async fn a_newcomer_gets_the_demo_and_is_told_what_else_there_is() {
    let home = Home::builder().env("OPENAI_API_KEY", "sk-offered").build();
    let output = run_cli(&home, &["run", "read README.md"], None).await;
    assert_eq!(output.code(), 0, "{}", output.stderr);
    assert!(
        output.stderr.contains("built-in demo") && output.stderr.contains("read README.md"),
        "{}",
        output.stderr
    );
    let doctor = run_cli(&home, &["doctor", "--json"], None).await;
    let findings: Value = serde_json::from_str(&doctor.stdout).unwrap();
    let offers = findings
        .as_array()
        .unwrap()
        .iter()
        .filter(|finding| finding["area"] == "found");
    assert!(offers.into_iter().any(|offer| {
        offer["message"]
            .as_str()
            .unwrap()
            .contains("shard config use openai")
    }));
    let used = run_cli(
        &home,
        &["config", "use", "openai", "--model", "gpt-x"],
        None,
    )
    .await;
    assert_eq!(used.code(), 0, "{}", used.stderr);
    let shown = run_cli(&home, &["config", "show"], None).await;
    assert!(
        shown.stdout.contains("openai/gpt-x") && !shown.stdout.contains("sk-offered"),
        "{}",
        shown.stdout
    );
    assert_eq!(run_cli(&home, &["config", "check"], None).await.code(), 0);
    home.write_config("{ broken");
    assert_eq!(run_cli(&home, &["doctor"], None).await.code(), 1);
}
