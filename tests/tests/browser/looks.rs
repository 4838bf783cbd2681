//! The main views, for people to look at, and that they can be used on a phone.

use serde_json::json;
use shard_testkit::{Gate, ScriptedModel, reply, text, tool};

use crate::{NARROW, Site, halves};

#[tokio::test]
async fn the_main_views_are_drawn_wide_and_narrow_in_light_and_dark() {
    let edit = tool(
        "edit",
        json!({ "path": "README.md", "old_text": "# ", "new_text": "# The " }),
    );
    let gate = Gate::new();
    let model = ScriptedModel::start([
        reply![
            text(
                "I look at what is there:\n\n1. the *readme*\n2. its title\n\n```sh\ncat README.md\n```\n"
            ),
            tool("read", json!({ "path": "README.md" }))
        ],
        reply![text("The title lacks an article."), edit],
        reply![tool(
            "bash",
            json!({ "command": "git diff --stat && cargo test" })
        )],
        halves(&gate),
    ]);
    let site = Site::start(model).await;
    let agent = site.agent("docs").await;
    site.agent("api-tests").await;
    let page = site.page_at(&agent).await;
    page.say("Mend the title of the readme").await;
    page.click("ask-choice-allow_once").await;
    page.shows("lacks an article").await;
    page.find("ask-card").await;
    page.picture("question").await;
    page.click("ask-choice-allow_once").await;
    page.shows("cargo test").await;
    page.find("ask-card").await;
    page.click("theme-toggle").await;
    page.picture("question-dark").await;
    page.click("theme-toggle").await;
    let phone = site.page_of(NARROW).await;
    phone.find(&format!("agent-row-{agent}")).await;
    phone.picture("fleet-narrow").await;
    phone.click(&format!("agent-row-{agent}")).await;
    phone.find("ask-card").await;
    phone.picture("question-narrow").await;
    // Nothing sticks out to the side.
    let wider = "return document.documentElement.scrollWidth > window.innerWidth";
    assert_eq!(phone.script(wider).await, "false");
    phone.click("ask-choice-deny").await;
    page.shows("The first half,").await;
    page.picture("streaming").await;
    gate.open();
    page.shows("and the second.").await;
    page.picture("done").await;
    page.close().await;
    phone.close().await;
}
