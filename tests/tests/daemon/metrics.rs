//! What `/metrics` tells.

use std::collections::BTreeMap;

use serde_json::json;
use shard_testkit::{Answer, Http, ScriptedModel, reply, signal, text, tool};

use crate::Site;

/// All samples, by name and labels, after the format was looked at.
async fn samples(site: &Site) -> BTreeMap<String, u64> {
    let bearer = format!("Bearer {}", site.daemon.file()["token"].as_str().unwrap());
    let request = Http::get(site.daemon.port(), "/metrics").with("Authorization", &bearer);
    let response = request.send().await;
    assert_eq!(response.status, 200, "{response:?}");
    let kind = response.header("content-type");
    assert_eq!(kind, Some("text/plain; version=0.0.4; charset=utf-8"));
    let mut described = Vec::new();
    let mut samples = BTreeMap::new();
    for line in response.body.lines() {
        if let Some(rest) = line.strip_prefix("# TYPE ") {
            let (name, kind) = rest.split_once(' ').unwrap();
            assert_eq!(kind == "counter", name.ends_with("_total"), "{line}");
            described.push(name.to_owned());
        } else if !line.starts_with("# HELP ") {
            let (name, value) = line.rsplit_once(' ').unwrap();
            let family = name.split('{').next().unwrap();
            assert!(family.starts_with("shard_"), "{line}");
            assert_eq!(described.last().unwrap(), family, "{line}");
            assert!(
                samples
                    .insert(name.to_owned(), value.parse().unwrap())
                    .is_none()
            );
        }
    }
    samples
}

#[tokio::test]
async fn it_counts_agents_processes_clients_events_and_questions() {
    let model = ScriptedModel::start([
        reply![tool("bash", json!({ "command": "true" }))],
        reply![text("done")],
    ]);
    let site = Site::asking(model).await;
    site.client.hello().await;
    let before = samples(&site).await;
    assert_eq!(before["shard_clients{transport=\"unix\"}"], 1);
    assert_eq!(before["shard_agents{state=\"running\"}"], 0);
    assert_eq!(before["shard_runtimes_started_total"], 0);
    assert_eq!(before["shard_events_forwarded_total"], 0);
    let browser = site.daemon.browser().await.connect().await;
    browser.hello().await;
    let agent = site.agent().await;
    let mark = agent.prompt("go").await;
    let ask = agent.wait_for_type(mark, "permission_request").await;
    let open = samples(&site).await;
    assert_eq!(open["shard_asks_open"], 1);
    assert_eq!(open["shard_agents{state=\"running\"}"], 1);
    assert_eq!(open["shard_clients{transport=\"websocket\"}"], 1);
    assert_eq!(open["shard_runtimes_started_total"], 1);
    agent.answer(&ask, &Answer::Allow).await;
    agent.wait_for_type(mark, "turn_end").await;
    signal(site.pid(&agent.id), rustix::process::Signal::KILL);
    site.client.wait_for_type(mark, "agent_exited").await;
    let after = samples(&site).await;
    assert_eq!(after["shard_asks_open"], 0);
    assert_eq!(after["shard_agents{state=\"running\"}"], 0);
    assert_eq!(after["shard_agents{state=\"failed\"}"], 1);
    assert_eq!(after["shard_runtimes_failed_total"], 1);
    let forwarded = after["shard_events_forwarded_total"];
    assert!(
        forwarded > open["shard_events_forwarded_total"],
        "{after:?}"
    );
    assert!(
        after["shard_sent_bytes_total"] > 20 * forwarded,
        "{after:?}"
    );
    assert_eq!(after["shard_slow_clients_dropped_total"], 0);
}
