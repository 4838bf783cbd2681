//! What a page makes of processes that die.

use serde_json::json;
use shard_testkit::{DaemonProcess, Gate, Reply, ScriptedModel, hold, reply, text, tool};

use crate::{Site, halves};

#[tokio::test]
async fn an_agent_that_is_killed_in_mid_turn_comes_back_with_all_that_it_had_written() {
    let gate = Gate::new();
    let hanging = Reply::new().then(text("Never finished")).then(hold(&gate));
    let model = ScriptedModel::start([
        reply![text("First I look."), tool("ls", json!({}))],
        hanging,
        reply!["Here I am again."],
    ]);
    let site = Site::start(model).await;
    let agent = site.agent("fragile").await;
    let page = site.page_at(&agent).await;
    page.say("go").await;
    page.click("ask-choice-allow_once").await;
    page.shows("Never finished").await;
    let pid = site.daemon.agent_pid(&agent).unwrap();
    let pid = rustix::process::Pid::from_raw(i32::try_from(pid).unwrap()).unwrap();
    let mark = site.client.mark();
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
    site.client.wait_for_type(mark, "agent_exited").await;
    page.gone("stop").await;
    page.reload().await;
    page.connected().await;
    page.reads("message-user", &["go"]).await;
    page.shows("First I look.").await;
    page.find("tool-card").await;
    page.say("are you there?").await;
    page.shows("Here I am again.").await;
    page.close().await;
}

#[tokio::test]
async fn a_page_finds_its_way_back_to_a_daemon_that_was_killed() {
    let gate = Gate::new();
    let model = ScriptedModel::start([reply!["Before."], halves(&gate), reply!["After."]]);
    let mut site = Site::start(model).await;
    let agent = site.agent("steady").await;
    let page = site.page_at(&agent).await;
    page.say("one").await;
    page.shows("Before.").await;
    page.fill("composer", "not yet sent").await;
    let port = site.daemon.port();
    site.daemon.kill9().await;
    page.until("the page says that it lost the daemon", async || {
        !page
            .texts("connection-state")
            .await
            .join("")
            .contains("connected")
    })
    .await;
    site.daemon = DaemonProcess::start_on(&site.home, port).await;
    site.client = site.daemon.connect().await;
    page.connected().await;
    assert_eq!(page.value("composer").await, "not yet sent");
    page.reads("message-user", &["one"]).await;
    page.reads("message-assistant", &["Before."]).await;
    page.click("send").await;
    page.shows("The first half,").await;
    gate.open();
    page.shows("and the second.").await;
    page.close().await;
}
