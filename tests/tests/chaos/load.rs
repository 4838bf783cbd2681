//! Many agents that stream at once, and many clients that come, go and hang.

use std::fs;
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use serde_json::json;
use shard_testkit::{
    Browser, Client, DaemonProcess, Dice, Gate, Home, ScriptedModel, hold, reply, text,
};

use crate::connection::Connection;
use crate::model::Model;

const AGENTS: usize = 64;

/// Clients that stay, each with one agent: two or three for each agent.
const STAYING: usize = 150;

/// Clients that are attached to every agent and do not read.
const HANGING: usize = 20;

/// Clients that come while all agents stream, and go again.
const COMING: usize = 30;

/// Pieces of an answer, and the time between two of them.
const PIECES: usize = 120;
const BETWEEN: Duration = Duration::from_millis(10);

/// What may wait for a client, in bytes.
const QUEUE_BYTES: usize = 128 * 1024;

/// What the daemon may grow by, in kB: as much as may wait for those who hang, and what buffers,
/// allocator and 64 started agents take.
const GROWTH_KB: u64 = 64 * 1024;

const DEADLINE: Duration = Duration::from_secs(60);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_200_clients_at_64_agents_each_hears_all_or_is_told_that_it_does_not() {
    let gate = Gate::new();
    let words = "some words of it. ".repeat(100);
    let streamed = text(words.clone()).chunks(PIECES).delay(BETWEEN);
    let answer = reply![hold(&gate), streamed];
    let provider = ScriptedModel::answering(move |_| answer.clone());
    let mut load = Load::start(&provider, words).await;
    let before = load.memory_kb("VmRSS");

    let mut staying = load.staying().await;
    let mut hanging = load.hanging().await;
    for (connection, agent) in staying.iter_mut().zip(load.agents.clone()) {
        let key = load.model.wish(&agent, "go");
        assert!(connection.prompt(&key, &mut load.model).await);
    }
    gate.reached_times(AGENTS).await;
    gate.open();
    load.come_and_go().await;

    for (number, connection) in staying.iter_mut().enumerate() {
        let (agent, words) = (load.agents[number % AGENTS].clone(), load.words.clone());
        let all = |it: &Connection| it.has_heard(&agent, &words);
        load.until(connection, all).await;
        connection.end(&mut load.model);
    }
    // All at once: the longer nobody reads from a TCP connection, the longer the kernel that sends
    // waits until it looks again whether somebody does.
    for connection in &mut hanging {
        connection.client.go_on_reading();
        connection.probe().await;
    }
    let mut told = 0;
    for connection in &mut hanging {
        told += usize::from(!load.hears_all(connection).await);
    }
    assert!(told > 0, "nothing waited for anybody for too long");
    let most = load.memory_kb("VmHWM");
    assert!(
        most < before + GROWTH_KB,
        "from {before} kB to {most} kB with {told} who were told"
    );
    load.compare_with_what_is_kept().await;
}

struct Load {
    control: Client,
    browser: Browser,
    daemon: DaemonProcess,
    _home: Home,
    agents: Vec<String>,
    /// What each agent says.
    words: String,
    model: Model,
}

impl Load {
    async fn start(provider: &ScriptedModel, words: String) -> Self {
        let home = Home::builder()
            .model(provider)
            .config(json!({ "daemon": { "client_queue_bytes": QUEUE_BYTES } }))
            .build();
        let daemon = DaemonProcess::start(&home, &[]).await;
        let control = daemon.connect().await;
        let wish = || json!({ "cwd": home.work() });
        let agents = join_all((0..AGENTS).map(|_| control.create(wish()))).await;
        Self {
            control,
            browser: daemon.browser().await,
            daemon,
            _home: home,
            agents,
            words,
            model: Model::default(),
        }
    }

    /// A client: one in `share` is a browser.
    async fn connect(&self, number: usize, share: usize) -> Connection {
        let client = match number % share {
            0 => self.browser.connect().await,
            _ => self.daemon.connect().await,
        };
        Connection::new(client, None)
    }

    async fn staying(&mut self) -> Vec<Connection> {
        let mut staying = Vec::new();
        for number in 0..STAYING {
            let mut connection = self.connect(number, 4).await;
            let agent = self.agents[number % AGENTS].clone();
            connection.attach(&agent, "interactive").await;
            self.until(&mut connection, |it| it.is_attached(&agent))
                .await;
            staying.push(connection);
        }
        staying
    }

    async fn hanging(&mut self) -> Vec<Connection> {
        let agents = self.agents.clone();
        let mut hanging = Vec::new();
        for number in 0..HANGING {
            let mut connection = self.connect(number, 2).await;
            for agent in &agents {
                connection.attach(agent, "observer").await;
            }
            let all = |it: &Connection| agents.iter().all(|agent| it.is_attached(agent));
            self.until(&mut connection, all).await;
            connection.client.stop_reading();
            hanging.push(connection);
        }
        hanging
    }

    async fn come_and_go(&mut self) {
        let mut dice = Dice::from_env("SHARD_CHAOS_SEED");
        let numbers: Vec<usize> = (0..AGENTS).collect();
        for number in 0..COMING {
            let mut connection = self.connect(number, 2).await;
            let agent = self.agents[dice.pick(&numbers).unwrap()].clone();
            connection.attach(&agent, "interactive").await;
            self.until(&mut connection, |it| it.is_attached(&agent))
                .await;
            // It hears a little more, and goes without a word.
            connection.client.has_news(connection.mark(), BETWEEN).await;
            connection.read(&mut self.model);
            connection.end(&mut self.model);
        }
    }

    /// Has a client read until it has heard all, or the connection has ended before.
    async fn hears_all(&mut self, connection: &mut Connection) -> bool {
        let heard_all = |it: &Connection| {
            let mut agents = self.agents.iter();
            agents.all(|agent| it.has_heard(agent, &self.words))
        };
        let deadline = Instant::now() + DEADLINE;
        while connection.read(&mut self.model) && !heard_all(connection) {
            let late = Instant::now() > deadline;
            let standing = connection.standing();
            assert!(!late, "it neither hears all nor is told: {standing:#?}");
            news(connection).await;
        }
        let open = connection.client.is_open();
        connection.end(&mut self.model);
        open
    }

    /// Reads on until the condition holds.
    async fn until(
        &mut self,
        connection: &mut Connection,
        condition: impl Fn(&Connection) -> bool,
    ) {
        let deadline = Instant::now() + DEADLINE;
        loop {
            let open = connection.read(&mut self.model);
            if condition(connection) {
                return;
            }
            assert!(open, "a client that reads was cut off");
            assert!(Instant::now() < deadline, "it did not hear all in time");
            news(connection).await;
        }
    }

    async fn compare_with_what_is_kept(&self) {
        for agent in &self.agents {
            let session = self.control.agent(agent).await["session_id"].clone();
            let page = json!({ "session_id": session });
            let kept = self.control.ok("session.messages", page).await;
            self.model
                .check(agent, kept["messages"].as_array().unwrap());
        }
    }

    fn memory_kb(&self, field: &str) -> u64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.daemon.pid())).unwrap();
        let line = status.lines().find(|line| line.starts_with(field));
        let kilobytes = line.and_then(|line| line.split_whitespace().nth(1));
        kilobytes.unwrap().parse().unwrap()
    }
}

async fn news(connection: &Connection) {
    let patience = Duration::from_millis(100);
    connection
        .client
        .has_news(connection.mark(), patience)
        .await;
}
