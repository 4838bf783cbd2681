//! Questions: whoever answers first, wherever they are.

use serde_json::json;
use shard_testkit::{Answer, ScriptedModel, model::Tool, reply, tool};

use crate::Site;

fn write(path: &str) -> Tool {
    tool("write", json!({ "path": path, "content": "x" }))
}

#[tokio::test]
async fn one_question_is_answered_on_the_page_and_the_next_in_a_terminal() {
    let model = ScriptedModel::start([
        reply![write("a.txt")],
        reply![write("b.txt")],
        reply!["both"],
    ]);
    let site = Site::start(model).await;
    let agent = site.agent("writer").await;
    let page = site.page_at(&agent).await;
    let terminal = site.client.attach(&agent).await;
    let mark = terminal.mark();
    page.say("write both").await;
    let first = terminal.wait_for_type(mark, "permission_request").await;
    page.shows("a.txt").await;
    page.click("ask-choice-allow_once").await;
    let resolved = terminal.wait_for_type(mark, "permission_resolved").await;
    assert_eq!(
        (&resolved["request_id"], &resolved["source"]),
        (&first["request_id"], &json!("web"))
    );
    let second = terminal
        .wait_for(mark, "the second question", |message| {
            message["type"] == "permission_request" && message["request_id"] != first["request_id"]
        })
        .await;
    page.reads("ask-card", &["b.txt"]).await;
    terminal.answer(&second, &Answer::Allow).await;
    page.gone("ask-card").await;
    page.shows("allowed from terminal").await;
    page.shows("both").await;
    assert!(site.home.has("a.txt") && site.home.has("b.txt"));
    page.close().await;
}

#[tokio::test]
async fn a_question_outlives_a_reload_and_is_asked_once() {
    let model = ScriptedModel::start([reply![write("a.txt")], reply!["done"]]);
    let site = Site::start(model).await;
    let page = site.page_at(&site.agent("writer").await).await;
    page.say("write").await;
    page.find("ask-card").await;
    page.reload().await;
    page.connected().await;
    page.reads("ask-card", &["a.txt"]).await;
    // A key that was meant for the box is no answer.
    page.fill("composer", "a").await;
    page.reads("ask-card", &["a.txt"]).await;
    page.click("ask-choice-allow_once").await;
    page.shows("done").await;
    page.gone("ask-card").await;
    assert!(site.home.has("a.txt"));
    // What is typed right after an answer goes into the box.
    page.close().await;
}

#[tokio::test]
async fn two_browsers_see_the_same_and_either_may_answer() {
    let model = ScriptedModel::start([reply![write("a.txt")], reply!["thanks"]]);
    let site = Site::start(model).await;
    let agent = site.agent("shared").await;
    let (one, two) = (site.page_at(&agent).await, site.page_at(&agent).await);
    one.say("write").await;
    for page in [&one, &two] {
        page.reads("message-user", &["write"]).await;
        page.reads("ask-card", &["a.txt"]).await;
    }
    two.fill("ask-reason", "not today").await;
    two.click("ask-choice-deny").await;
    for page in [&one, &two] {
        page.gone("ask-card").await;
        page.shows("thanks").await;
    }
    assert!(!site.home.has("a.txt"));
    let request = site.model.requests().pop().unwrap();
    let read = request.body.to_string();
    assert!(
        read.contains("not today"),
        "the reason reaches the model: {read}"
    );
    one.close().await;
    two.close().await;
}

#[tokio::test]
async fn after_an_answer_what_is_typed_goes_into_the_box() {
    let model = ScriptedModel::start([reply![write("a.txt")], reply!["done"]]);
    let site = Site::start(model).await;
    let page = site.page_at(&site.agent("writer").await).await;
    page.say("write").await;
    page.click("ask-choice-allow_once").await;
    page.gone("ask-card").await;
    page.keys("next").await;
    assert_eq!(page.value("composer").await, "next");
    page.close().await;
}

#[tokio::test]
async fn a_dialog_is_answered_on_the_page() {
    let ask = tool(
        "ask_user",
        json!({ "question": "Which colour?", "options": ["red", "blue"] }),
    );
    let model = ScriptedModel::start([reply![ask], reply!["as you like"]]);
    let site = Site::start(model).await;
    let page = site.page_at(&site.agent("curious").await).await;
    page.say("ask me").await;
    page.reads("ui-card", &["Which colour?"]).await;
    page.click("ui-option-1").await;
    if page.count("ui-submit").await > 0 {
        page.click("ui-submit").await;
    }
    page.shows("as you like").await;
    page.gone("ui-card").await;
    let request = site.model.requests().pop().unwrap();
    assert!(
        request.body.to_string().contains("blue"),
        "{}",
        request.body
    );
    page.close().await;
}
