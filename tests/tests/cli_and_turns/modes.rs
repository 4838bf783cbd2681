//! Ways of working: what each may do, and the plan that goes from one to the next.

use serde_json::{Value, json};
use shard_testkit::{
    AgentProcess, Answer, Home, Provider, ScriptedModel, allow_all, reply, run_cli, text, tool,
};

use crate::word;

const PLAN: &str = "I looked.\n\n## Implementation Plan\n\n1. Write `x.txt`.\n";

#[tokio::test]
async fn a_plan_is_made_without_a_change_and_carried_out_after_a_restart() {
    let write = || tool("write", json!({"path": "x.txt", "content": "x"}));
    let model = ScriptedModel::start([
        reply![write()],
        reply![text(PLAN)],
        reply![write()],
        reply![text("done")],
    ]);
    let home = Home::builder().model(&model).rules(allow_all()).build();
    let agent = AgentProcess::start(&home, &["--mode", "plan"]);
    assert_eq!(agent.sync().await["mode"], "plan");
    let turn = agent.turn("what would you do?").await;
    assert!(!home.has("x.txt"), "no rule allows what the mode forbids");
    let refusal = &turn.results()[0];
    assert_eq!(refusal["is_error"], true);
    let told = &model.request(1).await.tool_results()[0].1;
    assert!(told.contains("the mode plan"), "{told}");
    let offered = model.request(0).await;
    assert_eq!(
        offered.tools(),
        ["read", "ls", "find", "grep", "ask_user", "recall"]
    );
    agent.quit().await;

    let agent = AgentProcess::start(&home, &["--continue"]);
    assert_eq!(agent.sync().await["mode"], "plan", "also after a restart");
    agent.ok("set_mode", json!({"mode": "build"})).await;
    assert_eq!(agent.turn("go ahead").await.text(), "done");
    assert!(home.has("x.txt"));
    let system = model.request(2).await.system();
    assert!(system.contains("## Active Plan"), "{system}");
    assert!(system.contains("1. Write `x.txt`."), "{system}");
}

#[tokio::test]
async fn a_review_runs_commands_only_when_a_person_says_so() {
    let model = ScriptedModel::start([
        reply![
            tool("bash", json!({"command": "cat README.md"})),
            tool(
                "edit",
                json!({"path": "README.md", "old_text": "a", "new_text": "b"})
            )
        ],
        reply![text("it reads well")],
    ]);
    let home = Home::builder().model(&model).rules(allow_all()).build();
    let before = home.read("README.md");
    let agent = AgentProcess::start(&home, &["--mode", "review"]);
    let mark = agent.mark();
    agent.ok("prompt", json!({"message": "go"})).await;
    let request = agent.wait_for_type(mark, "permission_request").await;
    assert_eq!(request["options"], json!(["allow", "deny"]), "not for good");
    let answer = json!({"request_id": request["request_id"], "decision": "allow"});
    agent.ok("permission_response", answer).await;
    let turn = agent.follow(mark, |_| Answer::Leave).await;
    let failed = turn.results().into_iter().map(|r| r["is_error"] == true);
    assert_eq!(failed.collect::<Vec<_>>(), [false, true]);
    assert_eq!(home.read("README.md"), before);
}

#[tokio::test]
async fn a_mode_that_is_not_there_is_named_with_those_that_are() {
    let model = ScriptedModel::silent();
    let home = Home::new(&model);
    let output = run_cli(&home, &["run", "go", "--mode", "dream"], None).await;
    assert_eq!(output.code(), 1);
    assert!(
        output.stderr.contains("build, plan, review"),
        "{}",
        output.stderr
    );
}

#[tokio::test]
async fn a_reasoning_level_reaches_the_provider_as_it_wants_it() {
    let cases = [
        (Provider::OpenAi, "/reasoning_effort", json!("high")),
        (Provider::Responses, "/reasoning/effort", json!("high")),
        (Provider::Anthropic, "/thinking/budget_tokens", json!(3072)),
    ];
    for (provider, place, value) in cases {
        let model = ScriptedModel::answering(|_| reply![text("ok")]);
        let home = Home::builder().model(&model).provider(provider).build();
        let agent = AgentProcess::start(&home, &[]);
        let has = |list: &Value| list.to_string().contains("\"reasoning-switch\"");
        assert!(has(&agent.sync().await["capabilities"]));
        agent.turn("one").await;
        let listed = agent.ok("list_reasoning_levels", json!({})).await;
        let levels = listed["levels"].as_array().unwrap().iter();
        let ids: Vec<_> = levels.map(|level| word(&level["id"])).collect();
        assert_eq!(ids, ["default", "low", "medium", "high"]);
        let wish = json!({"model": "mock/m1", "effort": "high"});
        agent.ok("set_reasoning_level", wish).await;
        agent.turn("two").await;
        agent.quit().await;
        let agent = AgentProcess::start(&home, &["--continue"]);
        agent.turn("three").await;
        let error = agent
            .err(
                "set_reasoning_level",
                json!({"model": "mock/m2", "effort": "low"}),
            )
            .await;
        assert_eq!(error["code"], "CONFLICT");
        let mark = agent.mark();
        agent.ok("set_model", json!({"model": "mock/plain"})).await;
        let changed = agent.wait_for_type(mark, "model_changed").await;
        assert!(!has(&changed["capabilities"]));
        let fallen_back = agent.wait_for_type(mark, "reasoning_level_changed").await;
        assert_eq!(fallen_back["active"], "default");
        agent.turn("four").await;
        let sent: Vec<_> = model
            .requests()
            .iter()
            .map(|request| request.body.pointer(place).cloned())
            .collect();
        assert_eq!(sent, [None, Some(value.clone()), Some(value), None]);
    }
}

#[tokio::test]
async fn a_level_that_is_no_longer_there_is_told_and_not_sent() {
    let model = ScriptedModel::answering(|_| reply![text("ok")]);
    let home = Home::new(&model);
    let agent = AgentProcess::start(&home, &[]);
    let wish = json!({"model": "mock/m1", "effort": "high"});
    agent.ok("set_reasoning_level", wish).await;
    agent.quit().await;
    let mut config = home.config().clone();
    config["providers"]["mock"]["models"][0]["reasoning"] = json!(["low"]);
    home.write_config(&config.to_string());
    let output = run_cli(&home, &["run", "go", "--continue"], None).await;
    assert_eq!(output.code(), 0, "{}", output.stderr);
    let told = "the reasoning level high, which mock/m1 does not have";
    assert!(output.stderr.contains(told), "{}", output.stderr);
    let sent = model.request(0).await.body;
    assert_eq!(sent.get("reasoning_effort"), None);
}
