//! Secrets stay where they belong.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use rustix::process::Signal;
use serde_json::json;
use shard_testkit::{
    Answer, HomeBuilder, Http, Mark, ScriptedModel, descendants, error, reply, signal, text, tool,
};

use crate::Site;

/// The key of the configured provider.
const KEY: &str = "sk-mock-3f9a-never-shown";

/// All files below a folder.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let found = entries.flat_map(|entry| match entry.file_type() {
        Ok(kind) if kind.is_dir() => files(&entry.path()),
        Ok(kind) if kind.is_file() => vec![entry.path()],
        _ => Vec::new(),
    });
    found.collect()
}

#[tokio::test]
async fn none_is_written_down_or_told_even_when_everything_is_logged() {
    let model = ScriptedModel::start([
        error(400).message(format!("bad key {KEY}")).into(),
        reply![tool(
            "bash",
            json!({ "command": "env; cat /proc/$PPID/environ | tr '\\0' '\\n'" })
        )],
        reply![text("done")],
    ]);
    let describe = |home: HomeBuilder| home.env("SHARD_LOG", "trace");
    let site = Site::with(model, describe, &[]).await;
    let setup = site.daemon.setup_token();
    let browser = site.daemon.browser().await;
    let ticket = browser.ticket().await;
    let client = browser.connect().await;
    let id = client.create(site.cwd()).await;
    let agent = client.attach(&id).await;
    let mark = agent.prompt("fail").await;
    assert_eq!(
        agent.follow(mark, |_| Answer::Leave).await.reason(),
        "error"
    );
    assert_eq!(agent.turn("look").await.text(), "done");
    assert_eq!(browser.upgrade(&ticket).send().await.status, 101);
    let minted = site.client.ok("auth.token", json!({})).await;
    let minted = minted["token"].as_str().unwrap().to_owned();

    let cookie = browser.cookie.split_once('=').unwrap().1;
    let metrics = site.daemon.file()["token"].as_str().unwrap().to_owned();
    let secrets = [
        ("the provider's key", KEY.to_owned()),
        ("the first setup token", setup),
        ("another setup token", minted),
        ("the cookie", proof(cookie)),
        ("the client secret", proof(&browser.client_secret)),
        ("the ticket", proof(&ticket)),
        ("the token for metrics", metrics),
    ];
    let told = client.messages_since(Mark::START);
    let told: String = told.iter().map(|message| format!("{message}\n")).collect();
    let mut places = vec![
        ("stderr".to_owned(), site.daemon.stderr()),
        ("events".to_owned(), told),
    ];
    for path in files(&site.home.shard_home()) {
        let bytes = std::fs::read(&path).unwrap();
        let text = String::from_utf8_lossy(&bytes).into_owned();
        places.push((path.display().to_string(), text));
        let mode = std::fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o077, 0, "{} is for its owner alone", path.display());
    }
    assert!(
        places
            .iter()
            .any(|(place, _)| place.ends_with("security-v1.json"))
    );
    assert!(
        places[0].1.contains("listening"),
        "the log is on: {}",
        places[0].1
    );
    for (what, secret) in &secrets {
        assert!(secret.len() >= 16, "{what} is a secret: {secret:?}");
        for (place, text) in &places {
            let allowed = place.ends_with("daemon.json") && *what == "the token for metrics";
            assert!(
                allowed || !text.contains(secret),
                "{what} stands in {place}"
            );
        }
    }
}

#[tokio::test]
async fn the_arguments_and_environment_of_processes_tell_nothing() {
    let site = Site::start(ScriptedModel::silent()).await;
    let agent = site.agent().await;
    for pid in [site.daemon.pid(), site.pid(&agent.id)] {
        let arguments = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap();
        let arguments = String::from_utf8_lossy(&arguments).replace('\0', " ");
        assert!(
            !arguments.contains(KEY) && !arguments.contains("token"),
            "{arguments}"
        );
        let protected = std::fs::read(format!("/proc/{pid}/environ"));
        let root = rustix::process::geteuid().is_root();
        assert!(
            protected.is_err() || root,
            "the environment of {pid} can be read"
        );
    }
}

/// All that the daemon has logged.
fn logs(site: &Site) -> String {
    let mut logs = site.daemon.stderr();
    for path in files(&site.home.shard_home().join("logs")) {
        logs.push_str(&String::from_utf8_lossy(&std::fs::read(path).unwrap()));
    }
    logs
}

/// Such a file of procfs, of the daemon and all that runs below it.
fn of_processes(site: &Site, file: &str) -> String {
    let pids = [vec![site.daemon.pid()], descendants(site.daemon.pid())].concat();
    let texts = pids.iter().map(|pid| {
        // Those that hide it tell nothing, which is as good.
        let bytes = std::fs::read(format!("/proc/{pid}/{file}")).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    });
    texts.collect::<Vec<_>>().join("\n")
}

/// What proves a cookie, a secret or a ticket; before a dot it only names it.
fn proof(secret: &str) -> String {
    secret.rsplit('.').next().unwrap().to_owned()
}

#[tokio::test]
async fn neither_logs_nor_metrics_nor_other_clients_nor_processes_learn_what_is_said_or_secret() {
    const LITERAL: &str = "sk-literal-71c2-never-shown";
    let command = "echo printed-$((40+2))-by-the-tool; sleep 300";
    let model = ScriptedModel::start([
        error(401).message(format!("no such key {LITERAL}")).into(),
        reply![
            text("the answer itself"),
            tool("bash", json!({ "command": command }))
        ],
    ]);
    let describe = |home: HomeBuilder| {
        let key = json!({ "api_key": LITERAL, "api_key_env": null });
        home.env("SHARD_LOG", "debug").provider_config(key)
    };
    let site = Site::with(model, describe, &[]).await;
    let port = site.daemon.port();
    let browser = site.daemon.browser().await;
    let ticket = browser.ticket().await;
    let none = json!({});
    let started = Http::post(port, "/enroll/start", &none).send().await;
    let nonce = started.json()["nonce"].as_str().unwrap().to_owned();
    let claim = Http::post(port, "/enroll/claim", &json!({ "nonce": nonce }));
    let wrong = Http::post(port, "/enroll/token", &json!({ "token": "wrong" }));
    let refused = browser.upgrade(&format!("{ticket}x"));
    let mut answers = Vec::new();
    for request in [claim, wrong, refused] {
        answers.push(request.send().await);
    }
    let talks = browser.connect().await;
    let agent = talks.attach(&talks.create(site.cwd()).await).await;
    let mark = agent.prompt("the first question").await;
    agent.follow(mark, |_| Answer::Leave).await;
    let mark = agent.prompt("the second question").await;
    agent.wait_for_type(mark, "tool_progress").await;

    // While the command runs.
    let arguments = of_processes(&site, "cmdline");
    assert!(arguments.contains("sleep"), "its processes: {arguments}");
    let environments = of_processes(&site, "environ");
    let metrics = site.daemon.file()["token"].as_str().unwrap().to_owned();
    let bearer = format!("Bearer {metrics}");
    let scrape = Http::get(port, "/metrics").with("Authorization", &bearer);
    let scraped = scrape.send().await.body;
    assert!(scraped.contains("shard_agents"), "{scraped}");
    agent.ok("abort", json!({})).await;
    site.client.agents().await;
    let others = format!("{:?}", site.client.messages_since(Mark::START));
    let logs = logs(&site);
    assert!(logs.contains("a browser was enrolled"), "it is on: {logs}");

    let said = [
        "the first question",
        "the second question",
        "the answer itself",
        "printed-42-by-the-tool",
        "40+2",
    ];
    let secrets = [
        LITERAL.to_owned(),
        site.daemon.setup_token(),
        proof(browser.cookie.split_once('=').unwrap().1),
        proof(&browser.client_secret),
        proof(&ticket),
        nonce,
        metrics,
    ];
    assert!(secrets.iter().all(|secret| secret.len() >= 16));
    for (place, text) in [("logs", &logs), ("metrics", &scraped), ("events", &others)] {
        let found = said.iter().find(|said| text.contains(**said));
        assert_eq!(found, None, "it stands in {place}: {text}");
    }
    let answers = format!("{answers:?}");
    let places = [logs, scraped, others, arguments, environments, answers];
    for secret in &secrets {
        let found = places.iter().find(|text| text.contains(secret));
        assert_eq!(found, None, "{secret} stands in it");
    }
}

#[tokio::test]
async fn nothing_that_is_said_is_logged_unless_asked_for() {
    let model = ScriptedModel::start([
        reply![
            text("the answer"),
            tool("bash", json!({ "command": "echo the-$((40+2))-output" }))
        ],
        error(400).message("the complaint").into(),
    ]);
    let site = Site::start(model).await;
    let agent = site.agent().await;
    let mark = agent.prompt("the question").await;
    agent.follow(mark, |_| Answer::Leave).await;
    // Its end is where an agent's own log is looked at.
    signal(site.pid(&agent.id), Signal::KILL);
    site.client.wait_for_type(mark, "agent_exited").await;
    let log = logs(&site);
    for said in [
        "the question",
        "the answer",
        "40+2",
        "the-42-output",
        "the complaint",
    ] {
        assert!(!log.contains(said), "{said:?} stands in {log}");
    }
}

#[tokio::test]
async fn the_socket_and_the_files_are_for_their_owner_alone() {
    let site = Site::start(ScriptedModel::silent()).await;
    site.agent().await;
    let home = site.home.shard_home();
    for name in ["daemon.sock", "daemon.json", "daemon.lock"] {
        let mode = std::fs::metadata(home.join(name)).unwrap().permissions();
        assert_eq!(mode.mode() & 0o777, 0o600, "{name}");
    }
    for name in ["", "agents"] {
        let mode = std::fs::metadata(home.join(name)).unwrap().permissions();
        assert_eq!(mode.mode() & 0o777, 0o700, "{name:?}");
    }
    let file = site.daemon.file().as_object().unwrap();
    let keys: Vec<_> = file.keys().map(String::as_str).collect();
    assert_eq!(keys, ["httpPort", "pid", "socketPath", "token"]);
}
