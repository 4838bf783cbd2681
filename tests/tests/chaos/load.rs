//! Many agents that stream at once, and many clients that come, go and hang.

use std::fs;
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use serde_json::json;
use shard_testkit::{DaemonProcess, Dice, Gate, Home, ScriptedModel, hold, reply, text};

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
    let mut dice = Dice::from_env("SHARD_CHAOS_SEED");
    let gate = Gate::new();
    let words = "some words of it. ".repeat(100);
    let answer = reply![
        hold(&gate),
        text(words.clone()).chunks(PIECES).delay(BETWEEN)
    ];
    let provider = ScriptedModel::answering(move |_| answer.clone());
    let home = Home::builder()
        .model(&provider)
        .config(json!({ "daemon": { "client_queue_bytes": QUEUE_BYTES } }))
        .build();
    let daemon = DaemonProcess::start(&home, &[]).await;
    let control = daemon.connect().await;
    let wish = || json!({ "cwd": home.work() });
    let agents = join_all((0..AGENTS).map(|_| control.create(wish()))).await;
    let before = memory_kb(&daemon, "VmRSS");

    let mut model = Model::default();
    let browser = daemon.browser().await;
    let mut staying = Vec::new();
    for number in 0..STAYING {
        let client = match number % 4 {
            0 => browser.connect().await,
            _ => daemon.connect().await,
        };
        let mut connection = Connection::new(client, None);
        connection
            .attach(&agents[number % AGENTS], "interactive")
            .await;
        staying.push(connection);
    }
    let mut hanging = Vec::new();
    for number in 0..HANGING {
        let client = match number % 2 {
            0 => browser.connect().await,
            _ => daemon.connect().await,
        };
        let mut connection = Connection::new(client, None);
        for agent in &agents {
            connection.attach(agent, "observer").await;
        }
        hanging.push(connection);
    }
    for (number, connection) in staying.iter_mut().enumerate() {
        let agent = &agents[number % AGENTS];
        until(connection, &mut model, |it| it.is_attached(agent)).await;
    }
    for connection in &mut hanging {
        let all = |it: &Connection| agents.iter().all(|agent| it.is_attached(agent));
        until(connection, &mut model, all).await;
        connection.client.stop_reading();
    }
    for (number, agent) in agents.iter().enumerate() {
        let key = model.wish(agent, "go");
        assert!(staying[number].prompt(&key, &mut model).await);
    }
    gate.reached_times(AGENTS).await;
    gate.open();

    for number in 0..COMING {
        let client = match number % 2 {
            0 => browser.connect().await,
            _ => daemon.connect().await,
        };
        let mut connection = Connection::new(client, None);
        let agent = dice.pick(&agents.iter().collect::<Vec<_>>()).unwrap();
        connection.attach(agent, "interactive").await;
        until(&mut connection, &mut model, |it| it.is_attached(agent)).await;
        // It hears a little more, and goes without a word.
        connection.client.has_news(connection.mark(), BETWEEN).await;
        connection.read(&mut model);
        connection.end(&mut model);
    }

    for (number, connection) in staying.iter_mut().enumerate() {
        let agent = &agents[number % AGENTS];
        until(connection, &mut model, |it| it.has_heard(agent, &words)).await;
        connection.end(&mut model);
    }
    let mut told = 0;
    for connection in &mut hanging {
        connection.client.go_on_reading();
        let all = |it: &Connection| agents.iter().all(|agent| it.has_heard(agent, &words));
        let deadline = Instant::now() + DEADLINE;
        while connection.read(&mut model) && !all(connection) {
            assert!(
                Instant::now() < deadline,
                "it neither hears all nor is told"
            );
            let patience = Duration::from_millis(100);
            connection
                .client
                .has_news(connection.mark(), patience)
                .await;
        }
        told += usize::from(!connection.client.is_open());
        connection.end(&mut model);
    }
    assert!(
        told > 0,
        "nobody was cut off, so nothing waited for too long"
    );
    let most = memory_kb(&daemon, "VmHWM");
    assert!(most < before + GROWTH_KB, "from {before} kB to {most} kB");
    for agent in &agents {
        let session = control.agent(agent).await["session_id"].clone();
        let page = json!({ "session_id": session });
        let kept = control.ok("session.messages", page).await;
        model.check(agent, kept["messages"].as_array().unwrap());
    }
    println!(
        "{}; {told} were told; {before} kB, at most {most} kB",
        model.summary()
    );
}

/// Reads on until the condition holds.
async fn until(
    connection: &mut Connection,
    model: &mut Model,
    condition: impl Fn(&Connection) -> bool,
) {
    let deadline = Instant::now() + DEADLINE;
    loop {
        let open = connection.read(model);
        if condition(connection) {
            return;
        }
        assert!(open, "a client that reads was cut off");
        assert!(Instant::now() < deadline, "it did not hear all in time");
        let patience = Duration::from_millis(100);
        connection
            .client
            .has_news(connection.mark(), patience)
            .await;
    }
}

fn memory_kb(daemon: &DaemonProcess, field: &str) -> u64 {
    let status = fs::read_to_string(format!("/proc/{}/status", daemon.pid())).unwrap();
    let line = status.lines().find(|line| line.starts_with(field));
    let kilobytes = line.and_then(|line| line.split_whitespace().nth(1));
    kilobytes.unwrap().parse().unwrap()
}
