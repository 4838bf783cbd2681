//! A whole task: read, edit, run the tests, with a question before each step.

use serde_json::json;
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

async fn fixes_a_bug(provider: Provider) {
    let model = scripted();
    let home = Home::builder()
        .model(&model)
        .provider(provider)
        .rules(ask_all())
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

    assert_eq!(
        asked,
        ["read", "edit", "bash"],
        "an `ask *` rule asks for reading too"
    );
    assert_eq!(home.read("calc.sh"), "add() { echo $(( $1 + $2 )); }\n");
    assert!(
        home.git(&["diff"])
            .contains("+add() { echo $(( $1 + $2 )); }")
    );
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
    check_order(&turn);
    let last = model.request(3).await;
    assert_eq!(last.tool_results().len(), 3);
    assert!(agent.quit().await.success());
}

/// Each message, then its question, its answer, its call and its result; the end of the turn last.
fn check_order(turn: &Turn) {
    let order: Vec<_> = turn
        .types()
        .into_iter()
        .filter(|kind| {
            [
                "message_complete",
                "permission_request",
                "permission_resolved",
                "tool_call",
                "tool_result",
                "turn_end",
            ]
            .contains(kind)
        })
        .collect();
    let call = [
        "message_complete",
        "permission_request",
        "permission_resolved",
        "tool_call",
        "tool_result",
    ];
    let want = [
        &["message_complete"][..],
        &call,
        &call,
        &call,
        &["message_complete", "turn_end"],
    ]
    .concat();
    assert_eq!(order, want);
}

#[tokio::test]
async fn a_bug_is_found_fixed_and_proved_over_the_openai_format() {
    fixes_a_bug(Provider::OpenAi).await;
}

#[tokio::test]
async fn a_bug_is_found_fixed_and_proved_over_the_anthropic_format() {
    fixes_a_bug(Provider::Anthropic).await;
}
