//! A whole task: read, edit, run the tests, with a question before each step.

use serde_json::{Value, json};
use shard_testkit::{
    AgentProcess, Answer, Home, Provider, ScriptedModel, Turn, ask_all, reply, text, tool,
};

fn scripted() -> ScriptedModel {
    ScriptedModel::start([
        reply![
            text("Let me look.").chunks(3),
            tool("read", json!({ "path": "calc.sh" })).pieces(4)
        ],
        reply![tool(
            "edit",
            json!({ "path": "calc.sh", "old_text": "$1 - $2", "new_text": "$1 + $2" })
        )],
        reply![tool("bash", json!({ "command": "bash test.sh" }))],
        reply![text("Fixed: the sum was a difference.").chunks(4)],
    ])
}

/// The task over a provider's format; `asks` are the tools that need an answer.
async fn fixes_a_bug(provider: Provider, rules: Value, asks: &[&str]) {
    let model = scripted();
    let home = Home::builder()
        .model(&model)
        .provider(provider)
        .rules(rules)
        .build();
    home.write("calc.sh", "add() { echo $(( $1 - $2 )); }\n");
    home.write(
        "test.sh",
        ". ./calc.sh\n[ \"$(add 2 3)\" = 5 ] && echo PASS || { echo FAIL; exit 1; }\n",
    );
    home.git(&["add", "-A"]);
    home.git(&["commit", "-q", "-m", "calc"]);
    let agent = AgentProcess::start(&home, &[]);
    agent.sync().await;

    let mut asked = Vec::new();
    let turn = agent
        .turn_with("make the tests pass", |ask| {
            asked.push(ask["tool_name"].as_str().unwrap().to_owned());
            Answer::Allow
        })
        .await;

    assert_eq!(asked, asks);
    assert_eq!(home.read("calc.sh"), "add() { echo $(( $1 + $2 )); }\n");
    let diff = home.git(&["diff", "--unified=0"]);
    let changed: Vec<_> = diff.lines().skip_while(|l| !l.starts_with("@@")).collect();
    assert_eq!(
        changed,
        [
            "@@ -1 +1 @@",
            "-add() { echo $(( $1 - $2 )); }",
            "+add() { echo $(( $1 + $2 )); }"
        ]
    );
    assert_eq!(home.git(&["status", "--short"]), " M calc.sh");
    assert_eq!(turn.result_text(2).trim(), "PASS");
    assert_eq!(turn.results()[2]["exit_code"], 0);
    assert_eq!(
        (turn.text().as_str(), turn.reason()),
        ("Fixed: the sum was a difference.", "done")
    );
    let diff = &turn.results()[1]["render"];
    assert_eq!(
        (&diff["kind"], &diff["path"]),
        (&json!("diff"), &json!("calc.sh"))
    );
    let kinds: Vec<_> = diff["hunks"][0]["lines"]
        .as_array()
        .unwrap()
        .iter()
        .map(|line| &line["kind"])
        .collect();
    assert_eq!(kinds, ["del", "add"]);
    check_order(&turn, asks);
    check_requests(&model, &turn).await;
    assert!(agent.quit().await.success());
}

/// Each message, then its question and answer where there is one, its call and its result; the
/// end of the turn last.
fn check_order(turn: &Turn, asks: &[&str]) {
    let notable = [
        "message_complete",
        "permission_request",
        "permission_resolved",
        "tool_call",
        "tool_result",
        "turn_end",
    ];
    let order: Vec<_> = turn
        .types()
        .into_iter()
        .filter(|kind| notable.contains(kind))
        .collect();
    let mut want = vec!["message_complete"];
    for tool in ["read", "edit", "bash"] {
        want.push("message_complete");
        if asks.contains(&tool) {
            want.extend(["permission_request", "permission_resolved"]);
        }
        want.extend(["tool_call", "tool_result"]);
    }
    want.extend(["message_complete", "turn_end"]);
    assert_eq!(order, want);
}

/// Each request has all that came before it, under the ids and with the texts that were shown.
async fn check_requests(model: &ScriptedModel, turn: &Turn) {
    let shown: Vec<_> = turn
        .results()
        .iter()
        .map(|result| result["tool_call_id"].as_str().unwrap().to_owned())
        .collect();
    for number in 0..4 {
        let request = model.request(number).await;
        assert_eq!(request.user_texts(), ["make the tests pass"]);
        let results = request.tool_results();
        let ids: Vec<_> = results.iter().map(|(id, _)| id.clone()).collect();
        assert_eq!(ids, shown[..number], "results in request {number}");
        let calls = request.tool_calls().into_iter();
        assert_eq!(
            calls.map(|(_, name)| name).collect::<Vec<_>>(),
            ["read", "edit", "bash"][..number]
        );
    }
    let last = model.request(3).await;
    assert_eq!(last.assistant_texts(), ["Let me look."]);
    let results = last.tool_results();
    assert!(
        results[0].1.contains("add() { echo $(( $1 - $2 )); }"),
        "{results:?}"
    );
    assert!(results[2].1.starts_with("PASS\n"), "{results:?}");
    assert_eq!(model.requests().len(), 4);
}

#[tokio::test]
async fn a_bug_is_found_fixed_and_proved_over_the_openai_format() {
    fixes_a_bug(Provider::OpenAi, json!([]), &["edit", "bash"]).await;
}

#[tokio::test]
async fn a_bug_is_found_fixed_and_proved_over_the_responses_format() {
    fixes_a_bug(Provider::Responses, json!([]), &["edit", "bash"]).await;
}

#[tokio::test]
async fn a_bug_is_found_fixed_and_proved_over_the_anthropic_format() {
    fixes_a_bug(Provider::Anthropic, json!([]), &["edit", "bash"]).await;
}

#[tokio::test]
async fn an_ask_rule_for_everything_asks_for_reading_too() {
    fixes_a_bug(Provider::OpenAi, ask_all(), &["read", "edit", "bash"]).await;
}
