//! What is on the disk of agents: damaged, of another version, or of an older installation.

use std::fs;
use std::path::PathBuf;

use serde_json::{Value, json};
use shard_testkit::{ScriptedModel, reply, run_cli, text};

use crate::{Site, lines, transcript, word};

/// An agent's record.
fn manifest(site: &Site, id: &str) -> PathBuf {
    let agents = site.home.shard_home().join("agents");
    agents.join(id).join("manifest.json")
}

async fn shut_down(site: &Site) {
    site.client.ok("daemon.shutdown", json!({})).await;
    assert!(site.daemon.exited().await.success());
}

/// What the doctor says of agents, and whether it is content.
async fn doctor(site: &Site) -> (bool, Vec<String>) {
    let output = run_cli(&site.home, &["doctor", "--json"], None).await;
    let findings: Value = serde_json::from_str(&output.stdout).unwrap();
    let findings = findings.as_array().unwrap().iter();
    let said = findings
        .filter(|it| it["area"] == "agents")
        .map(|it| format!("{}: {}", word(&it["state"]), word(&it["message"])));
    (output.code() == 0, said.collect())
}

/// All that the daemon logged in its home.
fn log(site: &Site) -> String {
    let files = fs::read_dir(site.home.shard_home().join("logs")).unwrap();
    files
        .map(|file| fs::read_to_string(file.unwrap().path()).unwrap())
        .collect()
}

#[tokio::test]
async fn a_record_that_cannot_be_read_is_left_out_and_the_rest_works() {
    let mut site = Site::start(ScriptedModel::start(["one", "two"])).await;
    let good = site.agent().await;
    good.turn("kept").await;
    let good = good.id.clone();
    let (broken, empty, newer) = (
        site.create().await,
        site.create().await,
        site.create().await,
    );
    assert_eq!(
        doctor(&site).await,
        (true, vec!["good: 4 stored".to_owned()])
    );
    shut_down(&site).await;
    let damaged = [
        (
            manifest(&site, &broken),
            "{\"version\": 1, \"agent",
            "no record of an agent",
        ),
        (manifest(&site, &empty), "", "no record of an agent"),
        (
            manifest(&site, &newer),
            "{\"version\": 2, \"id\": 7}",
            "has version 2",
        ),
    ];
    for (path, bytes, _) in &damaged {
        fs::write(path, bytes).unwrap();
    }
    // What a writer that was killed left, and what was never an agent.
    let agents = site.home.shard_home().join("agents");
    fs::write(agents.join(&good).join(".new-abc123"), "{").unwrap();
    fs::write(agents.join("reviewer.md"), "a definition").unwrap();
    fs::create_dir(agents.join("notes")).unwrap();
    site.start_again().await;
    let listed = site.client.agents().await;
    assert_eq!(listed.len(), 1);
    for id in [&broken, &empty, &newer] {
        let attach = json!({ "agent_id": id });
        site.client
            .refused("NOT_FOUND", "agent.attach", attach)
            .await;
    }
    let agent = site.client.attach(&good).await;
    assert_eq!(
        transcript(&agent.sync["live_window"]["messages"]),
        lines(&[("user", "kept"), ("assistant", "one")])
    );
    assert_eq!(agent.turn("go on").await.text(), "two");
    let (content, said) = doctor(&site).await;
    assert!(!content, "{said:?}");
    assert_eq!((said.len(), &*said[0]), (4, "good: 1 stored"), "{said:?}");
    let log = log(&site);
    for (path, bytes, why) in &damaged {
        let path_text = path.to_string_lossy();
        let told = |text: &str| text.contains(&*path_text) && text.contains(why);
        let problems = said
            .iter()
            .filter(|it| it.starts_with("problem") && told(it));
        assert_eq!(problems.count(), 1, "{path_text}: {said:?}");
        assert!(log.lines().any(told), "{path_text}: {log}");
        assert_eq!(fs::read_to_string(path).unwrap(), *bytes, "left as it was");
    }
}

#[tokio::test]
async fn the_conversation_of_an_agent_that_is_left_out_can_be_taken_over() {
    for damage in ["{", "{\"version\": 2}"] {
        let mut site = Site::start(ScriptedModel::start(["one", "two"])).await;
        let agent = site.agent().await;
        agent.turn("kept").await;
        let lost = agent.id.clone();
        shut_down(&site).await;
        fs::write(manifest(&site, &lost), damage).unwrap();
        site.start_again().await;
        let (_, said) = doctor(&site).await;
        let session = said[1].rsplit(' ').next().unwrap();
        assert!(said[1].contains("`session.activate`"), "{said:?}");
        let activate = json!({ "session_id": session });
        let made = site.client.ok("session.activate", activate).await;
        let agent = site.client.attach(word(&made["agent_id"])).await;
        assert_ne!(agent.id, lost);
        assert_eq!(
            transcript(&agent.sync["live_window"]["messages"]),
            lines(&[("user", "kept"), ("assistant", "one")])
        );
        assert_eq!(agent.turn("go on").await.text(), "two");
        assert_eq!(fs::read_to_string(manifest(&site, &lost)).unwrap(), damage);
    }
}

#[tokio::test]
async fn the_agents_of_an_older_installation_are_there_and_go_on() {
    let model = ScriptedModel::start([
        reply![text("one")],
        reply![text("two")],
        reply![text("new")],
    ]);
    let mut site = Site::start(model).await;
    assert_eq!(
        run_cli(&site.home, &["run", "before"], None).await.code(),
        0
    );
    let listed = site.client.ok("session.list", json!({})).await;
    let session = &listed["sessions"][0]["session_id"];
    shut_down(&site).await;
    let old = site.home.shard_home().join("agents.json");
    let file = json!({ "agents": [
        { "agent_id": "agent-old", "session_id": session, "cwd": site.home.work(), "name": "old",
          "status": "idle", "runtime_state": "running", "created_at": 1 },
        { "agent_id": "agent-bad" },
        { "agent_id": "agent-fresh", "session_id": "session-fresh", "cwd": site.home.work(),
          "status": "idle", "runtime_state": "stopped", "created_at": 2 },
    ] });
    fs::write(&old, file.to_string()).unwrap();
    let place = site.home.session_file();
    site.start_again().await;
    let agents = site.client.agents().await;
    let named = agents
        .iter()
        .map(|it| (word(&it["agent_id"]), word(&it["runtime_state"])));
    assert_eq!(
        named.collect::<Vec<_>>(),
        [("agent-old", "stopped"), ("agent-fresh", "stopped")]
    );
    assert!(
        log(&site).contains("entry 1 is not taken over"),
        "{}",
        log(&site)
    );
    assert!(!old.exists() && old.with_file_name("agents.json.migrated").exists());
    let agent = site.client.attach("agent-old").await;
    assert_eq!(
        transcript(&agent.sync["live_window"]["messages"]),
        lines(&[("user", "before"), ("assistant", "one")])
    );
    assert_eq!(agent.turn("after").await.text(), "two");
    assert_eq!(site.home.session_file(), place, "it stays where it was");
    assert_eq!(
        site.client
            .attach("agent-fresh")
            .await
            .turn("hi")
            .await
            .text(),
        "new"
    );
}
