//! A conversation on the page: from a new agent to a finished turn.

use serde_json::json;
use shard_testkit::{Gate, ScriptedModel, reply, text, tool};

use crate::{Site, halves};

#[tokio::test]
async fn a_new_agent_works_in_a_repository_and_is_found_as_it_was() {
    let model = ScriptedModel::start([
        reply![
            text("I **read** it."),
            tool("read", json!({ "path": "README.md" }))
        ],
        reply![
            text("And now I write."),
            tool("bash", json!({ "command": "echo made > made.txt; seq 3" }))
        ],
        reply!["All done."],
    ]);
    let site = Site::start(model).await;
    let page = site.page().await;
    page.click("new-agent").await;
    let work = site.home.work().to_string_lossy().into_owned();
    page.fill("new-agent-cwd", &work).await;
    page.fill("new-agent-name", "cart").await;
    page.click("new-agent-create").await;
    page.reads("agent-name", &["cart"]).await;
    page.say("look around").await;
    page.reads("message-user", &["look around"]).await;
    // Markdown is drawn, not shown.
    page.shows("I read it.").await;
    page.click("ask-choice-allow_once").await;
    page.shows("And now I write.").await;
    page.shows("echo made > made.txt").await;
    page.click("ask-choice-allow_once").await;
    page.shows("All done.").await;
    page.gone("ask-card").await;
    assert_eq!(site.home.read("made.txt"), "made\n");
    let (cards, address) = (page.texts("tool-card").await, page.address().await);
    assert!(address.contains("/agent/agent-"), "{address}");

    page.reload().await;
    page.connected().await;
    page.shows("All done.").await;
    page.reads("tool-card", &cards).await;
    page.reads("message-user", &["look around"]).await;
    page.close().await;
}

#[tokio::test]
async fn a_page_that_is_reloaded_in_mid_stream_misses_and_doubles_nothing() {
    let gate = Gate::new();
    let site = Site::start(ScriptedModel::start([halves(&gate)])).await;
    let page = site.page_at(&site.agent("streamer").await).await;
    page.say("go").await;
    page.shows("The first half,").await;
    page.reload().await;
    page.connected().await;
    page.reads("message-assistant", &["The first half,"]).await;
    gate.open();
    page.reads("message-assistant", &["The first half, and the second."])
        .await;
    page.reads("message-user", &["go"]).await;
    page.close().await;
}

#[tokio::test]
async fn a_turn_is_stopped_and_what_waited_comes_back() {
    let gate = Gate::new();
    let site = Site::start(ScriptedModel::start([halves(&gate), reply!["fine"]])).await;
    let agent = site.agent("slow").await;
    let page = site.page_at(&agent).await;
    page.say("go").await;
    page.shows("The first half,").await;
    page.say("and then this").await;
    page.reads("queue", &["and then this"]).await;
    page.click("stop").await;
    page.gone("stop").await;
    // Words of a person are not lost: they are in the box again.
    page.until("the prompt that waited is back", async || {
        page.value("composer").await.contains("and then this")
    })
    .await;
    page.find("broken-off").await;
    page.click("send").await;
    page.shows("fine").await;
    page.close().await;
}

#[tokio::test]
async fn a_draft_survives_a_reload_and_belongs_to_its_agent() {
    let site = Site::start(ScriptedModel::silent()).await;
    let (one, two) = (site.agent("one").await, site.agent("two").await);
    let page = site.page_at(&one).await;
    page.fill("composer", "half a thought").await;
    page.click(&format!("agent-row-{two}")).await;
    page.reads("agent-name", &["two"]).await;
    assert_eq!(page.value("composer").await, "");
    page.click(&format!("agent-row-{one}")).await;
    page.reads("agent-name", &["one"]).await;
    page.reload().await;
    page.connected().await;
    page.until("the draft is back", async || {
        page.value("composer").await == "half a thought"
    })
    .await;
    page.close().await;
}
