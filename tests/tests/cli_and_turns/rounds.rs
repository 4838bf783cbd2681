//! How a turn goes from call to call: in which order its tools run, what it counts, what it says of
//! itself, and when it is stopped.

use serde_json::{Value, json};
use shard_testkit::{
    AgentProcess, Answer, Home, Provider, ScriptedModel, Turn, UsageShape, reply, text, tool, usage,
};

use crate::{errors, word};

/// What happened to the calls, in order: `+name` where one started, `-` where a result came.
fn steps(turn: &Turn) -> String {
    let step = |message: &Value| match word(&message["type"]) {
        "tool_call" => Some(format!("+{}", word(&message["name"]))),
        "tool_result" => Some("-".to_owned()),
        _ => None,
    };
    let steps: Vec<_> = turn.messages().iter().filter_map(step).collect();
    steps.join(" ")
}

#[tokio::test]
async fn calls_that_read_run_side_by_side_and_others_in_their_place() {
    let read = || tool("read", json!({"path": "README.md"}));
    let write = tool("write", json!({"path": "a.txt", "content": "written"}));
    for provider in Provider::ALL {
        let model = ScriptedModel::start([
            reply![
                read(),
                tool("ls", json!({})),
                write.clone(),
                tool("read", json!({"path": "a.txt"})),
                tool("grep", json!({"pattern": "written"})),
            ],
            reply![text("ok")],
        ]);
        let home = Home::builder().model(&model).provider(provider).build();
        let turn = AgentProcess::start(&home, &[]).turn("go").await;
        assert_eq!(
            steps(&turn),
            "+read +ls - - +write - +read +grep - -",
            "{provider:?}"
        );
        let said = |n| turn.result_text(n);
        assert!(said(3).contains("written") && said(4).contains("a.txt"));
        let calls: Vec<_> = turn
            .of("tool_call")
            .iter()
            .map(|m| &m["tool_call_id"])
            .collect();
        let results: Vec<_> = turn.results().iter().map(|m| &m["tool_call_id"]).collect();
        assert_eq!(calls, results, "results keep the order of the calls");
        let sent = model.request(1).await;
        let sent = sent.tool_results();
        let sent: Vec<_> = sent.iter().map(|(id, _)| json!(id)).collect();
        assert_eq!(sent.iter().collect::<Vec<_>>(), calls);
    }
}

#[tokio::test]
async fn a_turn_that_goes_in_circles_is_stopped_with_an_explanation() {
    for (name, arguments, max_rounds, calls, words) in [
        ("ls", json!({}), 3, 3, &["max_rounds", "3"][..]),
        (
            "read",
            json!({"path": "none"}),
            200,
            5,
            &["read", "5 times in a row"],
        ),
    ] {
        let model = ScriptedModel::answering(move |request| {
            match request.user_texts().concat().contains("again") {
                true => reply![text("fine now")],
                false => reply![tool(name, arguments.clone())],
            }
        });
        let home = Home::builder().model(&model);
        let home = home
            .config(json!({"tools": {"max_rounds": max_rounds}}))
            .build();
        let agent = AgentProcess::start(&home, &[]);
        let turn = agent.turn("go").await;
        assert_eq!((turn.reason(), model.requests().len()), ("limit", calls));
        let told = errors(&turn);
        assert_eq!(told.len(), 1, "{told:?}");
        for words in words {
            assert!(told[0].1.contains(words), "{words} in {}", told[0].1);
        }
        assert_eq!(agent.turn("again").await.text(), "fine now");
    }
}

#[tokio::test]
async fn each_call_of_the_model_is_counted_with_its_cost() {
    let price = json!({"input": 1.0, "output": 2.0, "cache_read": 0.1, "cache_write": 4.0});
    let models = json!([{"id": "m1", "context_window": 100_000, "cost": price}]);
    for provider in Provider::ALL {
        let model = ScriptedModel::start([
            reply![tool("ls", json!({})), usage(1000, 500, 10_000)],
            reply![text("ok"), usage(2000, 100, 0)],
        ]);
        let home = Home::builder().model(&model).provider(provider);
        let home = home.provider_config(json!({"models": models})).build();
        let turn = AgentProcess::start(&home, &[]).turn("go").await;
        let number = |usage: &Value, key: &str| usage[key].as_f64().unwrap_or_default();
        let counted = |usage: &Value| {
            ["input", "output", "cache_read", "context_tokens"].map(|key| number(usage, key))
        };
        let calls = turn.of("usage");
        assert_eq!(
            [counted(calls[0]), counted(calls[1])],
            [
                [1000.0, 500.0, 10_000.0, 11_500.0],
                [2000.0, 100.0, 0.0, 2100.0]
            ],
            "{provider:?}"
        );
        let end = &turn.of("turn_end")[0]["usage"];
        assert_eq!(counted(end), [3000.0, 600.0, 10_000.0, 2100.0]);
        for (usage, dollars) in [(calls[0], 0.003), (calls[1], 0.0022), (end, 0.0052)] {
            let cost = number(usage, "cost");
            assert!(
                (cost - dollars).abs() < 1e-9,
                "{cost} for {dollars}: {usage}"
            );
            assert_eq!(usage["model"], "mock/m1");
        }
    }
}

#[tokio::test]
async fn of_a_call_that_its_server_does_not_count_the_context_is_estimated() {
    let quiet = |words: &str| reply![text(words)].usage_shape(UsageShape::Missing);
    let model = ScriptedModel::start([quiet(&"word ".repeat(4000)), quiet("ok"), quiet("ok")]);
    let home = Home::new(&model);
    let agent = AgentProcess::start(&home, &[]);
    let mut sizes = Vec::new();
    for _ in 0..2 {
        let turn = agent.turn("go").await;
        let [usage] = turn.of("usage")[..] else {
            panic!("{:?}", turn.messages());
        };
        assert_eq!(
            (&usage["input"], &usage["model"]),
            (&json!(0), &json!("mock/m1"))
        );
        assert_eq!(usage.get("cost"), None, "nobody knows");
        sizes.push(usage["context_tokens"].as_u64().unwrap());
    }
    // A quarter token for each byte, and instructions and tools beside it.
    assert!((5000..15_000).contains(&sizes[0]), "{sizes:?}");
    assert!((1..100).contains(&(sizes[1] - sizes[0])), "{sizes:?}");
    agent.quit().await;
    let again = AgentProcess::start(&home, &["--continue"]);
    assert_eq!(again.sync().await["usage"]["context_tokens"], sizes[1]);
}

#[tokio::test]
async fn the_status_says_what_the_agent_is_at() {
    let model = ScriptedModel::start([
        reply![tool("write", json!({"path": "a", "content": "x"}))],
        reply![tool("ask_user", json!({"question": "Well?"}))],
        reply![text("ok")],
    ]);
    let home = Home::builder().model(&model).rules(json!([])).build();
    let agent = AgentProcess::start(&home, &[]);
    let mark = agent.mark();
    agent.ok("prompt", json!({"message": "go"})).await;
    let ask = agent.wait_for_type(mark, "permission_request").await;
    let id = &ask["request_id"];
    agent
        .ok(
            "permission_response",
            json!({"request_id": id, "decision": "allow"}),
        )
        .await;
    let ask = agent.wait_for_type(mark, "ui_request").await;
    let id = &ask["request_id"];
    agent
        .ok("ui_response", json!({"request_id": id, "value": "yes"}))
        .await;
    let turn = agent.follow(mark, |_| Answer::Leave).await;
    assert_eq!(turn.text(), "ok");
    let idle = |m: &Value| m["type"] == "status" && m["status"] == "idle";
    agent.wait_for(mark, "idle", idle).await;
    let messages = agent.messages_since(mark);
    let mut statuses: Vec<_> = messages
        .iter()
        .filter(|m| m["type"] == "status")
        .map(|m| word(&m["status"]))
        .collect();
    statuses.dedup();
    assert_eq!(
        statuses,
        [
            "streaming",
            "waiting_for_permission",
            "streaming",
            "waiting_for_ui",
            "streaming",
            "idle"
        ]
    );
}
