//! Session files that something happened to.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use serde_json::json;
use shard_testkit::{AgentProcess, Home, Mark, ScriptedModel, reply, run_cli, text, tool};

async fn two_turns(home: &Home) {
    let agent = AgentProcess::start(home, &[]);
    agent.turn("one").await;
    agent.turn("two").await;
    assert!(agent.quit().await.success());
}

fn model() -> ScriptedModel {
    ScriptedModel::start([
        reply![text("first")],
        reply![text("second")],
        reply![text("third")],
    ])
}

#[tokio::test]
async fn a_torn_last_line_stays_and_the_session_goes_on() {
    let model = model();
    let home = Home::new(&model);
    two_turns(&home).await;
    let path = home.session_file();
    let whole = fs::read(&path).unwrap();
    let torn = &whole[..whole.len() - 12];
    fs::write(&path, torn).unwrap();
    let agent = AgentProcess::start(&home, &["--continue"]);
    agent.sync().await;
    let told = agent.wait_for_type(Mark::START, "error").await;
    assert_eq!(told["code"], "SESSION_CORRUPT");
    assert_eq!(agent.turn("three").await.text(), "third");
    assert!(agent.quit().await.success());
    assert!(
        fs::read(&path).unwrap().starts_with(torn),
        "nothing was rewritten"
    );
    let again = AgentProcess::start(&home, &["--continue"]);
    let window = again.sync().await["live_window"].to_string();
    for kept in ["one", "first", "two", "three", "third"] {
        assert!(window.contains(kept), "{kept}: {window}");
    }
}

#[tokio::test]
async fn a_damaged_line_is_skipped_and_named() {
    let model = model();
    let home = Home::new(&model);
    two_turns(&home).await;
    let path = home.session_file();
    let text = fs::read_to_string(&path).unwrap();
    let at = text
        .lines()
        .position(|line| line.contains("\"first\""))
        .unwrap();
    let damaged: Vec<_> = text
        .lines()
        .enumerate()
        .map(|(n, line)| if n == at { "{\"id\":\"x" } else { line })
        .collect();
    let damaged = damaged.join("\n") + "\n";
    fs::write(&path, &damaged).unwrap();
    let agent = AgentProcess::start(&home, &["--continue"]);
    let window = agent.sync().await["live_window"].to_string();
    assert!(
        window.contains("one") && window.contains("second") && !window.contains("first"),
        "{window}"
    );
    let told = agent.wait_for_type(Mark::START, "error").await;
    assert_eq!(
        (&told["code"], &told["fatal"], &told["data"]["line"]),
        (&json!("SESSION_CORRUPT"), &json!(false), &json!(at + 1))
    );
    assert_eq!(agent.turn("three").await.text(), "third");
    agent.quit().await;
    assert!(fs::read_to_string(&path).unwrap().starts_with(&damaged));
}

#[tokio::test]
async fn a_session_without_its_header_is_refused_and_left_alone() {
    let model = model();
    let home = Home::new(&model);
    two_turns(&home).await;
    let path = home.session_file();
    let id = path.file_stem().unwrap().to_str().unwrap().to_owned();
    fs::write(&path, "nonsense\n").unwrap();
    let output = run_cli(&home, &["agent", "--session", &id], None).await;
    assert_eq!(output.code(), 1);
    assert!(
        output.stderr.contains("cannot be restored"),
        "{}",
        output.stderr
    );
    assert_eq!(fs::read_to_string(&path).unwrap(), "nonsense\n");
}

#[tokio::test]
async fn a_second_writer_is_refused_and_the_first_goes_on() {
    let model = model();
    let home = Home::new(&model);
    let agent = AgentProcess::start(&home, &[]);
    agent.turn("one").await;
    let output = run_cli(&home, &["agent", "--continue"], None).await;
    assert_eq!(output.code(), 1);
    assert!(
        output.stderr.contains("in use by another process"),
        "{}",
        output.stderr
    );
    assert_eq!(agent.turn("two").await.text(), "second");
}

#[tokio::test]
async fn unknown_sessions_are_errors_that_say_what_to_do() {
    let model = model();
    let home = Home::new(&model);
    for (args, words) in [
        (
            ["agent", "--session", "session-none"],
            "there is no session session-none",
        ),
        (
            ["agent", "--continue", "--no-agents-md"],
            "no earlier session",
        ),
    ] {
        let output = run_cli(&home, &args, None).await;
        assert_eq!(output.code(), 1);
        assert!(output.stderr.contains(words), "{}", output.stderr);
        assert_eq!(output.stderr.trim().lines().count(), 1, "{}", output.stderr);
    }
    assert!(home.session_files().is_empty());
}

#[tokio::test]
async fn separators_inside_texts_survive_to_the_byte() {
    let odd = "a\u{2028}b\u{2029}c\u{85}d\ne \\n f";
    let model = ScriptedModel::start([
        reply![
            tool("write", json!({ "path": "odd.txt", "content": odd })),
            tool("read", json!({ "path": "odd.txt" }))
        ],
        reply![text(odd)],
        reply![text("ok")],
    ]);
    let home = Home::new(&model);
    let agent = AgentProcess::start(&home, &[]);
    assert_eq!(agent.turn(odd).await.text(), odd);
    agent.quit().await;
    assert_eq!(home.read("odd.txt"), odd);
    let again = AgentProcess::start(&home, &["--continue"]);
    let sync = again.sync().await;
    let messages = sync["live_window"]["messages"].as_array().unwrap();
    let said = |at: usize| {
        messages[at]["content"][0]["text"]
            .as_str()
            .unwrap()
            .to_owned()
    };
    assert_eq!(
        (said(0), said(messages.len() - 1)),
        (odd.to_owned(), odd.to_owned())
    );
    again.turn("again").await;
    assert!(
        model
            .request(2)
            .await
            .user_texts()
            .iter()
            .any(|text| text == odd)
    );
    let mode = fs::metadata(home.session_file())
        .unwrap()
        .permissions()
        .mode()
        & 0o777;
    assert_eq!(mode, 0o600);
}
