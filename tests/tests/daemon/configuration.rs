//! The configuration changes while the daemon runs.

use std::fs;
use std::time::Duration;

use rustix::process::Signal;
use serde_json::{Value, json};
use shard_testkit::{DaemonProcess, Home, Http, ScriptedModel, alive, signal, until};

use crate::Site;

const IN_FORCE: &str = "the changed configuration is in force";

/// All that the daemon logged.
fn log(home: &Home) -> String {
    let files = fs::read_dir(home.shard_home().join("logs")).unwrap();
    files
        .map(|file| fs::read_to_string(file.unwrap().path()).unwrap())
        .collect()
}

async fn logged(site: &Site, what: &str, times: usize) {
    until(what, Duration::from_secs(10), || {
        log(&site.home).matches(what).count() >= times
    })
    .await;
}

/// The configuration of the home with something else in it.
fn with(home: &Home, section: &str, key: &str, value: Value) -> Value {
    let mut config = home.config().clone();
    config[section][key] = value;
    config
}

fn policy(site: &Site, agent_id: &str) -> Value {
    let path = site.home.shard_home().join("agents").join(agent_id);
    let manifest = fs::read(path.join("manifest.json")).unwrap();
    let manifest: Value = serde_json::from_slice(&manifest).unwrap();
    manifest["headless_policy"].clone()
}

#[tokio::test]
async fn an_agent_that_runs_is_stopped_after_the_new_time() {
    let site = Site::start(ScriptedModel::silent()).await;
    let agent = site.agent().await;
    let mark = agent.mark();
    let config = with(&site.home, "daemon", "idle_timeout_secs", json!(1));
    site.home.write_config(&config.to_string());
    site.client.runtime_state(mark, &agent.id, "stopped").await;
}

#[tokio::test]
async fn what_the_command_line_says_goes_before_it() {
    let site = Site::with(
        ScriptedModel::silent(),
        |home| home,
        &["--idle-timeout", "1000"],
    )
    .await;
    let agent = site.agent().await;
    let mut config = with(&site.home, "daemon", "idle_timeout_secs", json!(1));
    config["daemon"]["port"] = json!(7999);
    config["permissions"]["headless_policy"] = json!("queue");
    let port = site.daemon.port();
    site.home.write_config(&config.to_string());
    logged(&site, IN_FORCE, 1).await;
    // Both are in force at the same time: the policy is, so the other one would be.
    let other = site.create().await;
    assert_eq!(policy(&site, &other), "queue");
    let (one, two) = (site.pid(&agent.id), site.pid(&other));
    site.client.agents().await;
    assert!(alive(one) && alive(two));
    assert_eq!(Http::get(port, "/healthz").send().await.status, 200);
    let log = log(&site.home);
    assert!(log.contains("`--port` goes before it"), "{log}");
}

#[tokio::test]
async fn a_wrong_file_changes_nothing_and_is_told() {
    let site = Site::start(ScriptedModel::silent()).await;
    let queue = with(&site.home, "permissions", "headless_policy", json!("queue"));
    site.home.write_config(&queue.to_string());
    logged(&site, IN_FORCE, 1).await;
    let first = site.create().await;
    assert_eq!(policy(&site, &first), "queue");
    let wrong = with(
        &site.home,
        "permissions",
        "headless_policy",
        json!("perhaps"),
    );
    site.home.write_config(&wrong.to_string());
    logged(&site, "the configuration is wrong", 1).await;
    let log = log(&site.home);
    for part in ["config.json", "headless_policy"] {
        assert!(log.contains(part), "{part}: {log}");
    }
    // Agents refuse the file too, so none is made; the daemon itself is as it was.
    let modes = site.client.agent(&first).await;
    assert_eq!(modes["runtime_state"], "running");
    let deny = with(&site.home, "permissions", "headless_policy", json!("deny"));
    site.home.write_config(&deny.to_string());
    logged(&site, IN_FORCE, 2).await;
    let second = site.create().await;
    assert_eq!(policy(&site, &second), "deny");
}

#[tokio::test]
async fn pages_that_may_talk_to_it_come_and_go() {
    let site = Site::start(ScriptedModel::silent()).await;
    let port = site.daemon.port();
    let start = async |origin: &str| {
        let post = Http::post(port, "/enroll/start", &json!({})).with("Origin", origin);
        post.send().await.status
    };
    let (own, other) = (format!("http://127.0.0.1:{port}"), "http://127.0.0.1:5173");
    assert_eq!((start(&own).await, start(other).await), (200, 403));
    let config = with(&site.home, "daemon", "allowed_origins", json!([other]));
    site.home.write_config(&config.to_string());
    logged(&site, IN_FORCE, 1).await;
    assert_eq!((start(&own).await, start(other).await), (200, 200));
    site.home.write_config(&site.home.config().to_string());
    logged(&site, IN_FORCE, 2).await;
    assert_eq!((start(&own).await, start(other).await), (200, 403));
}

#[tokio::test]
async fn a_hangup_has_it_read_and_ends_nothing() {
    let model = ScriptedModel::silent();
    let home = Home::new(&model);
    // A file that lies elsewhere changes without a trace in the folder that has the link.
    let elsewhere = home.root().join("dotfiles.json");
    fs::rename(home.config_path(), &elsewhere).unwrap();
    std::os::unix::fs::symlink(&elsewhere, home.config_path()).unwrap();
    let daemon = DaemonProcess::start(&home, &[]).await;
    let site = Site {
        client: daemon.connect().await,
        daemon,
        home,
        model,
    };
    let queue = with(&site.home, "permissions", "headless_policy", json!("queue"));
    fs::write(&elsewhere, queue.to_string()).unwrap();
    signal(site.daemon.pid(), Signal::HUP);
    logged(&site, IN_FORCE, 1).await;
    let agent = site.create().await;
    assert_eq!(policy(&site, &agent), "queue");
    let mut moved = queue;
    moved["daemon"]["port"] = json!(7999);
    fs::write(&elsewhere, moved.to_string()).unwrap();
    signal(site.daemon.pid(), Signal::HUP);
    logged(&site, "`--port` goes before it", 1).await;
    assert!(alive(site.daemon.pid()));
}

#[tokio::test]
async fn a_file_that_was_not_there_is_noticed() {
    let model = ScriptedModel::silent();
    let home = Home::new(&model);
    let text = fs::read_to_string(home.config_path()).unwrap();
    fs::remove_dir_all(home.config_home()).unwrap();
    let daemon = DaemonProcess::start(&home, &[]).await;
    let site = Site {
        client: daemon.connect().await,
        daemon,
        home,
        model,
    };
    fs::create_dir_all(site.home.config_path().parent().unwrap()).unwrap();
    let mut config: Value = serde_json::from_str(&text).unwrap();
    config["permissions"]["headless_policy"] = json!("queue");
    site.home.write_config(&config.to_string());
    logged(&site, IN_FORCE, 1).await;
    let agent = site.create().await;
    assert_eq!(policy(&site, &agent), "queue");
}
