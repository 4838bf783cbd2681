//! Questions: who may answer, who was first, and what happens when nobody is there.

use serde_json::{Value, json};
use shard_testkit::{
    Answer, Attached, Mark, ScriptedModel, Turn, ask_all, model::Tool, reply, text, tool,
};

use crate::{Site, of, word};

fn write() -> Tool {
    tool("write", json!({"path": "x.txt", "content": "x"}))
}

/// A model that writes a file and then says something.
fn writer() -> ScriptedModel {
    ScriptedModel::start([reply![write()], reply![text("understood")]])
}

async fn patient(model: ScriptedModel, seconds: u64) -> Site {
    let describe = |home: shard_testkit::HomeBuilder| {
        home.rules(ask_all())
            .permissions(json!({ "ask_timeout_secs": seconds }))
    };
    Site::with(model, describe, &[]).await
}

async fn rest(agent: &Attached<'_>, mark: Mark) -> Turn {
    agent.follow(mark, |_| Answer::Leave).await
}

/// Starts a turn and gives its first question.
async fn question(agent: &Attached<'_>) -> (Mark, Value) {
    let mark = agent.prompt("go").await;
    (mark, agent.wait_for_type(mark, "permission_request").await)
}

/// A prompt on a connection that leaves once the agent is at work on it.
async fn prompt_and_leave(site: &Site, agent_id: &str) {
    let client = site.daemon.connect().await;
    client.observe(agent_id).await.prompt("go").await;
}

#[tokio::test]
async fn the_first_answer_counts_and_the_second_is_late() {
    let site = Site::asking(writer()).await;
    let browser = site.daemon.browser().await.connect().await;
    let agent = site.agent().await;
    let web = browser.attach(&agent.id).await;
    let start = web.mark();
    let (mark, ask) = question(&agent).await;
    let same = web.wait_for_type(start, "permission_request").await;
    assert_eq!(same, ask);
    assert!(ask.get("headless_decision").is_none(), "{ask}");
    // Who answers is known; what it says of itself is not taken.
    let answer = json!({
        "request_id": ask["request_id"], "decision": "allow", "source": "headless",
    });
    assert_eq!(web.ok("permission_response", answer).await, json!({}));
    let late = agent.answer(&ask, &Answer::Deny).await;
    assert_eq!(late, json!({ "late": true }));
    for (client, mark) in [(&agent, mark), (&web, start)] {
        let turn = rest(client, mark).await;
        let resolved = turn.of("permission_resolved");
        assert_eq!(resolved.len(), 1);
        assert_eq!(
            (&resolved[0]["decision"], &resolved[0]["source"]),
            (&json!("allow"), &json!("web"))
        );
        assert!(turn.of("error").is_empty());
    }
    assert_eq!(site.home.read("x.txt"), "x");
}

#[tokio::test]
async fn an_answer_that_names_no_choice_of_it_leaves_the_question_open() {
    let site = Site::asking(writer()).await;
    let agent = site.agent().await;
    let (mark, ask) = question(&agent).await;
    let id = &ask["request_id"];
    for wrong in [
        json!({ "request_id": id, "choice_id": "no-such-choice" }),
        json!({ "request_id": id, "choice_id": ask["choices"][0]["id"], "decision": "allow" }),
        json!({ "request_id": id }),
        json!({ "decision": "allow" }),
    ] {
        agent
            .refused("INVALID_REQUEST", "permission_response", wrong)
            .await;
    }
    let foreign = json!({ "request_id": "req-of-nobody", "decision": "deny" });
    let data = agent.ok("permission_response", foreign).await;
    assert_eq!(data, json!({ "late": true }));
    let choices = ask["choices"].as_array().unwrap();
    let allow = choices.iter().find(|c| c["intent"] == "allow").unwrap();
    let answer = Answer::Choice(word(&allow["id"]).to_owned());
    assert_eq!(agent.answer(&ask, &answer).await, json!({}));
    let resolved = &rest(&agent, mark).await.of("permission_resolved")[0].clone();
    assert_eq!(
        (&resolved["choice_id"], &resolved["source"]),
        (&allow["id"], &json!("terminal"))
    );
}

#[tokio::test]
async fn with_nobody_there_a_call_is_denied_at_once_and_the_model_is_told() {
    let site = patient(writer(), 600).await;
    let id = site.create().await;
    let observer = site.client.observe(&id).await;
    let mark = observer.prompt("go").await;
    let turn = rest(&observer, mark).await;
    assert_eq!(
        (turn.reason(), turn.text().as_str()),
        ("done", "understood")
    );
    let resolved = turn.of("permission_resolved");
    assert_eq!(
        (&resolved[0]["decision"], &resolved[0]["source"]),
        (&json!("deny"), &json!("headless"))
    );
    for request in turn.of("permission_request") {
        assert!(request.get("headless_decision").is_none(), "{request}");
    }
    let told = &site.model.request(1).await.tool_results()[0].1;
    assert!(told.contains("nobody was there to ask"), "{told}");
    assert!(!site.home.has("x.txt"));
}

#[tokio::test]
async fn a_rule_may_speak_for_those_who_are_not_there() {
    let rules = json!([
        { "action": "ask", "tool": "write" },
        { "action": "allow", "tool": "write", "path": "x.txt" },
    ]);
    let model = ScriptedModel::start([
        reply![
            write(),
            tool("write", json!({"path": "y.txt", "content": "y"}))
        ],
        reply![text("understood")],
    ]);
    let site = Site::with(model, |home| home.rules(rules), &[]).await;
    let mut wish = site.cwd();
    wish["headless_policy"] = json!("allow_if_rule_matches");
    let id = site.client.create(wish).await;
    let observer = site.client.observe(&id).await;
    let mark = observer.prompt("go").await;
    let turn = rest(&observer, mark).await;
    let decisions: Vec<_> = turn
        .of("permission_resolved")
        .iter()
        .map(|m| (word(&m["decision"]), word(&m["source"])))
        .collect();
    assert_eq!(decisions, [("allow", "headless"), ("deny", "headless")]);
    let by = &turn.of("tool_call")[0]["allowed_by"];
    assert_eq!(by["kind"], "rule", "no person did: {by}");
    assert_eq!(
        (site.home.has("x.txt"), site.home.has("y.txt")),
        (true, false)
    );
}

#[tokio::test]
async fn an_agent_that_may_wait_waits_and_whoever_comes_first_answers() {
    let site = patient(writer(), 1).await;
    let mut wish = site.cwd();
    wish["headless_policy"] = json!("queue");
    let id = site.client.create(wish).await;
    let mark = site.client.mark();
    prompt_and_leave(&site, &id).await;
    let waits = |m: &Value| m["type"] == "agent_activity" && m["phase"] == "waiting";
    site.client.wait_for(mark, "that it waits", waits).await;
    // Who comes and leaves again answers nothing by that.
    drop(site.client.attach(&id).await);
    site.client
        .ok("agent.detach", json!({ "agent_id": id }))
        .await;
    let agent = site.client.attach(&id).await;
    assert_eq!(agent.sync["status"], "waiting_for_permission");
    let pending = agent.sync["pending_requests"].as_array().unwrap();
    assert_eq!(pending.len(), 1);
    assert!(pending[0].get("headless_decision").is_none(), "{pending:?}");
    assert_eq!(site.model.requests().len(), 1, "waiting costs nothing");
    agent.answer(&pending[0], &Answer::Allow).await;
    rest(&agent, agent.mark).await;
    assert_eq!(site.home.read("x.txt"), "x");
}

#[tokio::test]
async fn when_all_have_left_the_policy_speaks_after_a_while() {
    let site = patient(writer(), 1).await;
    let id = site.create().await;
    let observer = site.client.observe(&id).await;
    let browser = site.daemon.browser().await;
    let leaving = browser.connect().await;
    let agent = leaving.attach(&id).await;
    let mark = observer.mark();
    question(&agent).await;
    let logout = browser.post("/logout", &json!({})).send().await;
    assert_eq!(logout.status, 204);
    let turn = rest(&observer, mark).await;
    let resolved = turn.of("permission_resolved");
    assert_eq!(resolved.len(), 1);
    assert_eq!(
        (&resolved[0]["decision"], &resolved[0]["source"]),
        (&json!("deny"), &json!("timeout"))
    );
    let told = &site.model.request(1).await.tool_results()[0].1;
    assert!(told.contains("nobody answered in time"), "{told}");
}

#[tokio::test]
async fn whoever_comes_back_in_time_has_all_the_time_there_is() {
    // The first two requests ask, whichever agent makes them; the rest end the turns.
    let model = ScriptedModel::start([
        reply![write()],
        reply![tool("bash", json!({ "command": "true" }))],
        reply![text("understood")],
        reply![text("understood")],
    ]);
    let site = patient(model, 1).await;
    let agent = site.agent().await;
    let (mark, ask) = question(&agent).await;
    agent.ok("agent.detach", json!({})).await;
    let again = site.client.attach(&agent.id).await;
    // Another agent's question is left alone meanwhile, and its time passes.
    let other = site.create().await;
    let second = site.daemon.connect().await;
    let observer = site.client.observe(&other).await;
    let theirs = observer.mark();
    let leaving = second.attach(&other).await;
    let (_, asked) = question(&leaving).await;
    drop(second);
    let is =
        |m: &Value| m["type"] == "permission_resolved" && m["request_id"] == asked["request_id"];
    observer
        .wait_for(theirs, "the timeout of the other", is)
        .await;
    // As much time has passed for this one, in which it did not run out.
    assert_eq!(again.answer(&ask, &Answer::Allow).await, json!({}));
    let turn = rest(&again, mark).await;
    assert_eq!(of(turn.messages(), "permission_resolved").len(), 1);
    assert_eq!(site.home.read("x.txt"), "x");
}

#[tokio::test]
async fn a_dialog_is_answered_by_a_person_or_closed_for_want_of_one() {
    let ask = || {
        tool(
            "ask_user",
            json!({ "question": "Which?", "options": ["a", "b"] }),
        )
    };
    let model = ScriptedModel::start([
        reply![ask()],
        reply![text("thanks")],
        reply![ask()],
        reply![text("alone")],
    ]);
    let site = Site::start(model).await;
    let agent = site.agent().await;
    let mark = agent.prompt("go").await;
    let request = agent.wait_for_type(mark, "ui_request").await;
    assert_eq!(request["kind"], "select");
    let answer = json!({ "request_id": request["request_id"], "value": "b" });
    assert_eq!(agent.ok("ui_response", answer.clone()).await, json!({}));
    let late = agent.ok("ui_response", answer).await;
    assert_eq!(late, json!({ "late": true }));
    let turn = rest(&agent, mark).await;
    let resolved = &turn.of("ui_resolved")[0];
    assert_eq!(
        (&resolved["value"], &resolved["source"]),
        (&json!("b"), &json!("terminal"))
    );
    assert!(turn.result_text(0).contains('b'));

    let observer = site.client.observe(&agent.id).await;
    let mark = observer.prompt("go").await;
    let turn = rest(&observer, mark).await;
    let resolved = &turn.of("ui_resolved")[0];
    assert_eq!(
        (&resolved["value"], &resolved["source"]),
        (&Value::Null, &json!("headless"))
    );
    assert!(turn.result_text(0).contains("nobody answered"));
}

#[tokio::test]
async fn an_abort_closes_the_dialog_everywhere_and_the_next_prompt_works() {
    let site = Site::asking(writer()).await;
    let agent = site.agent().await;
    let other = site.daemon.connect().await;
    let watching = other.attach(&agent.id).await;
    let (mark, ask) = question(&agent).await;
    agent.ok("abort", json!({})).await;
    let closed = watching
        .wait_for_type(watching.mark, "permission_resolved")
        .await;
    assert_eq!(
        (&closed["request_id"], &closed["source"]),
        (&ask["request_id"], &json!("aborted"))
    );
    assert_eq!(rest(&agent, mark).await.reason(), "aborted");
    let late = watching.answer(&ask, &Answer::Allow).await;
    assert_eq!(late, json!({ "late": true }));
    assert_eq!(agent.turn("next").await.text(), "understood");
    assert!(!site.home.has("x.txt"));
}
