//! A daemon that dies between a command and its answer: the next one hears it again, and does it
//! once.

use std::fs;

use serde_json::{Value, json};
use shard_testkit::{DaemonProcess, Gate, Home, ScriptedModel, hold, reply, run_cli, text};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::{UnixListener, UnixStream};

use crate::pty::AtTerminal;

/// Stands before a daemon, and keeps the first answer to one sort of command to itself.
struct Relay {
    listener: UnixListener,
    daemon: DaemonProcess,
}

impl Relay {
    fn before(home: &Home, daemon: DaemonProcess) -> Self {
        let socket = home.root().join("relay.sock");
        let listener = UnixListener::bind(&socket).unwrap();
        let mut file = daemon.file().clone();
        file["socketPath"] = json!(socket);
        fs::write(home.shard_home().join("daemon.json"), file.to_string()).unwrap();
        Self { listener, daemon }
    }

    /// Lets one client talk to the daemon until that has answered such a command; then the daemon is
    /// killed, and all the client hears is that the connection has ended.
    async fn lose_answer_to(self, command: &str) {
        let (client, _) = self.listener.accept().await.unwrap();
        let daemon = UnixStream::connect(self.daemon.socket()).await.unwrap();
        let (mut from_client, mut to_client) = client.into_split();
        let (from_daemon, mut to_daemon) = daemon.into_split();
        let commands = tokio::spawn(async move {
            _ = tokio::io::copy(&mut from_client, &mut to_daemon).await;
        });
        let mut lines = BufReader::new(from_daemon).lines();
        loop {
            let line = lines.next_line().await.unwrap().unwrap();
            let message: Value = serde_json::from_str(&line).unwrap();
            if message["type"] == "response" && message["command"] == command {
                assert_eq!(message["success"], true, "{message}");
                break;
            }
            let line = format!("{line}\n");
            to_client.write_all(line.as_bytes()).await.unwrap();
        }
        self.daemon.kill9().await;
        commands.abort();
    }
}

/// What people said to an agent.
async fn said(daemon: &DaemonProcess, id: &str) -> Vec<String> {
    let client = daemon.connect().await;
    let agent = client.attach(id).await;
    let messages = agent.sync["live_window"]["messages"].as_array();
    let people = messages
        .into_iter()
        .flatten()
        .filter(|m| m["role"] == "user");
    let texts = people.map(|m| m["content"][0]["text"].as_str().unwrap().to_owned());
    texts.collect()
}

#[tokio::test]
async fn a_prompt_is_sent_again_and_done_once() {
    // A second turn would have no reply, and fail the test.
    let model = ScriptedModel::start([reply![text("done")]]);
    let home = Home::new(&model);
    let daemon = DaemonProcess::start(&home, &[]).await;
    let wish = json!({ "cwd": home.work() });
    let id = daemon.connect().await.create(wish).await;
    let relay = Relay::before(&home, daemon);
    let next = async {
        relay.lose_answer_to("prompt").await;
        DaemonProcess::start(&home, &[]).await
    };
    let args = ["prompt", &id, "do it once"];
    let (output, daemon) = tokio::join!(run_cli(&home, &args, None), next);
    assert_eq!(output.code(), 0, "{}", output.stderr);
    assert_eq!(said(&daemon, &id).await, ["do it once"]);
}

#[tokio::test]
async fn a_wish_for_an_agent_is_sent_again_and_makes_one() {
    let model = ScriptedModel::silent();
    let home = Home::new(&model);
    let relay = Relay::before(&home, DaemonProcess::start(&home, &[]).await);
    let next = async {
        relay.lose_answer_to("agent.create").await;
        DaemonProcess::start(&home, &[]).await
    };
    let (output, daemon) = tokio::join!(run_cli(&home, &["new"], None), next);
    assert_eq!(output.code(), 0, "{}", output.stderr);
    let agents = daemon.connect().await.agents().await;
    let ids: Vec<_> = agents
        .iter()
        .map(|it| it["agent_id"].as_str().unwrap())
        .collect();
    assert_eq!(ids, [output.stdout.trim()]);
}

#[tokio::test]
async fn a_terminal_comes_back_and_what_was_typed_is_done_once() {
    let gate = Gate::new();
    let model = ScriptedModel::start([
        reply![hold(&gate), text("heard at last")],
        reply![text("heard at last")],
    ]);
    let home = Home::new(&model);
    let daemon = DaemonProcess::start(&home, &[]).await;
    let wish = json!({ "cwd": home.work() });
    let id = daemon.connect().await.create(wish).await;
    let relay = Relay::before(&home, daemon);
    let mut terminal = AtTerminal::start_script(&home, &format!(r#""$0" attach {id} >&2"#));
    terminal.types("do it once\n");
    relay.lose_answer_to("prompt").await;
    terminal.shows("waiting for another one", 1).await;
    // The turn had come as far as the model, or had not: then the next one gets its reply.
    gate.open();
    let daemon = DaemonProcess::start(&home, &[]).await;
    terminal.shows("it is back", 1).await;
    terminal.types("and this\n");
    terminal.shows("heard at last", 1).await;
    terminal.types("\x04");
    assert!(terminal.ended().await.0.success(), "{}", terminal.shown());
    assert_eq!(said(&daemon, &id).await, ["do it once", "and this"]);
}

#[tokio::test]
async fn a_daemon_that_stays_away_is_not_waited_for_for_ever() {
    let model = ScriptedModel::silent();
    let home = Home::new(&model);
    let relay = Relay::before(&home, DaemonProcess::start(&home, &[]).await);
    let lost = relay.lose_answer_to("agent.create");
    let (output, ()) = tokio::join!(run_cli(&home, &["new"], None), lost);
    assert_eq!(output.code(), 3, "{}", output.stderr);
    assert!(output.stderr.contains("is not known"), "{}", output.stderr);
}
