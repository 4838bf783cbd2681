//! A client that does not read costs itself the connection, and nobody else anything.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use shard_testkit::{Answer, Http, Mark, ScriptedModel, reply, text};

use crate::Site;

const KIB: usize = 1024;

/// What the daemon may grow by, however much there is to say: buffers of the system and of the
/// allocator.
const GROWTH_KB: u64 = 24 * 1024;

/// A daemon with this bound for what waits for one client, in bytes.
async fn bounded(bound: usize, model: ScriptedModel) -> Site {
    let config = json!({ "daemon": { "client_queue_bytes": bound } });
    let describe = |home: shard_testkit::HomeBuilder| home.config(config).window(100_000_000);
    Site::with(model, describe, &[]).await
}

fn resident_kb(site: &Site) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", site.daemon.pid())).unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:"));
    let kilobytes = line.and_then(|line| line.split_whitespace().nth(1));
    kilobytes.unwrap().parse().unwrap()
}

/// How many connections the daemon counts.
async fn connections(site: &Site) -> u64 {
    let bearer = format!("Bearer {}", site.daemon.file()["token"].as_str().unwrap());
    let request = Http::get(site.daemon.port(), "/metrics").with("Authorization", &bearer);
    let body = request.send().await.body;
    let lines = body
        .lines()
        .filter(|line| line.starts_with("shard_clients{"));
    let counts = lines.filter_map(|line| line.rsplit_once(' ')?.1.parse::<u64>().ok());
    counts.sum()
}

/// Waits until the daemon counts that many connections.
async fn connected(site: &Site, wanted: u64) {
    let deadline = Instant::now() + Duration::from_secs(30);
    let mut now = connections(site).await;
    while now != wanted {
        assert!(
            Instant::now() < deadline,
            "{now} connections instead of {wanted}"
        );
        now = connections(site).await;
    }
}

#[tokio::test]
async fn who_does_not_read_is_cut_off_and_the_others_get_it_all() {
    // A turn says it twice, in pieces and whole, which is less than the bound: whoever reads at
    // all is not too slow. Two turns are more.
    let long = "0123456789abcdef".repeat(96 * KIB);
    let replies = (0..3).map(|_| reply![text(long.clone()).chunks(192)]);
    let site = bounded(4 * KIB * KIB, ScriptedModel::start(replies)).await;
    let agent = site.agent().await;
    let slow = site.daemon.connect().await;
    slow.attach(&agent.id).await;
    slow.stop_reading();
    connected(&site, 2).await;
    let before = resident_kb(&site);
    for _ in 0..3 {
        let turn = agent.turn("say much").await;
        let deltas = turn.of("message_delta");
        let streamed = deltas.iter().map(|m| crate::word(&m["text_delta"]).len());
        assert_eq!(
            (streamed.sum(), turn.text().len()),
            (long.len(), long.len())
        );
    }
    let after = resident_kb(&site);
    assert!(after < before + GROWTH_KB, "from {before} kB to {after} kB");
    connected(&site, 1).await;
    slow.go_on_reading();
    assert_eq!(slow.ended().await, None);
    // It may come back, and is told how things stand.
    let again = site.daemon.connect().await;
    assert_eq!(again.attach(&agent.id).await.sync["status"], "idle");
}

#[tokio::test]
async fn on_a_websocket_it_is_told_why() {
    // As above: less than the bound in a turn. The system takes several megabytes before the
    // daemon has to keep anything.
    let long = "0123456789abcdef".repeat(24 * KIB);
    let model = ScriptedModel::answering(move |_| reply![text(long.clone()).chunks(48)]);
    let site = bounded(KIB * KIB, model).await;
    let agent = site.agent().await;
    let slow = site.daemon.browser().await.connect().await;
    slow.attach(&agent.id).await;
    connected(&site, 2).await;
    slow.stop_reading();
    let turns = async {
        for _ in 0..60 {
            agent.turn("say much").await;
        }
    };
    // It has two seconds to read what is left for it.
    tokio::select! {
        () = turns => panic!("it was never cut off"),
        () = connected(&site, 1) => slow.go_on_reading(),
    }
    assert_eq!(slow.ended().await, Some(4008));
    site.client.agents().await;
}

#[tokio::test]
async fn one_large_message_costs_nobody_the_connection() {
    let model = ScriptedModel::start([reply![text("read")]]);
    let site = bounded(256 * KIB, model).await;
    let agent = site.agent().await;
    let slow = site.daemon.connect().await;
    let watching = slow.attach(&agent.id).await;
    slow.stop_reading();
    let large = "y".repeat(KIB * KIB);
    let mark = agent.prompt(&large).await;
    agent.follow(mark, |_| Answer::Leave).await;
    slow.go_on_reading();
    let came = |m: &Value| m["message"]["content"][0]["text"] == large.as_str();
    watching
        .wait_for(watching.mark, "the large prompt", came)
        .await;
    watching.wait_for_type(watching.mark, "turn_end").await;
    assert!(slow.is_open() && site.client.is_open());
    assert_eq!(slow.messages_since(Mark::START)[0]["type"], "hello");
}

#[tokio::test]
async fn who_comes_back_to_many_agents_at_once_is_not_slow() {
    let long = "0123456789abcdef".repeat(3 * KIB);
    let model = ScriptedModel::answering(move |_| reply![text(long.clone())]);
    // Less than one `sync` of each agent together, beside what the system takes.
    let site = bounded(64 * KIB, model).await;
    let mut agents = Vec::new();
    for _ in 0..10 {
        let agent = site.agent().await;
        agent.turn("say much").await;
        agents.push(agent.id);
    }
    let back = site.daemon.connect().await;
    back.hello().await;
    back.stop_reading();
    for id in &agents {
        let attach = json!({ "type": "agent.attach", "id": id, "agent_id": id });
        back.send(attach).await;
    }
    // The last one was answered when this is, as commands of an agent are carried out in order.
    for id in &agents {
        let other = site.daemon.connect().await;
        other.attach(id).await;
    }
    back.go_on_reading();
    for id in &agents {
        let is = |m: &Value| m["type"] == "sync" && m["agent_id"] == id.as_str();
        back.wait_for(Mark::START, "the sync of each", is).await;
    }
}

#[tokio::test]
async fn a_small_bound_for_clients_is_none_for_agents() {
    let long = "0123456789abcdef".repeat(32 * KIB);
    let model = ScriptedModel::start([reply![text(long.clone()).chunks(8)]]);
    // No client reads that fast, so none watches: what is told is kept all the same.
    let site = bounded(4 * KIB, model).await;
    let agent = site.agent().await;
    let mark = site.client.mark();
    agent.send("prompt", json!({ "message": "say much" })).await;
    agent.ok("agent.detach", json!({})).await;
    let idle = |m: &Value| m["type"] == "agent_activity" && m["phase"] == "idle";
    site.client.wait_for(mark, "that it is done", idle).await;
    let failed = site.client.messages_since(mark);
    assert_eq!(crate::of(&failed, "agent_exited").len(), 0, "{failed:?}");
    let kept = site.client.attach(&agent.id).await;
    let messages = kept.sync["live_window"]["messages"].as_array().unwrap();
    assert!(
        crate::said(&messages[1]) == long,
        "{} bytes",
        crate::said(&messages[1]).len()
    );
}
