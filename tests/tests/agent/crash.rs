//! What survives when the agent is killed, and what does not live on.

use std::time::Duration;

use serde_json::{Value, json};
use shard_testkit::{
    AgentProcess, Gate, Home, Mark, ScriptedModel, alive, ask_all, hold, processes_under, reply,
    text, tool, until,
};

const ENDS_WITHIN: Duration = Duration::from_secs(5);

async fn nothing_lives_on(home: &Home) {
    let root = home.root().to_owned();
    until("every process of the agent is gone", ENDS_WITHIN, || {
        processes_under(&root).is_empty()
    })
    .await;
}

/// A command that does not end, with a second process that left its session; each writes down
/// its process id.
const TWO_PROCESSES: &str =
    "setsid sh -c 'echo $$ > far; exec sleep 271' & echo $$ > near; exec sleep 271";

/// The processes of that command, once both are there.
async fn two_processes(home: &Home) -> [u32; 2] {
    let pid = |file: &str| {
        let text = std::fs::read_to_string(home.work().join(file)).unwrap_or_default();
        text.trim().parse::<u32>().ok()
    };
    let both = || Some([pid("near")?, pid("far")?]);
    until("the command runs", ENDS_WITHIN, || both().is_some()).await;
    let both = both().unwrap();
    assert!(both.iter().all(|pid| alive(*pid)), "{both:?}");
    both
}

/// Everything that the one process showed, the other has: messages with their blocks, and results.
fn assert_kept(shown: &[Value], sync: &Value) {
    let messages = sync["live_window"]["messages"].as_array().unwrap();
    for message in shown {
        match message["type"].as_str() {
            Some("message_complete") => assert!(
                messages.contains(&message["message"]),
                "shown and not kept: {message}"
            ),
            Some("tool_result") => {
                let blocks = messages
                    .iter()
                    .flat_map(|m| m["content"].as_array().unwrap());
                let kept = blocks.filter(|block| {
                    block["type"] == "tool_result"
                        && block["tool_call_id"] == message["tool_call_id"]
                });
                let kept: Vec<_> = kept.map(|block| &block["content"]).collect();
                assert_eq!(kept, [&message["content"]], "shown and not kept: {message}");
            }
            _ => {}
        }
    }
}

#[tokio::test]
async fn killed_while_a_tool_runs_the_session_says_what_happened() {
    let model = ScriptedModel::start([
        reply![
            tool("bash", json!({ "command": "echo shown-$((40+2))" })),
            tool("bash", json!({ "command": TWO_PROCESSES })),
            tool("write", json!({ "path": "never.txt", "content": "x" })),
        ],
        reply![text("going on")],
    ]);
    let home = Home::new(&model);
    let agent = AgentProcess::start(&home, &[]);
    agent
        .ok("prompt", json!({ "message": "remember this" }))
        .await;
    let processes = two_processes(&home).await;
    agent.kill9().await;
    nothing_lives_on(&home).await;
    assert!(!processes.iter().any(|pid| alive(*pid)), "{processes:?}");

    let again = AgentProcess::start(&home, &["--continue"]);
    assert_kept(&agent.messages_since(Mark::START), &again.sync().await);
    let turn = again.turn("go on").await;
    assert_eq!((turn.text().as_str(), turn.reason()), ("going on", "done"));
    let results = model.request(1).await.tool_results();
    let texts: Vec<_> = results.iter().map(|(_, text)| text.as_str()).collect();
    assert!(texts[0].starts_with("shown-42\n"), "{texts:?}");
    assert_eq!(
        texts[1..],
        [
            "interrupted: the agent ended while this call ran; it may have had part of its effect",
            "not started: the agent ended before this call ran"
        ]
    );
    assert!(!home.has("never.txt"));
}

#[tokio::test]
async fn killed_while_it_streams_nothing_shown_is_lost() {
    let gate = Gate::new();
    let model = ScriptedModel::start([
        reply![text("first answer")],
        reply![text("half").chunks(2), hold(&gate)],
        reply![text("second answer")],
    ]);
    let home = Home::new(&model);
    let agent = AgentProcess::start(&home, &[]);
    agent.turn("one").await;
    agent.ok("prompt", json!({ "message": "two" })).await;
    gate.reached().await;
    agent.kill9().await;
    nothing_lives_on(&home).await;

    let again = AgentProcess::start(&home, &["--continue"]);
    let sync = again.sync().await;
    assert_kept(&agent.messages_since(Mark::START), &sync);
    assert_eq!(
        (&sync["status"], &sync["queue"]),
        (&json!("idle"), &Value::Null)
    );
    assert_eq!(again.turn("three").await.text(), "second answer");
    assert_eq!(
        model.request(2).await.user_texts().concat(),
        "onetwo\n\nthree"
    );
}

#[tokio::test]
async fn a_prompt_that_waited_runs_once_after_the_restart() {
    let gate = Gate::new();
    let model = ScriptedModel::start([
        reply![text("working"), hold(&gate)],
        reply![text("did what waited")],
        reply![text("and nothing twice")],
    ]);
    let home = Home::new(&model);
    let agent = AgentProcess::start(&home, &[]);
    agent.ok("prompt", json!({ "message": "first" })).await;
    gate.reached().await;
    agent
        .ok(
            "prompt",
            json!({ "message": "later", "streaming_behavior": "follow_up" }),
        )
        .await;
    agent.kill9().await;

    let again = AgentProcess::start(&home, &["--continue"]);
    let end = again.wait_for_type(Mark::START, "turn_end").await;
    assert_eq!(end["reason"], "done");
    assert!(again.quit().await.success());
    let third = AgentProcess::start(&home, &["--continue"]);
    assert_eq!(third.turn("more").await.text(), "and nothing twice");
    assert_eq!(model.requests().len(), 3);
    assert_eq!(
        model
            .request(2)
            .await
            .user_texts()
            .iter()
            .filter(|t| t.contains("later"))
            .count(),
        1
    );
}

#[tokio::test]
async fn killed_with_a_question_open_the_call_did_not_run() {
    let model = ScriptedModel::start([
        reply![tool("write", json!({ "path": "x.txt", "content": "x" }))],
        reply![text("ok")],
    ]);
    let home = Home::builder().model(&model).rules(ask_all()).build();
    let agent = AgentProcess::start(&home, &[]);
    agent.ok("prompt", json!({ "message": "write" })).await;
    agent.wait_for_type(Mark::START, "permission_request").await;
    agent.kill9().await;

    let again = AgentProcess::start(&home, &["--continue"]);
    assert_eq!(again.sync().await["pending_requests"], json!([]));
    assert_eq!(again.turn("go on").await.reason(), "done");
    assert!(
        model.request(1).await.tool_results()[0]
            .1
            .starts_with("not started: ")
    );
    assert!(!home.has("x.txt"));
}

/// The model holds its first answer back; the prompts are sent meanwhile, each with its behavior.
async fn busy_with(home: &Home, gate: &Gate, prompts: &[(&str, &str)]) -> AgentProcess {
    let agent = AgentProcess::start(home, &[]);
    agent.ok("prompt", json!({ "message": "first" })).await;
    gate.reached().await;
    for (behavior, message) in prompts {
        let fields = json!({ "message": message, "streaming_behavior": behavior });
        agent.ok("prompt", fields).await;
    }
    agent
}

/// What is asked for the first time in each request after the first.
fn asked_anew(model: &ScriptedModel) -> Vec<String> {
    let all: Vec<String> = model
        .requests()
        .iter()
        .map(|r| r.user_texts().join("|"))
        .collect();
    let news = all.windows(2).map(|pair| {
        pair[1]
            .strip_prefix(&pair[0])
            .unwrap_or(&pair[1])
            .to_owned()
    });
    news.collect()
}

#[tokio::test]
async fn every_prompt_that_waited_runs_in_its_order_and_none_twice() {
    let gate = Gate::new();
    let model = ScriptedModel::start([reply![text("working"), hold(&gate)]]);
    let home = Home::new(&model);
    let waiting = [
        ("follow_up", "later-1"),
        ("steer", "now"),
        ("follow_up", "later-2"),
    ];
    let agent = busy_with(&home, &gate, &waiting).await;
    agent.kill9().await;
    for answer in ["a", "b", "c"] {
        model.add(reply![text(answer)]);
    }

    let again = AgentProcess::start(&home, &["--continue"]);
    let queue = again.sync().await["queue"].clone();
    let kinds: Vec<_> = queue
        .as_array()
        .unwrap()
        .iter()
        .map(|p| p["message"].as_str().unwrap())
        .collect();
    assert_eq!(kinds, ["later-1", "now", "later-2"]);
    let mut emptied = false;
    again
        .wait_for(Mark::START, "the end of the last turn", |m| {
            emptied |= m["type"] == "queue_changed" && m["queue"] == json!([]);
            emptied && m["type"] == "turn_end"
        })
        .await;
    assert!(again.quit().await.success());
    // The steer joins the turn that runs when it is taken up; the last prompt has one of its own.
    assert_eq!(asked_anew(&model), ["\n\nlater-1\n\nnow", "|later-2"]);
    let third = AgentProcess::start(&home, &["--continue"]);
    assert_eq!(third.sync().await["queue"], Value::Null);
    assert_eq!(third.turn("more").await.reason(), "done");
    let said = model.requests().pop().unwrap().user_texts().concat();
    for words in ["first", "later-1", "now", "later-2", "more"] {
        assert_eq!(said.matches(words).count(), 1, "{words}: {said}");
    }
}

/// Closes the input; the agent ends well within its time.
async fn quits_in_time(agent: &AgentProcess) {
    let status = tokio::time::timeout(ENDS_WITHIN, agent.quit()).await;
    assert_eq!(status.expect("ends within 5 s").code(), Some(0));
}

fn last_turn_ended(agent: &AgentProcess) -> String {
    let messages = agent.messages_since(Mark::START);
    let end = messages.iter().rfind(|m| m["type"] == "turn_end").unwrap();
    end["reason"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn a_peer_that_goes_away_while_it_streams_leaves_what_had_come() {
    let gate = Gate::new();
    let model = ScriptedModel::start([
        reply![text("half an answer"), hold(&gate)],
        reply![text("whole")],
    ]);
    let home = Home::new(&model);
    let agent = AgentProcess::start(&home, &[]);
    agent.ok("prompt", json!({ "message": "one" })).await;
    agent.wait_for_type(Mark::START, "message_delta").await;
    quits_in_time(&agent).await;
    model.client_gone(0).await;
    assert_eq!(last_turn_ended(&agent), "aborted");
    let again = AgentProcess::start(&home, &["--continue"]);
    let sync = again.sync().await;
    assert_kept(&agent.messages_since(Mark::START), &sync);
    let last = &sync["live_window"]["messages"][1];
    assert_eq!(
        (&last["content"][0]["text"], &last["partial"]),
        (&json!("half an answer"), &json!(true))
    );
    assert_eq!(again.turn("two").await.text(), "whole");
}

#[tokio::test]
async fn a_peer_that_goes_away_with_a_question_open_has_answered_no() {
    let model = ScriptedModel::start([
        reply![tool("write", json!({ "path": "x.txt", "content": "x" }))],
        reply![text("ok")],
    ]);
    let home = Home::builder().model(&model).rules(ask_all()).build();
    let agent = AgentProcess::start(&home, &[]);
    agent.ok("prompt", json!({ "message": "write" })).await;
    let ask = agent.wait_for_type(Mark::START, "permission_request").await;
    quits_in_time(&agent).await;
    let closed = agent
        .wait_for_type(Mark::START, "permission_resolved")
        .await;
    assert_eq!(
        (
            &closed["request_id"],
            &closed["decision"],
            &closed["source"]
        ),
        (&ask["request_id"], &json!("deny"), &json!("aborted"))
    );
    let again = AgentProcess::start(&home, &["--continue"]);
    let sync = again.sync().await;
    assert_kept(&agent.messages_since(Mark::START), &sync);
    assert_eq!(sync["pending_requests"], json!([]));
    again.turn("go on").await;
    let results = model.request(1).await.tool_results();
    assert!(results[0].1.starts_with("not started: "), "{results:?}");
    assert!(!home.has("x.txt"));
}

#[tokio::test]
async fn a_peer_that_goes_away_leaves_its_waiting_prompt_for_the_next_start() {
    let gate = Gate::new();
    let model = ScriptedModel::start([reply![text("working"), hold(&gate)]]);
    let home = Home::new(&model);
    let agent = busy_with(&home, &gate, &[("follow_up", "later")]).await;
    quits_in_time(&agent).await;
    assert_eq!(model.requests().len(), 1, "nothing new is started");
    model.add(reply![text("did it")]);
    model.add(reply![text("once")]);
    let again = AgentProcess::start(&home, &["--continue"]);
    assert_eq!(
        again.wait_for_type(Mark::START, "turn_end").await["reason"],
        "done"
    );
    quits_in_time(&again).await;
    let third = AgentProcess::start(&home, &["--continue"]);
    assert_eq!(third.turn("more").await.text(), "once");
    let said = model.request(2).await.user_texts().concat();
    assert_eq!(said.matches("later").count(), 1, "{said}");
}

#[tokio::test]
async fn a_peer_that_goes_away_ends_the_agent_and_all_it_started() {
    let model = ScriptedModel::start([reply![
        tool("bash", json!({ "command": TWO_PROCESSES })),
        tool("bash", json!({ "command": "touch never" })),
    ]]);
    let home = Home::new(&model);
    let agent = AgentProcess::start(&home, &[]);
    agent.ok("prompt", json!({ "message": "go" })).await;
    let processes = two_processes(&home).await;
    quits_in_time(&agent).await;
    nothing_lives_on(&home).await;
    assert!(!processes.iter().any(|pid| alive(*pid)), "{processes:?}");
    assert_eq!(last_turn_ended(&agent), "aborted");
    let results = home
        .session_rows(&home.session_file())
        .into_iter()
        .filter(|row| row["type"] == "tool_result");
    assert_eq!(results.count(), 2);
    assert!(!home.has("never"));
}
