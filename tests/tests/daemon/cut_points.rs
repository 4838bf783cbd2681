//! Whenever a client comes in the middle of a message, it ends up with that message once, whole.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use shard_testkit::{Attached, Client, Gate, Reply, ScriptedModel, hold, text};

use crate::{Site, said, word};

const PARTS: [&str; 6] = ["The ", "quick ", "brown ", "fox ", "jumps ", "over."];

/// A reply that waits before each part, and gates to let them through one by one.
fn gated() -> (Reply, Vec<Gate>) {
    let gates: Vec<Gate> = PARTS.iter().map(|_| Gate::new()).collect();
    let parts = PARTS.iter().zip(&gates);
    let reply = parts.fold(Reply::new(), |reply, (part, gate)| {
        reply.then(hold(gate)).then(text(*part))
    });
    (reply, gates)
}

/// The messages that a client holds: those of its `sync`, deltas appended, whole ones put in their
/// place. What would show twice or be lost in a client fails here.
fn held(sync: &Value, since: &[Value]) -> BTreeMap<String, String> {
    let mut held = BTreeMap::new();
    let mut growing: Vec<String> = Vec::new();
    for message in sync["live_window"]["messages"].as_array().unwrap() {
        let id = word(&message["id"]).to_owned();
        if message["partial"] == true {
            growing.push(id.clone());
        }
        assert_eq!(held.insert(id, said(message)), None, "twice in {sync}");
    }
    for event in since {
        let id = word(&event["message_id"]).to_owned();
        match word(&event["type"]) {
            "message_delta" => {
                if !held.contains_key(&id) {
                    growing.push(id.clone());
                }
                assert!(growing.contains(&id), "a delta of a whole message: {event}");
                *held.entry(id).or_default() += word(&event["text_delta"]);
            }
            "message_complete" => {
                let whole = said(&event["message"]);
                if let Some(text) = held.get(&id) {
                    assert!(
                        growing.contains(&id),
                        "a message for the second time: {event}"
                    );
                    assert_eq!(*text, whole, "{event}");
                }
                growing.retain(|it| *it != id);
                held.insert(id, whole);
            }
            _ => {}
        }
    }
    assert_eq!(growing, Vec::<String>::new(), "left unfinished");
    held
}

/// Checks what a client holds that came in the middle of the turn, or whose turn has ended.
async fn check(attached: &Attached<'_>) {
    if attached.sync["status"] != "idle" {
        attached.status(attached.mark, "idle").await;
    }
    let held = held(&attached.sync, &attached.messages_since(attached.mark));
    let texts: Vec<_> = held.values().map(String::as_str).collect();
    assert_eq!(texts.len(), 2, "{held:?}");
    assert!(
        texts.contains(&"go") && texts.contains(&&*PARTS.concat()),
        "{texts:?}"
    );
}

async fn connections(site: &Site) -> Vec<Client> {
    let mut clients = Vec::new();
    for number in 0..PARTS.len() {
        clients.push(match number % 2 {
            0 => site.daemon.connect().await,
            _ => site.daemon.browser().await.connect().await,
        });
    }
    clients
}

#[tokio::test]
async fn between_any_two_pieces() {
    let (reply, gates) = gated();
    let site = Site::start(ScriptedModel::start([reply])).await;
    let clients = connections(&site).await;
    let agent = site.agent().await;
    let mark = agent.prompt("go").await;
    let mut attached = Vec::new();
    for ((client, gate), part) in clients.iter().zip(&gates).zip(PARTS) {
        gate.reached().await;
        attached.push(client.attach(&agent.id).await);
        gate.open();
        let came = |m: &Value| m["text_delta"] == part;
        agent.wait_for(mark, "the next piece", came).await;
    }
    for (number, attached) in attached.iter().enumerate() {
        let messages = attached.sync["live_window"]["messages"].as_array().unwrap();
        let so_far = messages.get(1).map(said).unwrap_or_default();
        assert_eq!(so_far, PARTS[..number].concat());
        check(attached).await;
    }
    agent.wait_for_type(mark, "turn_end").await;
    check(&agent).await;
}

#[tokio::test]
async fn while_a_piece_is_on_its_way() {
    let (reply, gates) = gated();
    let site = Site::start(ScriptedModel::start([reply])).await;
    let clients = connections(&site).await;
    let agent = site.agent().await;
    let mark = agent.prompt("go").await;
    let mut attached = Vec::new();
    for (client, gate) in clients.iter().zip(&gates) {
        gate.reached().await;
        gate.open();
        attached.push(client.attach(&agent.id).await);
    }
    for attached in &attached {
        check(attached).await;
    }
    agent.wait_for_type(mark, "turn_end").await;
    check(&agent).await;
}

#[tokio::test]
async fn again_and_again_on_one_connection() {
    let (reply, gates) = gated();
    let site = Site::start(ScriptedModel::start([reply])).await;
    let client = site.daemon.connect().await;
    let agent = site.agent().await;
    let mark = agent.prompt("go").await;
    let mut last = None;
    for gate in &gates {
        gate.reached().await;
        let attached = client.attach(&agent.id).await;
        let detached = attached.ok("agent.detach", json!({}));
        gate.open();
        detached.await;
        // Sent at once, so that pieces come before, between and after.
        last = Some(client.attach(&agent.id).await);
    }
    check(&last.unwrap()).await;
    agent.wait_for_type(mark, "turn_end").await;
    check(&agent).await;
}
