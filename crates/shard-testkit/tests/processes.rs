//! Homes, and programs that run in them. A shell script stands in for the real binary.

use std::time::Duration;

use serde_json::{Value, json};
use shard_testkit::{
    AgentProcess, Answer, Home, Mark, Provider, ScriptedModel, alive, processes_under, run_cli,
    until,
};

/// A home without a configuration, whose program is the script.
fn home() -> Home {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/programs/agent.sh");
    Home::builder().binary(script).build()
}

#[tokio::test]
async fn an_agent_is_driven_through_a_turn_and_quits() {
    let home = home();
    let agent = AgentProcess::start(&home, &["--mode", "plan"]);
    agent.hello().await;
    assert_eq!(agent.sync().await["cwd"], home.work().to_str().unwrap());
    let turn = agent.turn_with("Hello", |_| Answer::Deny).await;
    assert_eq!((turn.reason(), &*turn.text()), ("done", "Done"));
    assert_eq!(turn.result_text(0), "deny");
    let want = [
        "response",
        "permission_request",
        "tool_result",
        "message_complete",
        "turn_end",
    ];
    assert_eq!(turn.types(), want);
    assert_eq!(agent.err("status", json!({})).await["code"], "NOT_FOUND");
    assert_eq!(agent.messages_since(Mark::START).len(), 8);
    assert_eq!(agent.quit().await.code(), Some(7));
}

#[tokio::test]
async fn dropping_an_agent_leaves_no_process() {
    let home = home();
    let agent = AgentProcess::start(&home, &[]);
    agent.hello().await;
    let pid = agent.pid();
    assert!(processes_under(home.root()).contains(&pid));
    drop(agent);
    assert!(!alive(pid));
    let gone = || processes_under(home.root()).is_empty();
    until("nothing runs under the home", Duration::from_secs(2), gone).await;
}

#[tokio::test]
async fn a_wait_that_fails_says_what_for_and_what_came() {
    let home = home();
    let agent = AgentProcess::start(&home, &[]);
    agent.sync().await;
    agent.kill9().await;
    let waiting = tokio::spawn(async move {
        agent.wait_for_type(Mark::START, "turn_end").await;
    });
    let panic = waiting.await.unwrap_err().into_panic();
    let text = panic.downcast_ref::<String>().unwrap();
    let start =
        "waiting for turn_end: the output ended\nlast of 2 messages:\n  {\"type\":\"hello\"}";
    assert!(text.starts_with(start), "{text}");
}

#[tokio::test]
async fn a_command_gets_its_input_and_gives_both_outputs_and_its_status() {
    let home = home();
    let output = run_cli(&home, &["run", "--json"], Some(b"from stdin")).await;
    assert_eq!(output.stdout, "args: run --json\nfrom stdin");
    assert_eq!((output.code(), &*output.stderr), (3, "oops\n"));
}

#[test]
fn a_home_is_a_repository_with_one_commit_and_a_whole_configuration() {
    let model = ScriptedModel::silent();
    let builder = Home::builder().model(&model).provider(Provider::Anthropic);
    let home = builder
        .permissions(json!({"ask_timeout_secs": 1}))
        .config(json!({"tools": {"max_rounds": 3}}))
        .build();
    assert_eq!(home.git(&["log", "--format=%an %s"]), "Tester Begin");
    assert_eq!(home.git(&["status", "--porcelain"]), "");
    assert!(home.read("README.md").starts_with("# Readme\n"));
    home.write("src/deep/new.txt", "x");
    assert!(home.has("src/deep/new.txt"));

    let text = std::fs::read_to_string(home.config_path()).unwrap();
    let config: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(&config, home.config());
    let url = format!("http://{}", model.address());
    assert_eq!(config["providers"]["mock"]["base_url"], url);
    let permissions = json!({"rules": [{"action": "allow", "tool": "*"}], "ask_timeout_secs": 1});
    assert_eq!(config["permissions"], permissions);
    assert_eq!(config["tools"]["max_rounds"], 3);
    let names: Vec<String> = home.env().into_keys().collect();
    let want = [
        "HOME",
        "LANG",
        "MOCK_KEY",
        "NO_PROXY",
        "PATH",
        "SHARD_HOME",
        "XDG_CONFIG_HOME",
    ];
    assert_eq!(names, want);
}

#[test]
fn session_files_are_found_and_read() {
    let home = Home::builder().without_git().build();
    let folder = home.shard_home().join("sessions");
    std::fs::create_dir_all(&folder).unwrap();
    let row = json!({"id": "msg-1", "parentId": null, "timestamp": 1, "type": "message",
        "details": {"role": "user", "content": []}});
    std::fs::write(folder.join("one.jsonl"), format!("{row}\n")).unwrap();
    let file = home.session_file();
    assert_eq!(home.session_rows(&file), [row]);
    assert_eq!(home.session_entries(&file)[0].timestamp, 1);
}
