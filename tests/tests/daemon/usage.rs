//! What agents used: asked of the daemon, and at the command line.

use serde_json::{Value, json};
use shard_testkit::{ScriptedModel, reply, run_cli, text, usage};

use crate::{Site, word};

async fn rows(site: &Site, query: Value) -> Vec<Value> {
    let mut data = site.client.ok("usage.query", query).await;
    match data["rows"].take() {
        Value::Array(rows) => rows,
        other => panic!("no rows: {other}"),
    }
}

#[tokio::test]
async fn what_agents_and_runs_take_is_summed_by_whatever_is_asked() {
    let model = ScriptedModel::start([
        reply![text("one"), usage(100, 7, 0)],
        reply![text("two"), usage(200, 5, 0)],
        reply![text("three"), usage(1000, 1, 0)],
    ]);
    let site = Site::start(model).await;
    let nothing = rows(&site, json!({ "group_by": "day" })).await;
    assert_eq!(nothing, [Value::Null; 0]);
    let id = site.client.create(site.cwd()).await;
    let agent = site.client.attach(&id).await;
    agent.turn("first").await;
    agent.turn("second").await;
    let run = run_cli(&site.home, &["run", "third"], None).await;
    assert_eq!(run.code(), 0, "{}", run.stderr);

    let by_agent = rows(&site, json!({ "group_by": "agent" })).await;
    assert_eq!(by_agent.len(), 2, "{by_agent:?}");
    assert!(
        word(&by_agent[0]["key"]).starts_with("session-"),
        "{by_agent:?}"
    );
    let of_agent = &by_agent[1];
    assert_eq!(
        (
            &of_agent["key"],
            &of_agent["input"],
            &of_agent["output"],
            &of_agent["calls"]
        ),
        (&json!(id), &json!(300), &json!(12), &json!(2))
    );
    let by_project = rows(&site, json!({ "group_by": "project" })).await;
    assert_eq!(by_project.len(), 1);
    assert_eq!(by_project[0]["key"], json!(site.home.work()));
    assert_eq!(by_project[0]["calls"], 3);
    let old = rows(&site, json!({ "group_by": "model", "until": 1000 })).await;
    assert_eq!(old, [Value::Null; 0]);

    let told = run_cli(&site.home, &["usage", "--by", "model", "--json"], None).await;
    let by_model = rows(&site, json!({ "group_by": "model" })).await;
    assert_eq!(
        serde_json::from_str::<Value>(&told.stdout).unwrap(),
        json!(by_model)
    );
    assert_eq!(by_model[0]["input"], 1300);
    let told = run_cli(&site.home, &["usage", "--since", "1d"], None).await;
    assert_eq!(told.stdout.lines().count(), 2, "{}", told.stdout);
    assert!(told.stdout.starts_with("DAY "), "{}", told.stdout);
    let wrong = run_cli(&site.home, &["usage", "--since", "yesterday"], None).await;
    assert_eq!(wrong.code(), 2, "{}", wrong.stderr);
}
