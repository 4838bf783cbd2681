//! What a daemon that was killed leaves behind, and what it does not.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

use rustix::process::Signal;
use serde_json::{Value, json};
use shard_testkit::{ScriptedModel, alive, descendants, reply, run_cli, signal, text, tool, until};

use crate::{Site, transcript};

/// The `sleep` processes below a process that sleep so long.
pub(crate) fn sleeping(pid: u32, seconds: &[&str]) -> Vec<u32> {
    let wanted: Vec<_> = seconds.iter().map(|it| format!("sleep\0{it}\0")).collect();
    let mut found = descendants(pid);
    found.retain(|pid| {
        let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        wanted.contains(&String::from_utf8_lossy(&line).into_owned())
    });
    found
}

#[tokio::test]
async fn what_a_dead_daemon_left_stands_in_nobody_s_way() {
    let mut site = Site::start(ScriptedModel::start(["one"])).await;
    site.agent().await.turn("kept").await;
    site.daemon.kill9().await;
    let home = site.home.shard_home();
    assert!(home.join("daemon.sock").exists() && home.join("daemon.json").exists());
    // Its number belongs to somebody else by now, who must not be harmed for it.
    let mut bystander = std::process::Command::new("sleep")
        .arg("295")
        .spawn()
        .unwrap();
    let mut file: Value =
        serde_json::from_slice(&fs::read(home.join("daemon.json")).unwrap()).unwrap();
    file["pid"] = json!(bystander.id());
    fs::write(home.join("daemon.json"), file.to_string()).unwrap();
    fs::write(home.join("daemon.lock"), format!("{}\n", bystander.id())).unwrap();
    site.start_again().await;
    let agents = site.client.agents().await;
    assert_eq!(agents.len(), 1);
    site.client.ok("daemon.shutdown", json!({})).await;
    assert!(site.daemon.exited().await.success());
    assert!(alive(bystander.id()));
    bystander.kill().unwrap();
    bystander.wait().unwrap();
}

#[tokio::test]
async fn a_daemon_is_up_when_it_answers_whatever_files_say() {
    let site = Site::start(ScriptedModel::silent()).await;
    let cli = async |args: &[&str]| run_cli(&site.home, args, None).await;
    assert_eq!(cli(&["ls"]).await.code(), 0);
    // One that is held up keeps its home, and is waited for no longer than a few seconds.
    signal(site.daemon.pid(), Signal::STOP);
    let held_up = cli(&["ls"]).await;
    assert_eq!(held_up.code(), 3, "{}", held_up.stderr);
    let second = cli(&["daemon", "--port", "0"]).await;
    assert!(second.stderr.contains("serves"), "{}", second.stderr);
    signal(site.daemon.pid(), Signal::CONT);
    assert_eq!(cli(&["ls"]).await.code(), 0);
    // One that is dead is not up, though its files are there and its number is somebody else's.
    site.daemon.kill9().await;
    let path = site.home.shard_home().join("daemon.json");
    let mut file: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    file["pid"] = json!(std::process::id());
    fs::write(&path, file.to_string()).unwrap();
    assert!(site.daemon.socket().exists());
    let dead = cli(&["ls"]).await;
    assert_eq!(dead.code(), 3, "{}", dead.stderr);
    let doctor = cli(&["doctor"]).await;
    assert!(!doctor.stdout.contains("BAD"), "{}", doctor.stdout);
}

#[tokio::test]
async fn nothing_of_a_killed_daemon_lives_on() {
    let mut site = Site::start(ScriptedModel::start([
        reply![tool(
            "bash",
            json!({ "command": "setsid sleep 296 & exec sleep 297" })
        )],
        reply![text("later")],
    ]))
    .await;
    let agent = site.agent().await;
    let mark = agent.prompt("kept prompt").await;
    agent.wait_for_type(mark, "tool_call").await;
    let (idle, stopped) = (site.create().await, site.create().await);
    site.client
        .ok("agent.kill", json!({ "agent_id": stopped }))
        .await;
    let daemon = site.daemon.pid();
    until("both commands run", Duration::from_secs(10), || {
        sleeping(daemon, &["296", "297"]).len() == 2
    })
    .await;
    let (id, below) = (agent.id.clone(), descendants(daemon));
    assert!(below.len() >= 4, "two agents and two commands: {below:?}");
    site.daemon.kill9().await;
    until("all processes are gone", Duration::from_secs(5), || {
        !below.iter().any(|pid| alive(*pid))
    })
    .await;
    site.start_again().await;
    for id in [&id, &idle, &stopped] {
        assert_eq!(site.client.agent(id).await["runtime_state"], "stopped");
    }
    let agent = site.client.attach(&id).await;
    let messages = &agent.sync["live_window"]["messages"];
    assert_eq!(transcript(messages)[0], ("user", "kept prompt".to_owned()));
    assert_eq!(agent.turn("go on").await.text(), "later");
    assert_eq!(site.model.request(1).await.tool_results().len(), 1);
}

#[tokio::test]
async fn two_agents_have_nothing_in_common() {
    let site = Site::start(ScriptedModel::start(["a", "b"])).await;
    let (one, two) = (site.agent().await, site.agent().await);
    one.turn("mine").await;
    two.turn("theirs").await;
    let (mine, theirs) = (site.pid(&one.id), site.pid(&two.id));
    assert_ne!(mine, theirs);
    one.ok("agent.kill", json!({ "force": true })).await;
    assert!(alive(theirs) && !alive(mine));
    let home = site.home.shard_home();
    for (own, other) in [(&one.id, &two.id), (&two.id, &one.id)] {
        let folder = home.join("agents").join(own);
        let mode = |path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(folder.clone()), 0o700);
        let manifest = fs::read_to_string(folder.join("manifest.json")).unwrap();
        assert!(
            manifest.contains(own) && !manifest.contains(other),
            "{manifest}"
        );
        // Its end was noted a moment ago; a note that is not whole has another name until it is.
        let names = || {
            let names = fs::read_dir(&folder).unwrap().map(|it| it.unwrap().path());
            names.collect::<Vec<_>>()
        };
        let fresh = |path: &std::path::PathBuf| path.to_string_lossy().contains("/.new-");
        until("nothing is half written", Duration::from_secs(5), || {
            !names().iter().any(fresh)
        })
        .await;
        let names = names();
        let sessions = names
            .iter()
            .filter(|path| path.extension().is_some_and(|it| it == "jsonl"));
        assert_eq!(sessions.count(), 1, "{names:?}");
        for path in &names {
            let wanted = if path.is_dir() { 0o700 } else { 0o600 };
            assert_eq!(mode(path.clone()), wanted, "{}", path.display());
        }
    }
}

#[tokio::test]
async fn a_home_that_is_deep_down_has_its_socket_elsewhere() {
    let model = ScriptedModel::start([reply![text("here")]]);
    let deep = "d".repeat(90);
    let outer = tempfile::tempdir().unwrap();
    let (state, runtime) = (outer.path().join(deep), outer.path().join("run"));
    fs::create_dir(&runtime).unwrap();
    let home = shard_testkit::Home::builder()
        .model(&model)
        .env("XDG_RUNTIME_DIR", &runtime.to_string_lossy())
        .env("SHARD_HOME", &state.to_string_lossy())
        .build();
    let daemon = shard_testkit::DaemonProcess::start(&home, &[]).await;
    assert!(
        daemon.socket().starts_with(runtime.join("shard")),
        "{:?}",
        daemon.socket()
    );
    let client = daemon.connect().await;
    let id = client.create(json!({ "cwd": home.work() })).await;
    assert_eq!(client.attach(&id).await.turn("go").await.text(), "here");
}
