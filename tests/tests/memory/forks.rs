//! Forks of a session that was compacted: what their summary points at is found there too.

use serde_json::json;
use shard_testkit::{AgentProcess, Home, Mark, Request, ScriptedModel, reply, text, tool};

use crate::word;

const OUTPUT: &str = "the tide is at 17:40";

/// Answers a question by showing in full whatever the summary names.
fn look_back(request: &Request) -> shard_testkit::Reply {
    let said = request.user_texts().pop().unwrap_or_default();
    let answered = request
        .messages()
        .last()
        .is_some_and(|last| last["role"] == "tool");
    match (said.as_str(), answered) {
        ("Look back.", false) => {
            let numbers = named(&request.system());
            reply![
                tool("recall", json!({ "expand": numbers })),
                tool("recall", json!({ "scope": "compaction:0" })),
                tool("recall", json!({ "query": "tide" })),
            ]
        }
        ("When is the tide?", false) => reply![tool("read", json!({ "path": "tide.txt" }))],
        _ => reply![text("Done.")],
    }
}

/// The numbers of entries that a summary gives.
fn named(summary: &str) -> Vec<u64> {
    let lists = summary.split("recall: scope=compaction:0 index=[").skip(1);
    let lists = lists.filter_map(|rest| rest.split_once(']'));
    let numbers = lists.flat_map(|(list, _)| list.split(", "));
    let mut numbers: Vec<u64> = numbers.map(|number| number.parse().unwrap()).collect();
    numbers.sort_unstable();
    numbers.dedup();
    numbers
}

/// Splits the session of this agent at its last message, and ends it.
async fn split(agent: AgentProcess) -> String {
    let at = agent
        .messages_since(Mark::START)
        .into_iter()
        .rfind(|message| message["type"] == "message_complete")
        .unwrap();
    let args = json!({ "op": "fork", "args": { "from_entry_id": at["message_id"] } });
    let forked = agent.ok("session_op", args).await;
    assert!(agent.quit().await.success());
    word(&forked["session_id"]).to_owned()
}

/// What the model reads when it looks back.
async fn looked_back(agent: &AgentProcess, model: &ScriptedModel) -> [String; 3] {
    assert_eq!(agent.turn("Look back.").await.reason(), "done");
    let results = model.requests().pop().unwrap().tool_results();
    let texts: Vec<_> = results.into_iter().map(|(_, text)| text).collect();
    let last = texts[texts.len() - 3..].to_vec();
    last.try_into().unwrap()
}

#[tokio::test]
async fn whatever_the_summary_of_a_fork_names_is_found_there_under_its_number() {
    let model = ScriptedModel::answering(look_back);
    let home = Home::new(&model);
    home.write("tide.txt", OUTPUT);
    let agent = AgentProcess::start(&home, &[]);
    agent.turn("When is the tide?").await;
    agent.turn("Thank you.").await;
    agent.turn("Go on.").await;
    let compact = json!({ "op": "compact", "args": { "keep_recent_tokens": 1 } });
    let compacted = agent.ok("session_op", compact).await;
    assert_eq!(compacted["compacted"], true, "{compacted}");
    let want = looked_back(&agent, &model).await;
    let [expanded, listed, found] = &want;
    assert!(expanded.starts_with("[0] msg-"), "{expanded}");
    assert!(expanded.contains("\nWhen is the tide?\n"), "{expanded}");
    assert!(listed.starts_with("[0] msg-"), "{listed}");
    assert!(found.contains(OUTPUT), "{found}");
    let fork = split(agent).await;

    let agent = AgentProcess::start(&home, &["--session", &fork]);
    assert_eq!(looked_back(&agent, &model).await, want, "in a fork");
    let again = split(agent).await;
    let agent = AgentProcess::start(&home, &["--session", &again]);
    assert_eq!(looked_back(&agent, &model).await, want, "in a fork of it");
    assert!(agent.quit().await.success());
}
