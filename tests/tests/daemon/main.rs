//! The daemon end to end: the real binary, its agents, and clients over the unix socket and over
//! WebSockets.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod asks;
mod browsers;
mod configuration;
mod crash;
mod creating;
mod cut_points;
mod ends;
mod grants;
mod hierarchy;
mod lifecycle;
mod messages;
mod metrics;
mod records;
mod remote;
mod resources;
mod restoring;
mod secrets;
mod service;
mod sessions;
mod shutdown;
mod slow_clients;
mod starting;
mod streams;
mod tools_at_the_socket;
mod usage;
mod web;

use serde_json::{Value, json};
use shard_testkit::{
    Attached, Client, DaemonProcess, Gate, Home, HomeBuilder, Reply, ScriptedModel, hold, reply,
    text,
};

/// A daemon with a home and a model of its own, and one client of it. Ended in this order.
struct Site {
    client: Client,
    daemon: DaemonProcess,
    home: Home,
    model: ScriptedModel,
}

impl Site {
    /// A daemon whose agents may do everything.
    async fn start(model: ScriptedModel) -> Self {
        Self::with(model, |home| home, &[]).await
    }

    /// A daemon whose agents ask for everything.
    async fn asking(model: ScriptedModel) -> Self {
        Self::with(model, |home| home.rules(shard_testkit::ask_all()), &[]).await
    }

    async fn with(
        model: ScriptedModel,
        describe: impl FnOnce(HomeBuilder) -> HomeBuilder,
        args: &[&str],
    ) -> Self {
        let home = describe(Home::builder().model(&model)).build();
        let daemon = DaemonProcess::start(&home, args).await;
        let client = daemon.connect().await;
        Self {
            client,
            daemon,
            home,
            model,
        }
    }

    /// Where agents work.
    fn cwd(&self) -> Value {
        json!({ "cwd": self.home.work() })
    }

    /// Makes an agent that nobody is attached to.
    async fn create(&self) -> String {
        self.client.create(self.cwd()).await
    }

    /// Makes an agent and attaches to it.
    async fn agent(&self) -> Attached<'_> {
        let id = self.create().await;
        self.client.attach(&id).await
    }

    /// Starts the daemon anew, after the one before has ended.
    async fn start_again(&mut self) {
        self.daemon = DaemonProcess::start(&self.home, &[]).await;
        self.client = self.daemon.connect().await;
    }

    /// The process that serves an agent.
    fn pid(&self, agent_id: &str) -> u32 {
        self.daemon.agent_pid(agent_id).unwrap()
    }
}

/// A reply that comes half, and the rest when the gate opens.
fn halves(gate: &Gate) -> Reply {
    reply![text("first half, "), hold(gate), text("second half")]
}

fn word(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// The text blocks of a message, joined.
fn said(message: &Value) -> String {
    let blocks = message["content"].as_array().into_iter().flatten();
    blocks.map(|block| word(&block["text"])).collect()
}

/// Who said what, of the messages in a `sync` or a page.
fn transcript(messages: &Value) -> Vec<(&str, String)> {
    let messages = messages.as_array().into_iter().flatten();
    messages.map(|m| (word(&m["role"]), said(m))).collect()
}

/// The same, to compare with.
fn lines<'a>(lines: &[(&'a str, &str)]) -> Vec<(&'a str, String)> {
    let lines = lines.iter();
    lines
        .map(|(role, text)| (*role, (*text).to_owned()))
        .collect()
}

/// The messages of one type.
fn of<'a>(messages: &'a [Value], kind: &str) -> Vec<&'a Value> {
    messages.iter().filter(|m| m["type"] == kind).collect()
}
