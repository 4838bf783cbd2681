//! Three hundred turns in a small window, and what is still known of the third of them.

use serde_json::{Value, json};
use shard_testkit::{
    AgentProcess, Home, Mark, Reply, Request, ScriptedModel, reply, text, tool, usage,
};

use crate::{size, word};

const TURNS: usize = 300;
/// Tokens that fit into a request: instructions and tools take some 4000 of them.
const WINDOW: u64 = 12_000;
/// The turn that is forked.
const FORKED: usize = 50;

/// A word that stands in one turn only.
fn secret(turn: usize) -> String {
    let mixed = (turn as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    format!("w{mixed:016x}")
}

fn task(turn: usize) -> String {
    format!(
        "Task {turn}: the word of the day is {}. Note it down.",
        secret(turn)
    )
}

/// Answers at length; looks into a file in every seventh turn, and searches when asked about the
/// past.
fn answer(request: &Request) -> Reply {
    let context = size(request);
    let said = request.user_texts().pop().unwrap_or_default();
    let answered = request
        .messages()
        .last()
        .is_some_and(|last| last["role"] == "tool");
    let reply = match answered {
        true if said.starts_with("What") => {
            let (_, found) = request.tool_results().pop().unwrap();
            reply![text(found)]
        }
        false if said.starts_with("What") => {
            let query = said.trim_start_matches("What about ").trim_end_matches('?');
            reply![tool("recall", json!({ "query": query }))]
        }
        false if number(&said).is_some_and(|turn| turn % 7 == 0) => {
            reply![tool("read", json!({ "path": "long.txt" }))]
        }
        _ => reply![text(format!(
            "Noted. {}",
            "It will be remembered for later. ".repeat(20)
        ))],
    };
    reply.then(usage(context, 100, 0))
}

fn number(said: &str) -> Option<usize> {
    said.strip_prefix("Task ")?.split(':').next()?.parse().ok()
}

fn home(model: &ScriptedModel) -> Home {
    let home = Home::builder()
        .model(model)
        .window(WINDOW)
        .config(json!({ "compaction": { "keep_recent_tokens": 2000 } }))
        .build();
    home.write("long.txt", "a line of a long file\n".repeat(150));
    home
}

/// A turn is over, and so is a compaction after it.
async fn idle(agent: &AgentProcess, mark: Mark) {
    agent
        .wait_for(mark, "the end of the turn", |message| {
            message["type"] == "status" && message["status"] == "idle"
        })
        .await;
}

fn texts(sync: &Value) -> Vec<String> {
    let messages = sync["live_window"]["messages"].as_array().unwrap().iter();
    messages
        .filter_map(|message| message["content"][0]["text"].as_str())
        .map(str::to_owned)
        .collect()
}

#[tokio::test]
async fn what_was_said_three_hundred_turns_ago_is_found_and_a_fork_goes_its_own_way() {
    let model = ScriptedModel::answering(answer);
    let home = home(&model);
    let agent = AgentProcess::start(&home, &[]);
    let (mut compactions, mut fork_at) = (0, String::new());
    for number in 0..TURNS {
        let mark = agent.mark();
        let turn = agent.turn(&task(number)).await;
        assert_eq!(turn.reason(), "done", "turn {number}");
        idle(&agent, mark).await;
        let since = agent.messages_since(mark);
        compactions += since.iter().filter(|m| m["type"] == "compaction").count();
        if number == FORKED {
            let last = turn.of("message_complete").pop().unwrap();
            fork_at = word(&last["message_id"]).to_owned();
        }
    }
    assert!(compactions >= 10, "{compactions}");
    let requests = model.requests();
    let largest = requests.iter().map(size).max().unwrap();
    assert!(largest <= WINDOW, "{largest}");
    let last = requests.last().unwrap().system();
    assert!(
        last.contains(&task(0)),
        "the goal of the first turn is still told: {last}"
    );
    assert!(!last.contains(&secret(3)), "the third turn is not: {last}");
    assert!(agent.quit().await.success());
    let source = home.session_file();
    let bytes = std::fs::read(&source).unwrap();

    let again = AgentProcess::start(&home, &["--continue"]);
    let mark = again.mark();
    let told = again.turn("What about Task 3?").await.text();
    idle(&again, mark).await;
    assert!(told.contains(&secret(3)), "{told}");
    let first = told.lines().next().unwrap();
    assert!(
        first.starts_with('['),
        "a hit begins with its index: {told}"
    );

    let forked =
        json!({ "op": "fork", "args": { "from_entry_id": fork_at }, "request_key": "key-1" });
    let before = std::fs::read(&source).unwrap();
    assert!(before.starts_with(&bytes));
    let made = again.ok("session_op", forked.clone()).await;
    let mut again_made = again.ok("session_op", forked).await;
    assert_eq!(again_made["duplicate"], true, "nothing is done twice");
    again_made.as_object_mut().unwrap().remove("duplicate");
    assert_eq!(again_made, made);
    let other = json!({ "message": "hello", "request_key": "key-1" });
    assert_eq!(again.err("prompt", other).await["code"], "CONFLICT");
    let forked = made;
    assert_eq!(
        std::fs::read(&source).unwrap(),
        before,
        "the source is as it was"
    );
    let listed = again.ok("session_op", json!({ "op": "list" })).await;
    let sessions = listed["sessions"].as_array().unwrap();
    assert_eq!(sessions.len(), 2, "{listed}");
    let fork = sessions
        .iter()
        .find(|s| s["session_id"] == forked["session_id"])
        .unwrap();
    assert_eq!(fork["forked_from"]["entry_id"], json!(fork_at), "{listed}");
    assert!(again.quit().await.success());

    goes_its_own_way(&home, &model, word(&forked["session_id"])).await;
    assert_eq!(
        std::fs::read(&source).unwrap(),
        before,
        "the fork writes to its own file"
    );
}

/// The fork knows what was said up to its entry, and nothing that came after.
async fn goes_its_own_way(home: &Home, model: &ScriptedModel, session: &str) {
    let fork = AgentProcess::start(home, &["--session", session]);
    let window = texts(&fork.sync().await);
    assert!(
        window.iter().any(|text| *text == task(FORKED)),
        "{window:?}"
    );
    assert!(
        !window.iter().any(|text| *text == task(FORKED + 1)),
        "{window:?}"
    );
    assert_eq!(fork.turn(&task(1000)).await.reason(), "done");
    let request = model.requests().pop().unwrap();
    let said = request.user_texts().concat() + &request.system();
    assert!(
        said.contains(&task(1000)) && said.contains(&task(FORKED)),
        "{said}"
    );
    assert!(!said.contains(&secret(FORKED + 1)), "{said}");
}
