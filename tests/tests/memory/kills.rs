//! An agent that is killed at any moment of a session with many compactions.

use std::collections::HashSet;
use std::time::Duration;

use serde_json::{Value, json};
use shard_testkit::{
    AgentProcess, Dice, Home, Mark, Reply, Request, ScriptedModel, reply, text, tool, usage,
};
use shard_types::{Checkpoint, EntryBody};

use crate::{size, word};

const KILLS: usize = 200;
/// The latest moment of a kill after the prompt, in microseconds.
const LATEST: u64 = 120_000;

fn answer(request: &Request) -> Reply {
    let context = size(request);
    let answered = request
        .messages()
        .last()
        .is_some_and(|last| last["role"] == "tool");
    let reply = if answered {
        reply![text("That is done. ".repeat(40)).chunks(60)]
    } else {
        reply![
            text("Let me see."),
            tool("bash", json!({ "command": "seq 1 400" })),
            tool("read", json!({ "path": "README.md" })),
        ]
    };
    reply.then(usage(context, 50, 0))
}

/// What a client was shown or told to be safe: ids of messages, and of calls with results.
fn shown(messages: &[Value]) -> Vec<String> {
    let id = |message: &Value| match word(&message["type"]) {
        "message_complete" => Some(word(&message["message_id"]).to_owned()),
        "tool_result" => Some(word(&message["tool_call_id"]).to_owned()),
        "response" if message["command"] == "prompt" && message["success"] == true => {
            Some(word(&message["data"]["message_id"]).to_owned())
        }
        _ => None,
    };
    messages.iter().filter_map(id).collect()
}

/// The same of what is on the disk.
fn kept(home: &Home) -> HashSet<String> {
    let path = home.session_file();
    let mut kept = HashSet::new();
    for entry in home.session_entries(&path) {
        match &entry.body {
            EntryBody::ToolResult(result) => _ = kept.insert(result.tool_call_id.clone()),
            EntryBody::Checkpoint(Checkpoint::PromptAccepted { message_id, .. }) => {
                kept.insert(message_id.to_string());
            }
            _ => _ = kept.insert(entry.id.to_string()),
        }
    }
    kept
}

#[tokio::test]
async fn nothing_that_was_acknowledged_or_shown_is_lost_whenever_the_agent_is_killed() {
    let mut dice = Dice::from_env("SHARD_TEST_SEED");
    let model = ScriptedModel::answering(answer);
    let home = Home::builder()
        .model(&model)
        .window(9_000)
        .config(json!({ "compaction": { "keep_recent_tokens": 1500 } }))
        .build();
    let mut promised = Vec::new();
    for number in 0..KILLS {
        let args: &[&str] = if number == 0 { &[] } else { &["--continue"] };
        let agent = AgentProcess::start(&home, args);
        agent.sync().await;
        agent
            .send(
                json!({ "type": "prompt", "id": "p", "message": format!("Task {number}."),
                          "streaming_behavior": "follow_up" }),
            )
            .await;
        let moment = Duration::from_micros(dice.below(LATEST));
        tokio::time::sleep(moment).await;
        agent.kill9().await;
        promised.extend(shown(&agent.messages_since(Mark::START)));
    }
    let last = AgentProcess::start(&home, &["--continue"]);
    last.sync().await;
    assert_eq!(last.turn("And now?").await.reason(), "done");
    assert!(
        last.messages_since(Mark::START)
            .iter()
            .all(|m| m["type"] != "error")
    );
    assert!(last.quit().await.success());
    let kept = kept(&home);
    let lost: Vec<_> = promised.iter().filter(|id| !kept.contains(*id)).collect();
    assert_eq!(lost, [""; 0]);
    let rows = std::fs::read_to_string(home.session_file()).unwrap();
    let compactions = rows
        .lines()
        .filter(|row| row.contains(r#""type":"compaction""#))
        .count();
    // How many depends on how far a busy machine gets between two kills.
    assert!(compactions >= 1, "{compactions}");
}
