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
async fn a_session_without_a_good_header_is_refused_and_left_alone() {
    let model = model();
    let home = Home::new(&model);
    two_turns(&home).await;
    let path = home.session_file();
    let id = path.file_stem().unwrap().to_str().unwrap().to_owned();
    let good = fs::read_to_string(&path).unwrap();
    let headless = good.split_once('\n').unwrap().1;
    let newer = good.replacen("\"version\":1", "\"version\":2", 1);
    assert_ne!(newer, good);
    for (file, words) in [
        ("", "it is empty"),
        ("nonsense\n", "its first line is no session header"),
        (headless, "its first line is no session header"),
        (&newer, "it has version 2 of the format"),
    ] {
        fs::write(&path, file).unwrap();
        let output = run_cli(&home, &["agent", "--session", &id], None).await;
        assert_eq!((output.code(), output.stdout.as_str()), (1, ""));
        for words in [&*id, "cannot be restored", words] {
            assert!(output.stderr.contains(words), "{}", output.stderr);
        }
        assert_eq!(fs::read_to_string(&path).unwrap(), file);
    }
}

#[tokio::test]
async fn a_second_writer_is_refused_and_the_first_goes_on() {
    let model = model();
    let home = Home::new(&model);
    let agent = AgentProcess::start(&home, &[]);
    agent.turn("one").await;
    let path = home.session_file();
    let before = fs::read(&path).unwrap();
    let id = path.file_stem().unwrap().to_str().unwrap();
    for args in [vec!["agent", "--session", id], vec!["agent", "--continue"]] {
        let output = run_cli(&home, &args, None).await;
        assert_eq!((output.code(), output.stdout.as_str()), (1, ""));
        assert_eq!(output.stderr.trim().lines().count(), 1, "{}", output.stderr);
        for words in [id, "in use by another process"] {
            assert!(output.stderr.contains(words), "{}", output.stderr);
        }
    }
    assert_eq!(fs::read(&path).unwrap(), before, "not a byte was written");
    assert_eq!(agent.turn("two").await.text(), "second");
    // With its writer gone, however it went, the session is free at once.
    agent.kill9().await;
    let again = AgentProcess::start(&home, &["--session", id]);
    assert_eq!(again.turn("three").await.text(), "third");
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
            tool("read", json!({ "path": "odd.txt" })),
            tool("bash", json!({ "command": "cat odd.txt" }))
        ],
        reply![text(odd)],
        reply![text("ok")],
    ]);
    let home = Home::new(&model);
    let agent = AgentProcess::start(&home, &[]);
    assert_eq!(agent.turn(odd).await.text(), odd);
    agent.quit().await;
    assert_eq!(home.read("odd.txt"), odd);
    let results = model.request(1).await.tool_results();
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
    let (read, printed) = (&results[1].1, &results[2].1);
    let numbered = format!("     1\t{}\n", odd.replace('\n', "\n     2\t"));
    assert!(read.starts_with(&numbered), "{read:?}");
    assert!(printed.starts_with(odd), "{printed:?}");
    again.turn("again").await;
    assert_eq!(model.request(2).await.tool_results(), results);
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

#[tokio::test]
async fn a_session_belongs_to_its_folder_and_is_found_there_alone() {
    let model = model();
    let home = Home::new(&model);
    let here = home.work();
    let there = here.join("sub");
    fs::create_dir(&there).unwrap();
    let there = there.to_str().unwrap();
    AgentProcess::start(&home, &[]).turn("one").await;
    let args = ["agent", "--cwd", there, "--continue"];
    let output = run_cli(&home, &args, None).await;
    assert_eq!(output.code(), 1);
    assert!(output.stderr.contains(there), "{}", output.stderr);
    let other = AgentProcess::start(&home, &["--cwd", there]);
    assert_eq!(other.turn("elsewhere").await.text(), "second");
    assert!(other.quit().await.success());
    // The one elsewhere is newer, and still not the one that goes on here.
    let again = AgentProcess::start(&home, &["--continue"]);
    let window = again.sync().await["live_window"].to_string();
    assert!(
        window.contains("\"one\"") && !window.contains("elsewhere"),
        "{window}"
    );
    assert_eq!(again.turn("more").await.text(), "third");
    assert_eq!(model.request(2).await.user_texts(), ["one", "more"]);
    assert_eq!(home.session_files().len(), 2);
}

#[tokio::test]
async fn nobody_else_may_read_what_is_kept() {
    let model = model();
    let home = Home::new(&model);
    two_turns(&home).await;
    let mut places = vec![home.shard_home()];
    let mut files = 0;
    while let Some(place) = places.pop() {
        let about = fs::symlink_metadata(&place).unwrap();
        let want = if about.is_dir() { 0o700 } else { 0o600 };
        assert_eq!(
            about.permissions().mode() & 0o7777,
            want,
            "{}",
            place.display()
        );
        if about.is_dir() {
            places.extend(
                fs::read_dir(&place)
                    .unwrap()
                    .map(|entry| entry.unwrap().path()),
            );
        } else {
            files += 1;
        }
    }
    assert!(files > 0);
}

#[tokio::test]
async fn a_row_torn_inside_a_letter_is_named_and_the_call_has_an_answer_again() {
    let model = ScriptedModel::start([
        reply![tool("bash", json!({ "command": "echo größe" }))],
        reply![text("done")],
        reply![text("goes on")],
    ]);
    let home = Home::new(&model);
    let agent = AgentProcess::start(&home, &[]);
    agent.turn("one").await;
    assert!(agent.quit().await.success());
    let path = home.session_file();
    let whole = fs::read(&path).unwrap();
    let text = String::from_utf8(whole.clone()).unwrap();
    let row = text
        .lines()
        .find(|line| line.contains("\"toolCallId\"") && line.contains("größe"));
    let start = text.find(row.unwrap()).unwrap();
    let cut = start + row.unwrap().find('ö').unwrap() + 1;
    let torn = &whole[..cut];
    fs::write(&path, torn).unwrap();
    let line = text[..start].lines().count() + 1;
    let again = AgentProcess::start(&home, &["--continue"]);
    let sync = again.sync().await;
    let told = again.wait_for_type(Mark::START, "error").await;
    assert_eq!(
        (&told["code"], &told["data"]),
        (&json!("SESSION_CORRUPT"), &json!({ "line": line }))
    );
    assert_eq!(sync["live_window"]["messages"].as_array().unwrap().len(), 3);
    assert_eq!(again.turn("two").await.text(), "goes on");
    let results = model.request(2).await.tool_results();
    assert!(results[0].1.starts_with("interrupted: "), "{results:?}");
    assert!(again.quit().await.success());
    let now = fs::read(&path).unwrap();
    assert_eq!(&now[..=cut], [torn, b"\n"].concat(), "ended, not rewritten");
    let rest = std::str::from_utf8(&now[cut + 1..]).unwrap();
    assert!(
        rest.lines()
            .all(|line| serde_json::from_str::<serde_json::Value>(line).is_ok())
    );
}
