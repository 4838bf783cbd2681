//! Questions of a tool to the person, and questions that nobody answers.

use std::process::Stdio;
use std::time::Duration;

use serde_json::{Value, json};
use shard_testkit::{
    AgentProcess, Home, Mark, ScriptedModel, ask_all, processes_under, reply, text, tool, until,
};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::Command;

use crate::{ENDS_WITHIN, word};

fn asking(question: Value) -> ScriptedModel {
    ScriptedModel::start([reply![tool("ask_user", question)], reply![text("noted")]])
}

#[tokio::test]
async fn nothing_in_a_dialog_hides() {
    let model = asking(
        json!({ "question": "\u{1b}[2J\u{202e}Allow?\nReally?", "options": ["a\u{1b}", "b\n"] }),
    );
    let home = Home::new(&model);
    let agent = AgentProcess::start(&home, &[]);
    agent.ok("prompt", json!({ "message": "ask" })).await;
    let ask = agent.wait_for_type(Mark::START, "ui_request").await;
    assert_eq!(ask["message"], "␛[2J<U+202E>Allow?\nReally?");
    assert_eq!(ask["options"], json!(["a␛", "b␊"]));
}

/// Two messages with the same large arguments, and a reader that takes its time.
#[tokio::test]
async fn a_large_call_does_not_cost_its_reader_the_connection() {
    let content = "y".repeat(3 << 20);
    let model = ScriptedModel::start([
        reply![tool(
            "write",
            json!({ "path": "large.txt", "content": content })
        )],
        reply![text("written")],
    ]);
    let home = Home::builder()
        .model(&model)
        .config(json!({ "daemon": { "client_queue_bytes": 4096 } }))
        .build();
    let agent = AgentProcess::start(&home, &[]);
    let turn = agent.turn("go").await;
    assert_eq!((turn.text().as_str(), turn.reason()), ("written", "done"));
    assert_eq!(home.read("large.txt").len(), 3 << 20);
}

#[tokio::test]
async fn a_dialog_is_in_the_sync_until_its_answer_reaches_the_model() {
    let model = asking(json!({ "question": "Which?", "options": ["a", "b"], "multiple": true }));
    let home = Home::new(&model);
    let agent = AgentProcess::start(&home, &[]);
    let mark = agent.mark();
    agent.ok("prompt", json!({ "message": "ask" })).await;
    let ask = agent.wait_for_type(mark, "ui_request").await;
    assert_eq!(
        (
            &ask["kind"],
            &ask["options"],
            &ask["multiple"],
            &ask["message"]
        ),
        (
            &json!("select"),
            &json!(["a", "b"]),
            &json!(true),
            &json!("Which?")
        )
    );
    let waiting = |m: &Value| m["type"] == "status" && m["status"] == "waiting_for_ui";
    agent.wait_for(mark, "the status", waiting).await;
    let place = agent.mark();
    agent.send(json!({ "type": "sync" })).await;
    let sync = agent.wait_for_type(place, "sync").await;
    let pending = sync["pending_requests"].as_array().unwrap();
    assert_eq!(pending.len(), 1, "{sync}");
    assert!(
        pending[0].to_string().contains(word(&ask["request_id"])),
        "{sync}"
    );

    let answer = json!({ "request_id": ask["request_id"], "value": ["b"] });
    agent.ok("ui_response", answer.clone()).await;
    let turn = agent.follow(mark, |ask| panic!("{ask}")).await;
    let resolved = turn.of("ui_resolved");
    assert_eq!(resolved.len(), 1);
    assert_eq!(
        (&resolved[0]["request_id"], &resolved[0]["value"]),
        (&ask["request_id"], &json!(["b"]))
    );
    assert_eq!(model.request(1).await.tool_results()[0].1, "b");
    assert_eq!(
        agent.ok("ui_response", answer).await,
        json!({ "late": true })
    );
}

#[tokio::test]
async fn a_dialog_that_is_closed_without_an_answer_is_told_to_the_model() {
    let model = asking(json!({ "question": "Your name?" }));
    let home = Home::new(&model);
    let agent = AgentProcess::start(&home, &[]);
    let mark = agent.mark();
    agent.ok("prompt", json!({ "message": "ask" })).await;
    let ask = agent.wait_for_type(mark, "ui_request").await;
    let closed = json!({ "request_id": ask["request_id"], "value": null });
    agent.ok("ui_response", closed).await;
    let turn = agent.follow(mark, |ask| panic!("{ask}")).await;
    assert_eq!((turn.reason(), turn.text().as_str()), ("done", "noted"));
    assert_eq!(turn.of("ui_resolved")[0]["value"], Value::Null);
    assert_eq!(turn.results()[0]["is_error"], true);
    let result = &model.request(1).await.tool_results()[0].1;
    assert!(result.contains("nobody answered"), "{result}");
}

#[tokio::test]
async fn an_abort_closes_a_dialog_and_the_next_turn_works() {
    let model = asking(json!({ "question": "Your name?" }));
    let home = Home::new(&model);
    let agent = AgentProcess::start(&home, &[]);
    let mark = agent.mark();
    agent.ok("prompt", json!({ "message": "ask" })).await;
    let ask = agent.wait_for_type(mark, "ui_request").await;
    agent.ok("abort", json!({})).await;
    let closed = agent.wait_for_type(mark, "ui_resolved").await;
    assert_eq!(
        (&closed["request_id"], &closed["value"], &closed["source"]),
        (&ask["request_id"], &Value::Null, &json!("aborted"))
    );
    let late = json!({ "request_id": ask["request_id"], "value": "Ada" });
    assert_eq!(agent.ok("ui_response", late).await, json!({ "late": true }));
    let turn = agent.turn("again").await;
    assert_eq!(turn.text(), "noted");
    let results = model.request(1).await.tool_results();
    assert!(!results[0].1.contains("Ada"), "{results:?}");
}

#[tokio::test]
async fn a_dialog_that_nobody_answers_in_time_ends_with_no_answer() {
    let model = asking(json!({ "question": "Your name?" }));
    let home = Home::builder()
        .model(&model)
        .permissions(json!({ "ask_timeout_secs": 1 }))
        .build();
    let agent = AgentProcess::start(&home, &[]);
    let turn = agent.turn("ask").await;
    let resolved = turn.of("ui_resolved");
    assert_eq!(
        (&resolved[0]["value"], &resolved[0]["source"]),
        (&Value::Null, &json!("timeout"))
    );
    assert_eq!((turn.reason(), turn.text().as_str()), ("done", "noted"));
}

#[tokio::test]
async fn without_a_person_a_dialog_has_no_answer_at_once() {
    let model = asking(json!({ "question": "Your name?" }));
    let home = Home::new(&model);
    let output = shard_testkit::run_cli(&home, &["run", "ask"], None).await;
    assert_eq!(
        (output.code(), output.stdout.as_str()),
        (0, "noted\n"),
        "{}",
        output.stderr
    );
    let result = &model.request(1).await.tool_results()[0].1;
    assert!(result.contains("nobody answered"), "{result}");
}

#[tokio::test]
async fn a_run_that_queues_its_questions_waits_without_another_call() {
    let model = ScriptedModel::start([reply![tool(
        "write",
        json!({ "path": "x.txt", "content": "x" })
    )]]);
    let home = Home::builder()
        .model(&model)
        .rules(ask_all())
        .permissions(json!({ "ask_timeout_secs": 1 }))
        .build();
    let mut child = Command::new(home.binary())
        .args(["run", "--json", "--headless-policy", "queue", "write"])
        .current_dir(home.work())
        .env_clear()
        .envs(home.env())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    loop {
        let line = lines.next_line().await.unwrap().expect("it waits");
        let message: Value = serde_json::from_str(&line).unwrap();
        assert_ne!(message["type"], "permission_resolved", "{message}");
        if message["type"] == "status" && message["status"] == "waiting_for_permission" {
            break;
        }
    }
    // Past the time that a person would have had, nothing has come.
    let more = tokio::time::timeout(Duration::from_millis(1500), async {
        loop {
            let line = lines.next_line().await.unwrap().expect("it waits");
            let message: Value = serde_json::from_str(&line).unwrap();
            if message["type"] == "permission_resolved" || message["type"] == "turn_end" {
                return line;
            }
        }
    });
    assert_eq!(more.await.ok(), None);
    assert_eq!(model.requests().len(), 1);
    let pid = rustix::process::Pid::from_raw(child.id().unwrap().cast_signed()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    let rest = async {
        let mut rest = Vec::new();
        while let Ok(Some(line)) = lines.next_line().await {
            rest.push(serde_json::from_str::<Value>(&line).unwrap());
        }
        rest
    };
    let rest = tokio::time::timeout(ENDS_WITHIN, rest).await.unwrap();
    assert!(!child.wait().await.unwrap().success());
    let closed = rest
        .iter()
        .find(|m| m["type"] == "permission_resolved")
        .unwrap();
    assert_eq!(
        (&closed["decision"], &closed["source"]),
        (&json!("deny"), &json!("aborted"))
    );
    assert!(!home.has("x.txt"));
    until("nothing is left", ENDS_WITHIN, || {
        processes_under(home.root()).is_empty()
    })
    .await;
}

#[tokio::test]
async fn ask_user_is_there_only_when_it_is_named() {
    let model = ScriptedModel::start([reply![text("a")], reply![text("b")]]);
    let home = Home::new(&model);
    for (tools, there) in [("read,ask_user", true), ("read,bash", false)] {
        let agent = AgentProcess::start(&home, &["--tools", tools]);
        agent.turn("hi").await;
        let request = model.requests().pop().unwrap();
        let mut offered = request.tools();
        offered.sort_unstable();
        let mut want: Vec<_> = tools.split(',').collect();
        want.sort_unstable();
        assert_eq!(offered, want);
        assert_eq!(offered.contains(&"ask_user"), there);
        assert!(agent.messages_since(Mark::START).len() > 2);
    }
}
