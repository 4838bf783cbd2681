//! What is allowed for good: given in a question, listed, counted, and taken back.

use serde_json::{Value, json};
use shard_testkit::{
    Answer, Attached, ScriptedModel, Turn, model::Tool, reply, run_cli, signal, text, tool,
};

use crate::{Site, word};

fn bash(line: &str) -> Tool {
    tool("bash", json!({ "command": line }))
}

/// A model that runs these lines, one a turn.
fn runs(lines: &[&str]) -> ScriptedModel {
    let model = ScriptedModel::silent();
    for line in lines {
        model.add(reply![bash(line)]);
        model.add(reply![text("done")]);
    }
    model
}

async fn turn(agent: &Attached<'_>, choice: &str) -> Turn {
    let mark = agent.prompt("go").await;
    let answer = |_: &Value| Answer::Choice(choice.to_owned());
    agent.follow(mark, answer).await
}

/// A turn in which everything that is asked is denied; whether something was.
async fn asks(agent: &Attached<'_>) -> bool {
    !turn(agent, "deny")
        .await
        .of("permission_request")
        .is_empty()
}

async fn grants(site: &Site, agent_id: &str) -> Vec<Value> {
    let wish = json!({ "agent_id": agent_id });
    let data = site.client.ok("grants.list", wish).await;
    data["grants"].as_array().unwrap().clone()
}

async fn revoke(site: &Site, agent_id: &str, grant: &Value) {
    let wish = json!({ "agent_id": agent_id, "grant_id": grant["grant_id"] });
    site.client.ok("grants.revoke", wish).await;
}

/// Ends the agent's process and waits for that.
async fn stop(site: &Site, agent_id: &str) {
    let mark = site.client.mark();
    let wish = json!({ "agent_id": agent_id });
    site.client.ok("agent.terminate", wish).await;
    let stopped = |m: &Value| m["agent_id"] == agent_id && m["runtime_state"] == "stopped";
    site.client.wait_for(mark, "that it stopped", stopped).await;
}

#[tokio::test]
async fn a_form_that_is_allowed_for_good_runs_in_its_other_spellings_until_it_is_taken_back() {
    let site = Site::asking(runs(&[
        "echo -n -e hi",
        "echo -e  -n hi; echo -n -e hi",
        "echo -n -e ho",
        "echo -e -n hi",
    ]))
    .await;
    let agent = site.agent().await;
    assert_eq!(grants(&site, &agent.id).await, [json!(null); 0]);
    let first = turn(&agent, "allow_signature").await;
    let resolved = &first.of("permission_resolved")[0];
    assert_eq!(
        (&resolved["choice_id"], &resolved["source"]),
        (&json!("allow_signature"), &json!("terminal"))
    );
    assert!(first.of("tool_call")[0].get("allowed_by").is_none());
    let given = grants(&site, &agent.id).await;
    let second = turn(&agent, "deny").await;
    let by = &second.of("tool_call")[0]["allowed_by"];
    assert_eq!(*by, json!({ "kind": "grant", "id": given[0]["grant_id"] }));
    assert!(asks(&agent).await, "other words are another form");

    let listed = grants(&site, &agent.id).await;
    assert_eq!(listed.len(), 1);
    let grant = &listed[0];
    assert_eq!((&given[0]["used"], &grant["used"]), (&json!(0), &json!(1)));
    assert_eq!(
        [
            &grant["tool"],
            &grant["kind"],
            &grant["source"],
            &grant["summary"]
        ],
        ["bash", "bash_signature", "terminal", "Run `echo -e -n hi`"]
    );
    assert!(grant["last_used_at"].as_u64() >= grant["created_at"].as_u64());

    let browser = site.daemon.browser().await.connect().await;
    let wish = json!({ "agent_id": agent.id, "grant_id": grant["grant_id"] });
    browser.ok("grants.revoke", wish.clone()).await;
    browser.refused("NOT_FOUND", "grants.revoke", wish).await;
    assert_eq!(grants(&site, &agent.id).await, [json!(null); 0]);
    assert!(
        asks(&agent).await,
        "it counts no more, though the process is the same"
    );
}

#[tokio::test]
async fn a_grant_outlives_the_process_and_the_daemon_and_can_be_taken_back_while_it_sleeps() {
    let lines = ["echo hi", "echo hi", "echo there", "echo hi", "echo there"];
    let mut site = Site::asking(runs(&lines)).await;
    let agent = site.agent().await;
    let id = agent.id.clone();
    turn(&agent, "allow_exact").await;
    turn(&agent, "deny").await;
    turn(&agent, "allow_signature").await;
    let running = grants(&site, &id).await;
    stop(&site, &id).await;
    let sleeping = grants(&site, &id).await;
    assert_eq!(sleeping, running, "the uses too");
    assert_eq!(
        [
            &sleeping[0]["kind"],
            &sleeping[1]["kind"],
            &sleeping[0]["used"]
        ],
        [&json!("exact"), &json!("bash_signature"), &json!(1)]
    );
    assert_eq!(site.daemon.agent_pid(&id), None, "looking starts nothing");
    site.daemon.kill9().await;
    site.start_again().await;
    assert_eq!(grants(&site, &id).await, sleeping);
    revoke(&site, &id, &sleeping[1]).await;
    assert_eq!(grants(&site, &id).await, sleeping[..1]);
    let agent = site.client.attach(&id).await;
    assert!(!asks(&agent).await);
    assert!(asks(&agent).await);
}

#[tokio::test]
async fn a_revocation_while_the_process_starts_counts_for_its_first_call() {
    let site = Site::asking(runs(&["echo hi", "echo hi"])).await;
    let agent = site.agent().await;
    turn(&agent, "allow_exact").await;
    let grant = grants(&site, &agent.id).await[0].clone();
    stop(&site, &agent.id).await;
    let mark = agent.mark();
    let wish = json!({ "agent_id": agent.id, "grant_id": grant["grant_id"] });
    agent.send("grants.revoke", wish).await;
    agent.ok("prompt", json!({ "message": "go" })).await;
    let turn = agent.follow(mark, |_| Answer::Deny).await;
    assert_eq!(turn.of("permission_request").len(), 1);
    assert_eq!(grants(&site, &agent.id).await, [json!(null); 0]);
}

#[tokio::test]
async fn who_may_not_or_asks_for_what_is_not_there_is_told() {
    let site = Site::asking(runs(&["echo hi"])).await;
    let agent = site.agent().await;
    turn(&agent, "allow_exact").await;
    let grant = grants(&site, &agent.id).await[0].clone();
    let other = site.daemon.connect().await;
    let observer = other.observe(&agent.id).await;
    let wish = json!({ "grant_id": grant["grant_id"] });
    observer
        .refused("PERMISSION_DENIED", "grants.revoke", wish)
        .await;
    assert_eq!(
        observer.ok("grants.list", json!({})).await["grants"],
        json!([grant])
    );
    let nobody = json!({ "agent_id": "agent-nobody", "grant_id": "grant-1" });
    for kind in ["grants.list", "grants.revoke"] {
        site.client.refused("NOT_FOUND", kind, nobody.clone()).await;
    }
    let unknown = json!({ "grant_id": "grant-1" });
    agent
        .refused("NOT_FOUND", "grants.revoke", unknown.clone())
        .await;
    stop(&site, &agent.id).await;
    agent.refused("NOT_FOUND", "grants.revoke", unknown).await;
    let broken = site.home.shard_home().join("agents").join(&agent.id);
    std::fs::write(broken.join("permission-grants.json"), "{").unwrap();
    let told = agent
        .refused("INTERNAL_ERROR", "grants.list", json!({}))
        .await;
    assert!(told.contains("permission-grants.json"), "{told}");
    let all = run_cli(&site.home, &["grants", "ls"], None).await;
    assert!(all.code() == 1 && all.stderr.contains(&told), "{all:?}");
    assert!(
        !all.stderr.contains("nothing is allowed"),
        "that is not known: {all:?}"
    );
}

#[tokio::test]
async fn a_process_that_does_not_answer_is_not_waited_for() {
    let site = Site::asking(runs(&["echo hi"])).await;
    let agent = site.agent().await;
    turn(&agent, "allow_exact").await;
    let before = grants(&site, &agent.id).await;
    signal(site.pid(&agent.id), rustix::process::Signal::STOP);
    let told = agent
        .refused("INTERNAL_ERROR", "grants.list", json!({}))
        .await;
    assert!(told.contains("ended before it answered"), "{told}");
    assert_eq!(grants(&site, &agent.id).await, before);
}

#[tokio::test]
async fn at_a_terminal_grants_are_listed_and_taken_back() {
    let site = Site::asking(runs(&["echo hi", "echo hi", "echo there"])).await;
    let run = async |args: &[&str]| run_cli(&site.home, args, None).await;
    let none = run(&["grants", "ls"]).await;
    assert_eq!((none.code(), none.stdout.as_str()), (0, ""));
    assert!(
        none.stderr.contains("nothing is allowed for good"),
        "{}",
        none.stderr
    );
    let named = site
        .client
        .create(json!({ "cwd": site.home.work(), "name": "helper" }))
        .await;
    let agent = site.client.attach(&named).await;
    turn(&agent, "allow_signature").await;
    turn(&agent, "deny").await;
    turn(&agent, "allow_exact").await;
    site.create().await;

    let listed = run(&["grants", "ls"]).await.stdout;
    let lines: Vec<&str> = listed.lines().collect();
    assert_eq!(lines.len(), 3, "{listed}");
    for (line, what) in [
        (lines[0], "GRANT"),
        (lines[1], "helper"),
        (lines[1], "Run `echo hi`, by its form"),
        (lines[1], "once"),
        (lines[2], "Run echo there"),
        (lines[2], "never"),
        (lines[2], "terminal"),
    ] {
        assert!(line.contains(what), "{what}: {listed}");
    }
    let json = run(&["grants", "ls", "helper", "--json"]).await.stdout;
    let rows: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(
        (&rows[0]["agent_id"], &rows[0]["used"], &rows[1]["kind"]),
        (&json!(named), &json!(1), &json!("exact"))
    );
    let id = word(&rows[0]["grant_id"]);
    for (args, code, said) in [
        (["grants", "revoke", "helper", "grant-"], 1, "has no grant"),
        (["grants", "revoke", "helper", "zz"], 1, "has no grant"),
        (["grants", "revoke", "nobody", id], 1, "no agent \"nobody\""),
        (
            ["grants", "revoke", "helper", &id[..id.len() - 1]],
            0,
            "asked about again: Run `echo hi`",
        ),
        (["grants", "revoke", "helper", id], 1, "has no grant"),
    ] {
        let output = run(&args).await;
        let all = format!("{}{}", output.stdout, output.stderr);
        assert_eq!(output.code(), code, "{args:?}: {all}");
        assert!(all.contains(said), "{args:?}: {all}");
    }
    let left = run(&["grants", "ls", "helper"]).await.stdout;
    assert!(
        left.contains("echo there") && !left.contains("echo hi"),
        "{left}"
    );
    assert_eq!(run(&["grants", "revoke", "helper"]).await.code(), 2);
    site.daemon.kill9().await;
    assert_eq!(run(&["grants", "ls"]).await.code(), 3);
}
