//! `session.*` and `fs.complete`: what is on disk, whether or not anything runs.

use serde_json::{Value, json};
use shard_testkit::{ScriptedModel, reply, run_cli, text};

use crate::{Site, lines, transcript, word};

async fn sessions(site: &Site) -> Vec<Value> {
    let mut data = site.client.ok("session.list", json!({})).await;
    match data["sessions"].take() {
        Value::Array(sessions) => sessions,
        other => panic!("no list of sessions: {other}"),
    }
}

/// A site whose home has a session that no agent owns.
async fn with_a_run(replies: &[&str]) -> (Site, String) {
    let model = ScriptedModel::start(replies.iter().map(|words| reply![text(*words)]));
    let site = Site::start(model).await;
    let run = run_cli(&site.home, &["run", "say hello"], None).await;
    assert_eq!(run.code(), 0, "{}", run.stderr);
    let listed = sessions(&site).await;
    assert_eq!(listed.len(), 1, "{listed:?}");
    let id = word(&listed[0]["session_id"]).to_owned();
    (site, id)
}

#[tokio::test]
async fn a_session_of_a_run_is_listed_read_and_taken_over() {
    let (site, session) = with_a_run(&["hello", "again"]).await;
    let listed = &sessions(&site).await[0];
    assert_eq!(
        (
            &listed["cwd"],
            &listed["message_count"],
            listed.get("agent_id")
        ),
        (&json!(site.home.work()), &json!(2), None)
    );
    let file = site.home.session_file();
    let before = std::fs::read(&file).unwrap();
    let page = json!({ "session_id": session });
    let data = site.client.ok("session.messages", page.clone()).await;
    assert_eq!(
        transcript(&data["messages"]),
        lines(&[("user", "say hello"), ("assistant", "hello")])
    );
    let mark = site.client.mark();
    let data = site.client.ok("session.activate", page.clone()).await;
    let id = word(&data["agent_id"]).to_owned();
    let sync = site.client.wait_for_type(mark, "sync").await;
    assert_eq!(sync["agent_id"], id);
    assert_eq!(
        transcript(&sync["live_window"]["messages"]),
        lines(&[("user", "say hello"), ("assistant", "hello")])
    );
    assert_eq!(sessions(&site).await[0]["agent_id"], id);
    // Whoever asks again gets the same agent.
    let other = site.daemon.connect().await;
    let data = other.ok("session.activate", page).await;
    assert_eq!(data["agent_id"], id);
    let agent = site.client.attach(&id).await;
    assert_eq!(agent.turn("and again").await.text(), "again");
    assert_eq!(
        site.model.request(1).await.user_texts(),
        ["say hello", "and again"]
    );
    // The file stays where it was, and what stood in it.
    assert_eq!(site.home.session_file(), file);
    assert!(std::fs::read(&file).unwrap().starts_with(&before));
}

#[tokio::test]
async fn a_session_is_adopted_once() {
    let (site, session) = with_a_run(&["hello"]).await;
    let mut wish = site.cwd();
    wish["session_id"] = json!(session);
    let other = site.daemon.connect().await;
    let both = tokio::join!(
        site.client.request("agent.create", wish.clone()),
        other.request("agent.create", wish.clone())
    );
    let won = [&both.0, &both.1].map(|answer| answer["success"] == true);
    assert_ne!(won[0], won[1], "{both:?}");
    let why = site
        .client
        .refused("INVALID_REQUEST", "agent.create", wish)
        .await;
    assert!(why.contains("already adopted"), "{why}");
    assert_eq!(site.client.agents().await.len(), 1);
}

#[tokio::test]
async fn a_key_that_looks_like_a_session_s_id_is_no_trap() {
    let (site, session) = with_a_run(&["hello"]).await;
    let mut wish = site.cwd();
    wish["session_id"] = json!(session);
    wish["request_key"] = json!(session);
    let made = site.client.ok("agent.create", wish.clone()).await;
    let again = site.client.ok("agent.create", wish).await;
    assert_eq!(again["agent_id"], made["agent_id"]);
    assert_eq!(again["duplicate"], true);
}

#[tokio::test]
async fn what_cannot_be_read_is_said_so() {
    let (site, session) = with_a_run(&["hello"]).await;
    let file = site.home.session_file();
    std::fs::write(&file, "no session at all\n").unwrap();
    for kind in ["session.activate", "agent.create"] {
        let mut wish = site.cwd();
        wish["session_id"] = json!(session);
        site.client.refused("SESSION_CORRUPT", kind, wish).await;
    }
    for kind in ["session.activate", "session.messages"] {
        let unknown = json!({ "session_id": "session-nope" });
        site.client.refused("NOT_FOUND", kind, unknown).await;
        let bad = json!({ "session_id": "../../etc/passwd" });
        site.client.refused("INVALID_REQUEST", kind, bad).await;
    }
    assert_eq!(site.client.agents().await.len(), 0);
}

#[tokio::test]
async fn a_transcript_is_read_in_pages_and_nothing_wakes() {
    let replies = (0..6).map(|n| reply![text(format!("answer-{n}"))]);
    let site = Site::start(ScriptedModel::start(replies)).await;
    let agent = site.agent().await;
    for n in 0..6 {
        agent.turn(&format!("question-{n}")).await;
    }
    agent.ok("agent.kill", json!({})).await;
    let session = sessions(&site).await[0]["session_id"].clone();
    assert_eq!(site.client.agent(&agent.id).await["session_id"], session);
    let (mut all, mut before) = (Vec::new(), None);
    loop {
        let mut query = json!({ "session_id": session, "limit": 5 });
        if let Some(before) = &before {
            query["before"] = json!(before);
        }
        let page = site.client.ok("session.messages", query).await;
        let messages = page["messages"].as_array().unwrap();
        assert!((1..=5).contains(&messages.len()), "{page}");
        before = Some(word(&messages[0]["id"]).to_owned());
        all.splice(0..0, messages.clone());
        if page["has_more"] != true {
            break;
        }
    }
    let texts: Vec<_> = all.iter().map(crate::said).collect();
    let wanted: Vec<_> = (0..6)
        .flat_map(|n| [format!("question-{n}"), format!("answer-{n}")])
        .collect();
    assert_eq!(texts, wanted);
    for (key, value, code) in [
        ("limit", json!(0), "INVALID_REQUEST"),
        ("limit", json!(-1), "INVALID_REQUEST"),
        ("before", json!("msg-nope"), "NOT_FOUND"),
    ] {
        let mut query = json!({ "session_id": session });
        query[key] = value;
        site.client.refused(code, "session.messages", query).await;
    }
    assert_eq!(site.daemon.agent_pid(&agent.id), None, "nothing was woken");
}

#[tokio::test]
async fn the_list_is_newest_first_and_of_one_folder_if_asked() {
    let site = Site::start(ScriptedModel::start(["a", "b", "c"])).await;
    let other = site.home.write("sub/file.txt", "x");
    let sub = other.parent().unwrap();
    let first = site.agent().await;
    first.turn("one").await;
    let second = site.client.create(json!({ "cwd": sub })).await;
    site.client.attach(&second).await.turn("two").await;
    let owners = async || {
        let sessions = sessions(&site).await;
        let owners = sessions.iter().map(|it| word(&it["agent_id"]).to_owned());
        owners.collect::<Vec<_>>()
    };
    assert_eq!(owners().await, [second.clone(), first.id.clone()]);
    first.turn("three").await;
    assert_eq!(owners().await, [first.id.clone(), second.clone()]);
    let query = json!({ "cwd": sub });
    let listed = site.client.ok("session.list", query).await;
    assert_eq!(listed["sessions"][0]["agent_id"], second);
    assert_eq!(listed["sessions"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn names_are_completed_inside_the_workspace_or_folders_anywhere() {
    let site = Site::start(ScriptedModel::silent()).await;
    let agent = site.agent().await;
    site.home.write("src/main.rs", "x");
    site.home.write("src/model/mod.rs", "x");
    site.home.write(".hidden", "x");
    std::os::unix::fs::symlink("/etc", site.home.work().join("link")).unwrap();
    let complete = async |mut fields: Value, prefix: &str| {
        fields["prefix"] = json!(prefix);
        let data = site.client.ok("fs.complete", fields).await;
        let paths = data["paths"].as_array().unwrap().iter();
        let named = paths.map(|it| format!("{} {}", word(&it["kind"]), word(&it["path"])));
        named.collect::<Vec<_>>()
    };
    let inside = || json!({ "agent_id": agent.id });
    assert_eq!(
        complete(inside(), "").await,
        ["file README.md", "dir link", "dir src"]
    );
    assert_eq!(
        complete(inside(), "src/m").await,
        ["file src/main.rs", "dir src/model"]
    );
    assert_eq!(complete(inside(), ".h").await, ["file .hidden"]);
    assert_eq!(complete(inside(), "nowhere/x").await, Vec::<String>::new());
    for outside in ["../", "/etc/", "src/../../", "link/"] {
        let mut fields = inside();
        fields["prefix"] = json!(outside);
        site.client
            .refused("PERMISSION_DENIED", "fs.complete", fields)
            .await;
    }
    let anywhere = json!({ "cwd": site.home.work() });
    assert_eq!(complete(anywhere.clone(), "s").await, ["dir src"]);
    let absolute = format!("{}/wo", site.home.root().display());
    let found = format!("dir {}/work", site.home.root().display());
    assert_eq!(complete(json!({}), &absolute).await, [found]);
    let few = json!({ "agent_id": agent.id, "limit": 1 });
    assert_eq!(complete(few, "").await, ["file README.md"]);
    for (fields, code) in [
        (json!({ "cwd": "work", "prefix": "" }), "INVALID_REQUEST"),
        (
            json!({ "agent_id": "agent-nope", "prefix": "" }),
            "NOT_FOUND",
        ),
        (json!({ "cwd": "/" }), "INVALID_REQUEST"),
    ] {
        site.client.refused(code, "fs.complete", fields).await;
    }
}
