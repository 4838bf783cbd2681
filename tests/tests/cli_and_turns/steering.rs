//! Words that come while a turn runs, and words that come twice.

use serde_json::{Value, json};
use shard_testkit::{
    AgentProcess, Answer, Gate, Home, Mark, Provider, ScriptedModel, hold, reply, text, tool,
};

use crate::{said, word};

/// A turn that stands in the middle of the first answer.
async fn streaming(agent: &AgentProcess, gate: &Gate) -> Mark {
    agent.sync().await;
    let mark = agent.mark();
    agent.ok("prompt", json!({"message": "begin"})).await;
    gate.reached().await;
    mark
}

/// The kinds and texts of the last `queue_changed`.
fn waiting(message: &Value) -> Vec<(&str, &str)> {
    let queue = message["queue"].as_array().unwrap().iter();
    queue
        .map(|q| (word(&q["kind"]), word(&q["message"])))
        .collect()
}

/// What the user said in a turn, in order.
fn user_messages(turn: &shard_testkit::Turn) -> Vec<String> {
    let complete = turn
        .of("message_complete")
        .into_iter()
        .map(|m| &m["message"]);
    complete.filter(|m| m["role"] == "user").map(said).collect()
}

#[tokio::test]
async fn a_prompt_in_the_middle_of_a_turn_must_say_when_it_is_meant() {
    let gate = Gate::new();
    let model = ScriptedModel::start([reply![text("one"), hold(&gate)], reply![text("two")]]);
    let home = Home::new(&model);
    let agent = AgentProcess::start(&home, &[]);
    let mark = streaming(&agent, &gate).await;
    let refused = agent.err("prompt", json!({"message": "and now?"})).await;
    assert_eq!(refused["code"], "CONFLICT");
    assert!(
        word(&refused["message"]).contains("streaming_behavior"),
        "{refused}"
    );
    gate.open();
    let turn = agent.follow(mark, |_| Answer::Leave).await;
    assert_eq!(
        (turn.text().as_str(), user_messages(&turn)),
        ("one", vec!["begin".to_owned()])
    );
    assert!(
        turn.of("queue_changed")
            .iter()
            .all(|q| waiting(q) != [("prompt", "and now?")])
    );
    assert_eq!(agent.turn("now").await.text(), "two");
    assert!(
        !model
            .request(1)
            .await
            .user_texts()
            .join(" ")
            .contains("and now?")
    );
}

#[tokio::test]
async fn several_steers_reach_the_next_call_in_order_and_once() {
    for provider in Provider::ALL {
        let gate = Gate::new();
        let model = ScriptedModel::start([
            reply![tool("read", json!({"path": "README.md"})), hold(&gate)],
            reply![text("as you wish")],
            reply![text("later")],
        ]);
        let home = Home::builder().model(&model).provider(provider).build();
        let agent = AgentProcess::start(&home, &[]);
        let mark = streaming(&agent, &gate).await;
        agent.ok("steer", json!({"message": "steer-1"})).await;
        let second = json!({"message": "steer-2", "streaming_behavior": "steer"});
        agent.ok("prompt", second).await;
        agent.ok("steer", json!({"message": "steer-3"})).await;
        gate.open();
        let turn = agent.follow(mark, |_| Answer::Leave).await;
        assert_eq!(
            (turn.text().as_str(), turn.reason()),
            ("as you wish", "done")
        );
        assert_eq!(
            user_messages(&turn),
            ["begin", "steer-1", "steer-2", "steer-3"]
        );
        let at = |kind: &str, words: &str| {
            let found = turn.messages().iter().position(|m| {
                m["type"] == kind && (words.is_empty() || m.to_string().contains(words))
            });
            found.unwrap()
        };
        assert!(at("tool_result", "") < at("message_complete", "steer-1"));
        assert_eq!(model.requests().len(), 2);
        let sent = model.request(1).await;
        let texts = sent.user_texts().join("\n");
        let places: Vec<_> = ["begin", "steer-1", "steer-2", "steer-3"]
            .map(|words| texts.find(words).unwrap())
            .to_vec();
        assert!(places.is_sorted(), "{texts}");
        assert_eq!(texts.matches("steer-2").count(), 1);
        assert_eq!(agent.turn("next").await.text(), "later");
        let texts = model.request(2).await.user_texts().join("\n");
        assert_eq!(texts.matches("steer-2").count(), 1, "still once");
    }
}

#[tokio::test]
async fn a_steer_that_comes_in_the_last_answer_gets_a_call_of_its_own() {
    let gate = Gate::new();
    let model = ScriptedModel::start([
        reply![text("that was "), hold(&gate), text("all")],
        reply![text("one more thing")],
    ]);
    let home = Home::new(&model);
    let agent = AgentProcess::start(&home, &[]);
    let mark = streaming(&agent, &gate).await;
    agent.ok("steer", json!({"message": "wait!"})).await;
    gate.open();
    let turn = agent.follow(mark, |_| Answer::Leave).await;
    assert_eq!(
        (turn.text().as_str(), turn.reason()),
        ("one more thing", "done")
    );
    assert_eq!(turn.of("turn_start").len(), 1, "it is the same turn");
    assert_eq!(user_messages(&turn), ["begin", "wait!"]);
    assert_eq!(model.request(1).await.assistant_texts(), ["that was all"]);
}

#[tokio::test]
async fn a_follow_up_waits_for_the_end_and_starts_a_turn_of_its_own() {
    let gate = Gate::new();
    let model = ScriptedModel::start([
        reply![tool("ls", json!({})), hold(&gate)],
        reply![text("first")],
        reply![text("second")],
        reply![text("third")],
    ]);
    let home = Home::new(&model);
    let agent = AgentProcess::start(&home, &[]);
    let mark = streaming(&agent, &gate).await;
    for words in ["follow-1", "follow-2"] {
        let fields = json!({"message": words, "streaming_behavior": "follow_up"});
        agent.ok("prompt", fields).await;
    }
    gate.open();
    let first = agent.follow(mark, |_| Answer::Leave).await;
    assert_eq!(
        (first.text().as_str(), user_messages(&first)),
        ("first", vec!["begin".to_owned()])
    );
    let ends = |count: usize| {
        let mut seen = 0;
        move |m: &Value| {
            seen += usize::from(m["type"] == "turn_end");
            seen == count
        }
    };
    agent.wait_for(mark, "the third end", ends(3)).await;
    let all = agent.messages_since(mark);
    let order: Vec<String> = all
        .iter()
        .filter_map(|m| match word(&m["type"]) {
            kind @ ("turn_start" | "turn_end") => Some(kind.to_owned()),
            "message_complete" if m["message"]["role"] == "user" => Some(said(&m["message"])),
            _ => None,
        })
        .collect();
    let turn = |words: &str| {
        [
            "turn_start".to_owned(),
            words.to_owned(),
            "turn_end".to_owned(),
        ]
    };
    let mut order = order;
    // The words may come right before or right after the start of their turn.
    order.retain(|what| what != "turn_start");
    let want: Vec<String> = ["begin", "follow-1", "follow-2"]
        .iter()
        .flat_map(|words| turn(words).into_iter().skip(1))
        .collect();
    assert_eq!(order, want);
    let told = model.request(1).await.user_texts().join(" ");
    assert!(!told.contains("follow-1"), "not before the end: {told}");
    assert!(
        !model
            .request(2)
            .await
            .user_texts()
            .join(" ")
            .contains("follow-2")
    );
}

#[tokio::test]
async fn the_queue_is_shown_as_it_grows_and_empties_and_a_sync_holds_it() {
    let gate = Gate::new();
    let model = ScriptedModel::start([
        reply![text("one"), hold(&gate)],
        reply![text("two")],
        reply![text("three")],
    ]);
    let home = Home::new(&model);
    let agent = AgentProcess::start(&home, &[]);
    streaming(&agent, &gate).await;
    let mark = agent.mark();
    let later =
        json!({"message": "later", "streaming_behavior": "follow_up", "request_key": "k-later"});
    agent.ok("prompt", later).await;
    agent.ok("steer", json!({"message": "now"})).await;
    let both = [("follow_up", "later"), ("steer", "now")];
    agent
        .wait_for(mark, "both in the queue", |m| {
            m["type"] == "queue_changed" && waiting(m) == both
        })
        .await;
    agent.send(json!({"type": "sync"})).await;
    let sync = agent.wait_for_type(mark, "sync").await;
    assert_eq!(waiting(&sync), both);
    assert_eq!(sync["queue"][0]["request_key"], "k-later");
    gate.open();
    let mut seen = Vec::new();
    agent
        .wait_for(mark, "an empty queue", |m| {
            if m["type"] == "queue_changed" {
                seen.push(waiting(m).len());
            }
            m["type"] == "queue_changed" && waiting(m).is_empty()
        })
        .await;
    assert_eq!(seen, [1, 2, 1, 0], "each change once");
}

#[tokio::test]
async fn an_abort_gives_back_what_waited_and_is_answered_after_the_end() {
    let gate = Gate::new();
    let model = ScriptedModel::start([reply![text("half"), hold(&gate)], reply![text("fresh")]]);
    let home = Home::new(&model);
    let agent = AgentProcess::start(&home, &[]);
    let mark = streaming(&agent, &gate).await;
    agent
        .ok("steer", json!({"message": "s", "request_key": "k-s"}))
        .await;
    let follow = json!({"message": "f", "streaming_behavior": "follow_up"});
    agent.ok("prompt", follow).await;
    let data = agent.ok("abort", json!({})).await;
    let cleared = data["cleared"].as_array().unwrap();
    let texts: Vec<_> = cleared
        .iter()
        .map(|c| (word(&c["kind"]), word(&c["message"])))
        .collect();
    assert_eq!(texts, [("steer", "s"), ("follow_up", "f")]);
    assert_eq!(cleared[0]["request_key"], "k-s");
    let messages = agent.messages_since(mark);
    let end = messages
        .iter()
        .position(|m| m["type"] == "turn_end")
        .unwrap();
    let answer = messages
        .iter()
        .position(|m| m["command"] == "abort")
        .unwrap();
    assert_eq!(messages[end]["reason"], "aborted");
    assert!(end < answer, "the answer comes after the end");
    let last = messages
        .iter()
        .rfind(|m| m["type"] == "queue_changed")
        .unwrap();
    assert_eq!(waiting(last), []);
    model.client_gone(0).await;
    let next = agent.turn("next").await;
    assert_eq!(
        (next.text().as_str(), user_messages(&next)),
        ("fresh", vec!["next".to_owned()])
    );
    assert_eq!(model.requests().len(), 2, "nothing that waited was started");
    let texts = model.request(1).await.user_texts().join("|");
    assert!(!texts.split('|').any(|t| t == "s" || t == "f"), "{texts}");
    // With nothing to end it is answered all the same.
    assert_eq!(agent.ok("abort", json!({})).await["cleared"], json!([]));
    agent.quit().await;
    let again = AgentProcess::start(&home, &["--continue"]);
    assert!(
        again.sync().await["queue"]
            .as_array()
            .is_none_or(Vec::is_empty)
    );
}

#[tokio::test]
async fn the_same_key_is_the_same_prompt_also_after_a_restart() {
    let model = ScriptedModel::start([
        reply![text("done once")],
        reply![text("another key")],
        reply![text("after all")],
    ]);
    let home = Home::new(&model);
    let agent = AgentProcess::start(&home, &[]);
    let keyed = json!({"message": "do it", "request_key": "key-1"});
    let mark = agent.mark();
    let first = agent.ok("prompt", keyed.clone()).await;
    assert!(first["duplicate"] != json!(true), "{first}");
    agent.follow(mark, |_| Answer::Leave).await;

    async fn repeated(agent: &AgentProcess, keyed: &Value, first: &Value) {
        let mark = agent.mark();
        let again = agent.ok("prompt", keyed.clone()).await;
        assert_eq!(again["duplicate"], true);
        assert_eq!(again["message_id"], first["message_id"]);
        let other = json!({"message": "do it differently", "request_key": "key-1"});
        assert_eq!(agent.err("prompt", other).await["code"], "CONFLICT");
        let steer = json!({"message": "do it", "request_key": "key-1"});
        agent.request("steer", steer).await;
        agent.send(json!({"type": "sync"})).await;
        agent.wait_for_type(mark, "sync").await;
        let since = agent.messages_since(mark);
        assert!(since.iter().all(|m| m["type"] != "turn_start"), "{since:?}");
    }
    repeated(&agent, &keyed, &first).await;
    let mark = agent.mark();
    agent
        .ok(
            "prompt",
            json!({"message": "do it", "request_key": "key-2"}),
        )
        .await;
    assert_eq!(
        agent.follow(mark, |_| Answer::Leave).await.text(),
        "another key"
    );
    agent.kill9().await;
    drop(agent);

    let agent = AgentProcess::start(&home, &["--continue"]);
    agent.sync().await;
    repeated(&agent, &keyed, &first).await;
    assert_eq!(agent.turn("and now").await.text(), "after all");
    let texts = model.request(2).await.user_texts();
    assert_eq!(
        texts.iter().filter(|t| *t == "do it").count(),
        2,
        "{texts:?}"
    );
}

#[tokio::test]
async fn a_key_that_is_no_key_is_refused() {
    let model = ScriptedModel::silent();
    let home = Home::new(&model);
    let agent = AgentProcess::start(&home, &[]);
    for key in ["", "with space", &"x".repeat(65)] {
        let error = agent
            .err("prompt", json!({"message": "x", "request_key": key}))
            .await;
        assert_eq!(error["code"], "INVALID_REQUEST", "{key:?}");
    }
}

#[tokio::test]
async fn a_sync_in_the_middle_of_an_answer_and_the_deltas_after_it_make_the_answer() {
    let whole = "Zwölf Boxkämpfer jagen Viktor quer über den großen Sylter Deich.";
    let (before, after) = whole.split_at(whole.find("quer").unwrap());
    for provider in Provider::ALL {
        let gate = Gate::new();
        let model = ScriptedModel::start([reply![
            text(before).chunks(4),
            hold(&gate),
            text(after).chunks(4)
        ]]);
        let home = Home::builder().model(&model).provider(provider).build();
        let agent = AgentProcess::start(&home, &[]);
        let mark = streaming(&agent, &gate).await;
        // Once in the middle of the pieces before the gate, once after the last of them.
        agent.send(json!({"type": "sync"})).await;
        agent.wait_for_type(mark, "sync").await;
        let mut shown = String::new();
        agent
            .wait_for(mark, "all words before the gate", |m| {
                shown.push_str(word(&m["text_delta"]));
                shown == before
            })
            .await;
        let second = agent.mark();
        agent.send(json!({"type": "sync"})).await;
        agent.wait_for_type(second, "sync").await;
        gate.open();
        agent.wait_for_type(mark, "turn_end").await;
        let all = agent.messages_since(mark);
        let whole_message = all
            .iter()
            .rfind(|m| m["type"] == "message_complete")
            .unwrap();
        let syncs: Vec<_> = (0..all.len())
            .filter(|at| all[*at]["type"] == "sync")
            .collect();
        assert_eq!(syncs.len(), 2);
        for at in syncs {
            let window = all[at]["live_window"]["messages"].as_array().unwrap();
            let partial: Vec<_> = window.iter().filter(|m| m["partial"] == true).collect();
            let mut text = partial.first().map(|m| said(m)).unwrap_or_default();
            if let Some(partial) = partial.first() {
                assert_eq!(partial["id"], whole_message["message_id"]);
            }
            for delta in all[at..].iter().filter(|m| m["type"] == "message_delta") {
                assert_eq!(delta["message_id"], whole_message["message_id"]);
                text.push_str(word(&delta["text_delta"]));
            }
            assert_eq!(text, whole);
        }
        let last = all.iter().rfind(|m| m["type"] == "sync").unwrap();
        assert_eq!(last["status"], "streaming");
        assert_eq!(
            said(
                last["live_window"]["messages"]
                    .as_array()
                    .unwrap()
                    .last()
                    .unwrap()
            ),
            before
        );
        assert_eq!(said(&whole_message["message"]), whole);
    }
}
