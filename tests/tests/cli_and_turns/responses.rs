//! Whole turns over the Responses API: what a model thought goes with the conversation.

use serde_json::{Value, json};
use shard_testkit::{
    AgentProcess, Home, Provider, Request, ScriptedModel, error_event, reply, text, thinking, tool,
    usage,
};

use crate::{errors, streamed, word};

/// What each item of a request is, in order: its type, of messages the role.
fn items(request: &Request) -> Vec<String> {
    let kind = |item: &Value| match word(&item["type"]) {
        "message" => word(&item["role"]).to_owned(),
        kind => kind.to_owned(),
    };
    request.messages().iter().map(kind).collect()
}

fn reasoning(request: &Request) -> Vec<Value> {
    let items = request.messages().iter();
    let thoughts = items.filter(|item| item["type"] == "reasoning");
    thoughts.cloned().collect()
}

#[tokio::test]
async fn what_the_model_thought_is_there_again_in_every_call_of_that_model() {
    let model = ScriptedModel::start([
        reply![
            thinking("the file first").chunks(3).signature("sealed-1"),
            text("Let me look."),
            tool("read", json!({"path": "README.md"})).pieces(4),
            tool("ls", json!({})),
            usage(100, 20, 30),
        ],
        reply![
            thinking("that is all").signature("sealed-2"),
            text("It is a readme."),
            usage(50, 10, 120),
        ],
        reply![text("after a restart")],
        reply![text("by another")],
        reply![text("by the first again")],
    ]);
    let home = Home::builder()
        .model(&model)
        .provider(Provider::Responses)
        .build();
    let agent = AgentProcess::start(&home, &[]);
    let turn = agent.turn("what is it?").await;
    assert_eq!(
        (turn.text().as_str(), turn.reason()),
        ("It is a readme.", "done")
    );
    assert_eq!(streamed(&turn), "Let me look.It is a readme.");
    let thoughts = turn.of("message_delta").into_iter();
    let thoughts: String = thoughts
        .filter(|delta| delta["kind"] == "thinking")
        .map(|delta| word(&delta["text_delta"]))
        .collect();
    assert_eq!(thoughts, "the file firstthat is all");
    assert_eq!(turn.results().len(), 2);
    let counted = &turn.of("turn_end")[0]["usage"];
    let counted = ["input", "output", "cache_read"].map(|key| counted[key].as_u64());
    assert_eq!(counted, [Some(150), Some(30), Some(150)]);

    let second = model.request(1).await;
    let answer = ["reasoning", "assistant", "function_call", "function_call"];
    let results = ["function_call_output", "function_call_output"];
    let so_far = [&["user"][..], &answer, &results].concat();
    assert_eq!(items(&second), so_far);
    let kept = reasoning(&second);
    assert_eq!(kept[0]["encrypted_content"], "sealed-1");
    let summary = json!([{"type": "summary_text", "text": "the file first"}]);
    assert_eq!(kept[0]["summary"], summary);
    assert!(!word(&kept[0]["id"]).is_empty());

    agent.quit().await;
    let agent = AgentProcess::start(&home, &["--continue"]);
    agent.turn("and now?").await;
    let third = model.request(2).await;
    assert_eq!(
        items(&third),
        [&so_far[..], &["reasoning", "assistant", "user"]].concat()
    );
    assert_eq!(reasoning(&third)[0], kept[0], "the same item as before");

    agent.ok("set_model", json!({"model": "mock/m2"})).await;
    agent.turn("and you?").await;
    assert!(reasoning(&model.request(3).await).is_empty(), "not its own");
    agent.ok("set_model", json!({"model": "mock/m1"})).await;
    agent.turn("and you again?").await;
    assert_eq!(reasoning(&model.request(4).await), reasoning(&third));
}

#[tokio::test]
async fn an_error_in_the_stream_is_told_and_its_thoughts_are_not_sent_on() {
    let model = ScriptedModel::start([
        reply![
            thinking("half a thought").signature("sealed-1"),
            text("some words"),
            error_event("server_error", "the machine broke"),
        ],
        reply![text("fine now")],
    ]);
    let home = Home::builder()
        .model(&model)
        .provider(Provider::Responses)
        .build();
    let agent = AgentProcess::start(&home, &[]);
    let turn = agent.turn("go").await;
    let told = errors(&turn);
    assert_eq!((told.len(), turn.reason()), (1, "error"), "{told:?}");
    assert_eq!(told[0].0, "PROVIDER_ERROR");
    for words in ["mock/m1", "the machine broke", "/v1/responses"] {
        assert!(told[0].1.contains(words), "{words:?} in {:?}", told[0].1);
    }
    assert_eq!(agent.turn("again").await.text(), "fine now");
    let second = model.request(1).await;
    assert_eq!(items(&second), ["user", "assistant", "user"]);
    assert_eq!(second.assistant_texts(), ["some words"]);
}
