//! A kill at every step of a turn: what a client was told is kept, nothing runs twice, and the
//! session goes on.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};
use shard_testkit::{
    AgentProcess, Home, Mark, Provider, Reply, Request, ScriptedModel, processes_under, reply,
    text, tool, until,
};

use crate::{ENDS_WITHIN, word};

/// How often the agent is killed before it can have said anything.
const AT_ONCE: usize = 6;

const APPEND: &str = "echo ran >> ran.txt; echo output";

/// Answers by what the request holds, so that a turn can be taken up at any place.
fn answer(request: &Request) -> Reply {
    let said = request.user_texts().concat();
    if said.contains("go on") {
        return reply![text("after")];
    }
    match request.tool_results().len() {
        0 => reply![
            text("Let me look at it.").chunks(4),
            tool("bash", json!({ "command": APPEND })).pieces(3),
            tool("write", json!({ "path": "new.txt", "content": "whole" })),
        ],
        2 => reply![tool("read", json!({ "path": "README.md" }))],
        _ => reply![text("All of it is done.").chunks(4)],
    }
}

/// Starts the turn and kills the agent once that many messages came after the prompt was sent, with
/// none in the same moment. Gives what was shown, or nothing when the turn was over before.
async fn killed_after(home: &Home, count: usize) -> Option<Vec<Value>> {
    let agent = AgentProcess::start(home, &[]);
    agent.sync().await;
    let mark = agent.mark();
    agent
        .send(json!({ "type": "prompt", "id": "p", "message": "do it", "request_key": "key-1" }))
        .await;
    let (mut seen, mut over) = (0, false);
    if count > 0 {
        agent
            .wait_for(mark, "the place of the kill", |message| {
                seen += 1;
                over |= message["type"] == "turn_end";
                over || seen >= count
            })
            .await;
    }
    agent.kill9().await;
    (!over).then(|| agent.messages_since(Mark::START))
}

fn blocks(messages: &Value) -> Vec<&Value> {
    let messages = messages.as_array().unwrap().iter();
    messages
        .flat_map(|m| m["content"].as_array().unwrap())
        .collect()
}

fn assert_kept(shown: &[Value], sync: &Value) {
    let kept = &sync["live_window"]["messages"];
    let blocks = blocks(kept);
    for message in shown {
        let there = match word(&message["type"]) {
            "message_complete" => kept.as_array().unwrap().contains(&message["message"]),
            "tool_result" => blocks.iter().any(|block| {
                block["type"] == "tool_result"
                    && block["tool_call_id"] == message["tool_call_id"]
                    && block["content"] == message["content"]
            }),
            _ => true,
        };
        assert!(there, "shown and not kept: {message}\n{sync}");
    }
}

/// What the result of a call says must be true of the file that the call makes.
fn assert_true(home: &Home, results: &[String]) {
    let effects = [("ran.txt", "ran\n"), ("new.txt", "whole")];
    for (result, (file, content)) in results.iter().zip(effects) {
        let there = home.has(file).then(|| home.read(file));
        if result.starts_with("not started: ") {
            assert_eq!(there, None, "{result}");
        } else if !result.starts_with("interrupted: ") {
            assert_eq!(there.as_deref(), Some(content), "{result}");
        }
    }
}

async fn survives_every_kill(provider: Provider) {
    let model = ScriptedModel::answering(answer);
    for step in 0.. {
        let count = usize::saturating_sub(step, AT_ONCE);
        let home = Home::builder().model(&model).provider(provider).build();
        let Some(shown) = killed_after(&home, count).await else {
            assert!(count > 15, "the turn has many places: {count}");
            return;
        };
        let before = model.requests().len();
        // The lock is free at once, whatever of the agent is still ending.
        let again = AgentProcess::start(&home, &["--continue"]);
        assert_kept(&shown, &again.sync().await);
        // Sent again with its key it is the same prompt: done anew only if it was never taken.
        let answered = shown
            .iter()
            .any(|m| m["type"] == "response" && m["success"] == true);
        let again_sent = json!({ "message": "do it", "request_key": "key-1" });
        let repeat = again.ok("prompt", again_sent).await;
        assert!(
            !answered || repeat["duplicate"] == true,
            "killed after {count}: {repeat}"
        );
        let mark = again.mark();
        let go_on = json!({ "message": "go on", "streaming_behavior": "follow_up" });
        again.ok("prompt", go_on).await;
        let is_after = |m: &Value| {
            m["type"] == "message_complete" && m["message"]["content"][0]["text"] == "after"
        };
        again.wait_for(mark, "the last answer", is_after).await;
        assert!(again.quit().await.success());

        let requests = model.requests();
        let last = requests.last().unwrap();
        assert!(requests.len() > before);
        let said = last.user_texts().concat();
        assert_eq!(
            said.matches("do it").count(),
            1,
            "killed after {count}: {said}"
        );
        let results: Vec<_> = last
            .tool_results()
            .into_iter()
            .map(|(_, text)| text)
            .collect();
        assert_true(&home, &results);
        if home.has("ran.txt") {
            // A kill between its opening and its writing leaves it empty; two runs leave two lines.
            let ran = home.read("ran.txt");
            assert!(
                ["", "ran\n"].contains(&&*ran),
                "killed after {count}: {ran:?}"
            );
        }
        until("nothing is left", ENDS_WITHIN, || {
            processes_under(home.root()).is_empty()
        })
        .await;
    }
}

#[tokio::test]
async fn at_every_step_of_a_turn_over_the_openai_format() {
    survives_every_kill(Provider::OpenAi).await;
}

#[tokio::test]
async fn at_every_step_of_a_turn_over_the_anthropic_format() {
    survives_every_kill(Provider::Anthropic).await;
}

#[tokio::test]
async fn a_session_that_is_killed_again_and_again_loses_nothing_that_was_answered() {
    let number = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&number);
    let model = ScriptedModel::answering(move |_| {
        let number = counter.fetch_add(1, Ordering::Relaxed);
        reply![text(format!("answer {number}")).chunks(3)]
    });
    let home = Home::new(&model);
    let mut shown = Vec::new();
    for round in 0..6 {
        let args: &[&str] = if round == 0 { &[] } else { &["--continue"] };
        let agent = AgentProcess::start(&home, args);
        assert_kept(&shown, &agent.sync().await);
        let turn = agent.turn(&format!("question {round}")).await;
        assert_eq!(turn.text(), format!("answer {round}"));
        shown.extend_from_slice(turn.messages());
        agent.kill9().await;
    }
    assert_eq!(home.session_files().len(), 1);
    let said = model.requests().pop().unwrap().user_texts();
    let questions: Vec<_> = (0..6).map(|round| format!("question {round}")).collect();
    assert_eq!(said, questions);
}
