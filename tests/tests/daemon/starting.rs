//! Processes that start, or cannot.

use rustix::process::Signal;
use serde_json::{Value, json};
use shard_testkit::{
    AgentProcess, DaemonProcess, Home, Mark, ScriptedModel, reply, run_cli, signal, text,
};

use crate::{Site, of, word};

#[tokio::test]
async fn many_who_come_to_a_stopped_agent_start_one_process() {
    let site = Site::start(ScriptedModel::start([reply![text("once")]])).await;
    let agent = site.agent().await;
    agent.ok("agent.kill", json!({})).await;
    agent.ok("agent.detach", json!({})).await;
    let mark = site.client.mark();
    let mut many = Vec::new();
    for _ in 0..8 {
        many.push(site.daemon.connect().await);
    }
    let attach = json!({ "type": "agent.attach", "agent_id": agent.id });
    let prompt = json!({
        "type": "prompt", "agent_id": agent.id, "message": "go", "request_key": "k",
    });
    for client in &many {
        client.send(attach.clone()).await;
        client.send(prompt.clone()).await;
    }
    for client in &many {
        let sync = client.wait_for_type(Mark::START, "sync").await;
        assert_eq!(sync["runtime_epoch"], 1);
        client.wait_for_type(Mark::START, "turn_end").await;
    }
    site.client.agents().await; // so that all that was told before has come
    let told = site.client.messages_since(mark);
    let states = of(&told, "agent_status_changed");
    let starts = states.iter().filter(|m| m["runtime_state"] == "starting");
    assert_eq!(starts.count(), 1, "{told:?}");
    assert_eq!(site.model.requests().len(), 1, "one key, one turn");
}

#[tokio::test]
async fn work_for_an_agent_that_cannot_start_is_refused_and_it_stays_attached() {
    let site = Site::start(ScriptedModel::start(["back"])).await;
    let agent = site.agent().await;
    agent.ok("agent.kill", json!({})).await;
    let good = std::fs::read_to_string(site.home.config_path()).unwrap();
    site.home.write_config("{ broken");
    let mark = agent.mark();
    let why = agent
        .refused("RUNTIME_START_FAILED", "prompt", json!({ "message": "x" }))
        .await;
    assert!(why.contains("config.json"), "{why}");
    let exited = site.client.wait_for_type(mark, "agent_exited").await;
    assert_eq!(exited["runtime_state"], "failed");
    // Nor does it lose what it has by wishing for it once more.
    let again = json!({ "agent_id": agent.id, "role": "observer" });
    site.client
        .refused("RUNTIME_START_FAILED", "agent.attach", again)
        .await;
    site.home.write_config(&good);
    assert_eq!(agent.turn("again").await.text(), "back");
}

#[tokio::test]
async fn an_agent_whose_folder_is_gone_says_so_and_waits_for_it() {
    let site = Site::start(ScriptedModel::start(["back"])).await;
    let folder = site.home.work().join("sub");
    std::fs::create_dir(&folder).unwrap();
    let id = site.client.create(json!({ "cwd": folder })).await;
    let this = json!({ "agent_id": id });
    site.client.ok("agent.kill", this.clone()).await;
    std::fs::remove_dir(&folder).unwrap();
    let why = site
        .client
        .refused("RUNTIME_START_FAILED", "agent.attach", this)
        .await;
    assert!(why.contains("sub"), "it names the folder: {why}");
    std::fs::create_dir(&folder).unwrap();
    assert_eq!(
        site.client.attach(&id).await.turn("go").await.text(),
        "back"
    );
}

#[tokio::test]
async fn an_agent_whose_session_is_no_session_any_more_says_so() {
    let site = Site::start(ScriptedModel::start(["one", "two"])).await;
    let agent = site.agent().await;
    agent.turn("go").await;
    agent.ok("agent.kill", json!({})).await;
    agent.ok("agent.detach", json!({})).await;
    let file = site.home.session_file();
    let good = std::fs::read(&file).unwrap();
    std::fs::write(&file, "no session at all\n").unwrap();
    let this = json!({ "agent_id": agent.id });
    site.client
        .refused("SESSION_CORRUPT", "agent.attach", this)
        .await;
    assert_eq!(site.client.agents().await.len(), 1, "its identity stays");
    std::fs::write(&file, good).unwrap();
    let agent = site.client.attach(&agent.id).await;
    assert_eq!(agent.turn("again").await.text(), "two");
}

#[tokio::test]
async fn an_agent_that_does_not_answer_is_ended_and_works_again() {
    let site = Site::start(ScriptedModel::start(["back"])).await;
    let agent = site.agent().await;
    signal(site.pid(&agent.id), Signal::STOP);
    let other = site.daemon.connect().await;
    let this = json!({ "agent_id": agent.id });
    let why = other
        .refused("RUNTIME_START_FAILED", "agent.attach", this)
        .await;
    assert!(why.contains("did not become ready"), "{why}");
    let exited = other.wait_for_type(Mark::START, "agent_exited").await;
    assert_eq!(exited["runtime_state"], "failed");
    let again = other.attach(&agent.id).await;
    assert_eq!(again.sync["runtime_epoch"], 1);
    assert_eq!(agent.turn("go").await.text(), "back");
}

#[tokio::test]
async fn a_session_has_one_writer() {
    let site = Site::start(ScriptedModel::start(["one", "two", "three"])).await;
    assert_eq!(run_cli(&site.home, &["run", "go"], None).await.code(), 0);
    let listed = site.client.ok("session.list", json!({})).await;
    let session = word(&listed["sessions"][0]["session_id"]);
    // Somebody goes on with it outside the daemon.
    let outside = AgentProcess::start(&site.home, &["--session", session]);
    outside.turn("outside").await;
    let activate = json!({ "session_id": session });
    site.client
        .refused("RUNTIME_START_FAILED", "session.activate", activate.clone())
        .await;
    assert!(outside.quit().await.success());
    let mark = site.client.mark();
    let made = site.client.ok("session.activate", activate).await;
    let sync = site.client.wait_for_type(mark, "sync").await;
    assert_eq!(sync["live_window"]["messages"].as_array().unwrap().len(), 4);
    // And now the other way round.
    let agent = site.client.attach(word(&made["agent_id"])).await;
    let second = AgentProcess::start(&site.home, &["--session", session]);
    assert!(!second.exited().await.success());
    assert_eq!(agent.turn("inside").await.text(), "three");
    let rows = site.home.session_rows(&site.home.session_file());
    let ids: std::collections::BTreeSet<_> = rows.iter().map(|row| word(&row["id"])).collect();
    assert_eq!(ids.len(), rows.len(), "no row twice");
}

#[tokio::test]
async fn a_daemon_takes_as_many_open_files_as_it_may() {
    let home = Home::new(&ScriptedModel::silent());
    let script = home.write(
        "started-with-few",
        format!(
            "#!/bin/sh\nulimit -S -n 64\nexec {} \"$@\"\n",
            home.binary().display()
        ),
    );
    let runnable = std::os::unix::fs::PermissionsExt::from_mode(0o700);
    std::fs::set_permissions(&script, runnable).unwrap();
    let few = Home::builder().binary(script).build();
    let daemon = DaemonProcess::start(&few, &[]).await;
    let limits = std::fs::read_to_string(format!("/proc/{}/limits", daemon.pid())).unwrap();
    let line = limits
        .lines()
        .find(|line| line.starts_with("Max open files"));
    let words: Vec<_> = line.unwrap().split_whitespace().collect();
    let (soft, hard) = (words[3].parse::<u64>().unwrap(), words[4].parse());
    assert_eq!(soft, hard.unwrap_or(u64::MAX).min(16_384));
}

#[tokio::test]
async fn coming_and_going_costs_nothing_for_good() {
    let site = Site::start(ScriptedModel::silent()).await;
    let agent = site.agent().await;
    let resident_kb = || {
        let path = format!("/proc/{}/status", site.daemon.pid());
        let status = std::fs::read_to_string(path).unwrap();
        let line = status.lines().find(|line| line.starts_with("VmRSS:"));
        let kilobytes = line.and_then(|line| line.split_whitespace().nth(1));
        kilobytes.unwrap().parse::<u64>().unwrap()
    };
    let come_and_go = async |times: usize| {
        for _ in 0..times {
            let visitor = site.daemon.connect().await;
            let attached = visitor.attach(&agent.id).await;
            attached.ok("agent.detach", json!({})).await;
            visitor.attach(&agent.id).await;
        }
    };
    come_and_go(50).await;
    let before = resident_kb();
    come_and_go(200).await;
    let after = resident_kb();
    assert!(after < before + 4096, "from {before} kB to {after} kB");
    let modes = agent.ok("list_modes", json!({})).await;
    assert!(modes["modes"].is_array());
}

#[tokio::test]
async fn the_largest_prompt_that_is_taken_harms_no_agent() {
    let model = ScriptedModel::start([reply![text("phew")], reply![text("well")]]);
    let site = Site::with(model, |home| home.window(1_000_000_000), &[]).await;
    let agent = site.agent().await;
    let frame = json!({ "type": "prompt", "id": "p", "agent_id": agent.id, "message": "" });
    let room = 16 * 1024 * 1024 - frame.to_string().len();
    let mut prompt = frame;
    prompt["message"] = Value::from("z".repeat(room));
    let mark = agent.mark();
    site.client.send(prompt).await;
    let answers = |m: &Value| m["type"] == "response" && m["id"] == "p";
    let answer = site.client.wait_for(mark, "an answer", answers).await;
    if answer["success"] == true {
        let leave = |_: &Value| shard_testkit::Answer::Leave;
        assert_eq!(agent.follow(mark, leave).await.text(), "phew");
    } else {
        assert_eq!(answer["error"]["code"], "INVALID_REQUEST", "{answer}");
    }
    let told = site.client.messages_since(mark);
    assert_eq!(of(&told, "agent_exited").len(), 0);
    let again = site.client.attach(&agent.id).await;
    assert_eq!(again.sync["runtime_epoch"], 0);
}

#[tokio::test]
async fn one_that_is_killed_before_it_has_greeted_broke_no_rule() {
    let site = Site::start(ScriptedModel::silent()).await;
    let id = site.create().await;
    for _ in 0..10 {
        site.client
            .ok("agent.kill", json!({ "agent_id": id }))
            .await;
        site.client
            .send(json!({ "type": "agent.attach", "agent_id": id }))
            .await;
        site.client
            .ok("agent.terminate", json!({ "agent_id": id }))
            .await;
        site.client
            .ok("agent.kill", json!({ "agent_id": id }))
            .await;
    }
    let log = site.daemon.stderr();
    assert!(!log.contains("violation"), "{log}");
}

#[tokio::test]
async fn one_that_is_killed_while_it_starts_is_not_started_again_by_those_who_waited() {
    let site = Site::start(ScriptedModel::start(["back"])).await;
    let id = site.create().await;
    let this = json!({ "agent_id": id });
    site.client.ok("agent.kill", this.clone()).await;
    let waiting = site.daemon.connect().await;
    let attach = json!({ "type": "agent.attach", "agent_id": id, "id": "waits" });
    waiting.send(attach).await;
    waiting.ok("agent.kill", this).await;
    let answers = |m: &Value| m["id"] == "waits";
    let answer = waiting.wait_for(Mark::START, "an answer", answers).await;
    assert_eq!(answer["error"]["code"], "CONFLICT", "{answer}");
    assert_eq!(site.client.agent(&id).await["runtime_state"], "stopped");
    let again = waiting.attach(&id).await;
    assert_eq!(again.turn("go").await.text(), "back");
}
