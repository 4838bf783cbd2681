//! `agent.create`: what is refused, and what happens when it is sent twice.

use rustix::process::{Resource, Rlimit, getrlimit, prlimit};
use serde_json::{Value, json};
use shard_testkit::{ScriptedModel, reply, text};

use crate::{Site, of};

/// The folders that agents left on the disk.
fn kept(site: &Site) -> usize {
    let agents = std::fs::read_dir(site.home.shard_home().join("agents"));
    agents.map_or(0, Iterator::count)
}

#[tokio::test]
async fn what_asks_for_something_unknown_leaves_nothing_behind() {
    let site = Site::start(ScriptedModel::silent()).await;
    let mark = site.client.mark();
    for (key, value) in [
        ("model", json!("mock/no-such-model")),
        ("model", json!("nobody/m1")),
        ("mode", json!("dreaming")),
        ("tools", json!(["read", "teleport"])),
        ("parent_agent_id", json!("agent-nope")),
        ("session_id", json!("session-nope")),
    ] {
        let mut wish = site.cwd();
        wish[key] = value;
        site.client.refused("NOT_FOUND", "agent.create", wish).await;
        assert_eq!(kept(&site), 0, "{key}");
    }
    assert_eq!(site.client.agents().await, Vec::<Value>::new());
    let told = site.client.messages_since(mark);
    assert_eq!(of(&told, "agent_spawned").len(), 0, "{told:?}");
    assert_eq!(of(&told, "agent_exited").len(), 0, "{told:?}");
}

#[tokio::test]
async fn a_folder_that_cannot_be_worked_in_is_refused() {
    let site = Site::start(ScriptedModel::silent()).await;
    let file = site.home.write("file.txt", "x");
    for cwd in [
        json!(site.home.root().join("nowhere")),
        json!(file),
        json!("work"),
        json!(""),
        json!(17),
        Value::Null,
    ] {
        let wish = json!({ "cwd": cwd });
        site.client
            .refused("INVALID_REQUEST", "agent.create", wish)
            .await;
    }
    assert_eq!(kept(&site), 0);
}

#[tokio::test]
async fn the_same_key_makes_one_agent_from_whichever_connection_and_after_a_restart() {
    let mut site = Site::start(ScriptedModel::start([reply![text("hi")]])).await;
    let other = site.daemon.connect().await;
    let mut wish = site.cwd();
    wish["request_key"] = json!("key-1");
    let both = tokio::join!(
        site.client.ok("agent.create", wish.clone()),
        other.ok("agent.create", wish.clone())
    );
    let id = both.0["agent_id"].clone();
    assert_eq!(both.1["agent_id"], id);
    let repeats = [&both.0, &both.1].map(|data| data["duplicate"] == true);
    assert_ne!(repeats[0], repeats[1], "{both:?}");
    let repeat = json!({ "agent_id": id, "duplicate": true });
    assert_eq!(site.client.ok("agent.create", wish.clone()).await, repeat);

    site.daemon.kill9().await;
    site.start_again().await;
    assert_eq!(site.client.ok("agent.create", wish.clone()).await, repeat);
    let mut changed = wish.clone();
    changed["name"] = json!("another");
    site.client
        .refused("CONFLICT", "agent.create", changed)
        .await;
    assert_eq!(site.client.agents().await.len(), 1);
    wish["request_key"] = json!("key-2");
    assert_ne!(site.client.ok("agent.create", wish).await["agent_id"], id);
}

#[tokio::test]
async fn a_key_is_a_short_plain_word() {
    let site = Site::start(ScriptedModel::silent()).await;
    for key in [json!(""), json!("a b"), json!("x".repeat(65)), json!(1)] {
        let mut wish = site.cwd();
        wish["request_key"] = key;
        site.client
            .refused("INVALID_REQUEST", "agent.create", wish)
            .await;
    }
}

#[tokio::test]
async fn an_agent_that_did_not_start_is_kept_and_tried_again() {
    let site = Site::start(ScriptedModel::start([reply![text("at last")]])).await;
    let good = std::fs::read_to_string(site.home.config_path()).unwrap();
    site.home.write_config("{ broken");
    let mark = site.client.mark();
    let mut wish = site.cwd();
    wish["request_key"] = json!("key-1");
    let error = site.client.err("agent.create", wish.clone()).await;
    assert_eq!(error["code"], "RUNTIME_START_FAILED", "{error}");
    let id = error["data"]["agent_id"].clone();
    assert!(id.is_string(), "{error}");
    // Everybody knows of it, and why it cannot be used.
    site.client.wait_for_type(mark, "agent_spawned").await;
    assert_eq!(site.client.agents().await[0]["runtime_state"], "failed");
    let this = json!({ "agent_id": id });
    let why = site
        .client
        .refused("RUNTIME_START_FAILED", "agent.attach", this.clone())
        .await;
    assert!(why.contains("config.json"), "it says what to mend: {why}");
    let error = site.client.err("agent.create", wish.clone()).await;
    assert_eq!(error["data"]["agent_id"], id, "the same agent: {error}");
    // That was three times in a row, so there is a pause now; and it is still the same agent.
    let error = site.client.err("agent.create", wish.clone()).await;
    assert_eq!(error["data"]["agent_id"], id, "{error}");
    assert!(error["data"]["retry_after_ms"].is_u64(), "{error}");

    site.home.write_config(&good);
    site.client.ok("agent.kill", this).await;
    let made = site.client.ok("agent.create", wish).await;
    assert_eq!(made["agent_id"], id);
    assert_eq!(site.client.agents().await.len(), 1);
    let agent = site.client.attach(made["agent_id"].as_str().unwrap()).await;
    assert_eq!(agent.turn("go").await.text(), "at last");
}

#[tokio::test]
async fn an_agent_whose_model_is_gone_before_it_ever_ran_waits_for_it() {
    let site = Site::start(ScriptedModel::start([reply![text("back")]])).await;
    let good = std::fs::read_to_string(site.home.config_path()).unwrap();
    site.home.write_config("{ broken");
    let mut wish = site.cwd();
    wish["model"] = json!("mock/m2");
    let error = site.client.err("agent.create", wish).await;
    let id = error["data"]["agent_id"].as_str().unwrap().to_owned();
    site.home.write_config(&good.replace("\"m2\"", "\"m9\""));
    let attach = json!({ "agent_id": id });
    let why = site
        .client
        .refused("RUNTIME_START_FAILED", "agent.attach", attach)
        .await;
    assert!(why.contains("no model \"m2\""), "{why}");
    assert_eq!(site.client.agent(&id).await["runtime_state"], "failed");
    site.home.write_config(&good);
    let agent = site.client.attach(&id).await;
    assert_eq!(agent.sync["model"]["id"], "mock/m2");
    assert_eq!(agent.turn("go").await.text(), "back");
}

#[tokio::test]
async fn an_agent_whose_model_is_taken_away_goes_on_with_the_configured_one() {
    let site = Site::start(ScriptedModel::start([
        reply![text("one")],
        reply![text("two")],
    ]))
    .await;
    let mut wish = site.cwd();
    wish["model"] = json!("mock/m2");
    let id = site.client.create(wish).await;
    site.client.attach(&id).await.turn("one").await;
    site.client
        .ok("agent.kill", json!({ "agent_id": id }))
        .await;
    let good = std::fs::read_to_string(site.home.config_path()).unwrap();
    site.home.write_config(&good.replace("\"m2\"", "\"m9\""));
    let agent = site.client.attach(&id).await;
    assert_eq!(agent.sync["model"]["id"], "mock/m1");
    assert_eq!(agent.turn("two").await.text(), "two");
    assert_eq!(site.model.request(1).await.model(), "m1");
}

#[tokio::test]
async fn an_agent_that_cannot_be_written_leaves_nothing_behind() {
    let site = Site::start(ScriptedModel::silent()).await;
    site.create().await;
    // As on a full disk: no file may grow.
    let daemon = rustix::process::Pid::from_raw(site.daemon.pid().cast_signed());
    let full = Rlimit {
        current: Some(0),
        maximum: getrlimit(Resource::Fsize).maximum,
    };
    let before = prlimit(daemon, Resource::Fsize, full).unwrap();
    let why = site
        .client
        .refused("INTERNAL_ERROR", "agent.create", site.cwd())
        .await;
    assert!(why.contains("could not be written"), "{why}");
    prlimit(daemon, Resource::Fsize, before).unwrap();
    assert_eq!(kept(&site), 1);
}
