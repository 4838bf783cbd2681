//! What agents know, as the daemon lists it and as `agent.create` restricts it.

use serde_json::{Value, json};
use shard_testkit::{Home, ScriptedModel, reply, text};

use crate::Site;

fn skill(home: &Home, name: &str) {
    let folder = home.shard_home().join("skills").join(name);
    std::fs::create_dir_all(&folder).unwrap();
    let front = format!("---\nname: {name}\ndescription: About {name}.\nlicense: MIT\n---\n");
    std::fs::write(folder.join("SKILL.md"), front).unwrap();
}

/// The kind, the name and whether it counts.
fn short(listed: &Value) -> Vec<(String, String, bool)> {
    let resources = listed["resources"].as_array().unwrap().iter();
    let word = |value: &Value| value.as_str().unwrap().to_owned();
    resources
        .map(|one| {
            (
                word(&one["kind"]),
                word(&one["name"]),
                one["active"] == true,
            )
        })
        .collect()
}

fn found(kind: &str, name: &str, active: bool) -> (String, String, bool) {
    (kind.to_owned(), name.to_owned(), active)
}

#[tokio::test]
async fn everything_is_listed_for_a_folder_with_the_reason_why_it_does_not_count() {
    let site = Site::start(ScriptedModel::silent()).await;
    skill(&site.home, "pdf");
    let file = site.home.write("AGENTS.md", "x");
    site.home.write(".shard/agents/helper.md", "x");
    let listed = site.client.ok("resources.list", site.cwd()).await;
    assert_eq!(
        short(&listed),
        [
            found("context", "AGENTS.md", false),
            found("skill", "pdf", true),
            found("agent", "helper.md", false),
            found("rules", "config.json", true),
        ]
    );
    let context = json!({
        "kind": "context", "name": "AGENTS.md", "path": file, "layer": "project", "active": false,
        "diagnostics": ["not read, as the project is not trusted; --trust-project reads it"],
    });
    assert_eq!(listed["resources"][0], context);
    let pdf = json!({
        "kind": "skill", "name": "pdf", "layer": "user", "active": true,
        "path": site.home.shard_home().join("skills/pdf/SKILL.md"),
        "description": "About pdf.", "details": {"license": "MIT"},
    });
    assert_eq!(listed["resources"][1], pdf);
}

#[tokio::test]
async fn an_agents_skills_and_tools_are_those_it_was_made_with() {
    let model = ScriptedModel::answering(|_| reply![text("ok")]);
    let site = Site::start(model).await;
    skill(&site.home, "one");
    skill(&site.home, "two");
    let mut wish = site.cwd();
    wish["skills"] = json!(["three"]);
    let refused = site
        .client
        .refused("NOT_FOUND", "agent.create", wish.clone())
        .await;
    assert!(refused.contains("there are: one, two"), "{refused}");
    assert_eq!(site.client.agents().await, Vec::<Value>::new());
    wish["skills"] = json!(["two"]);
    wish["tools"] = json!(["load_skill", "read"]);
    let id = site.client.create(wish).await;
    for turn in 0..2 {
        site.client.attach(&id).await.turn("go").await;
        let request = site.model.request(turn).await;
        let system = request.system();
        assert!(
            system.contains("two: About two.") && !system.contains("one: About"),
            "{system}"
        );
        let mut tools = request.tools();
        tools.sort_unstable();
        assert_eq!(tools, ["load_skill", "read"]);
        // Another process is no other agent.
        site.client
            .ok("agent.terminate", json!({"agent_id": id}))
            .await;
    }
    let listed = site
        .client
        .ok("resources.list", json!({"agent_id": id}))
        .await;
    assert_eq!(
        short(&listed)[..2],
        [found("skill", "one", false), found("skill", "two", true)]
    );
}

#[tokio::test]
async fn a_list_needs_an_agent_or_a_folder_that_are_there() {
    let site = Site::start(ScriptedModel::silent()).await;
    let nobody = json!({"agent_id": "agent-nope"});
    site.client
        .refused("NOT_FOUND", "resources.list", nobody)
        .await;
    for fields in [
        json!({}),
        json!({"cwd": "work"}),
        json!({"cwd": site.home.root().join("nowhere")}),
    ] {
        site.client
            .refused("INVALID_REQUEST", "resources.list", fields)
            .await;
    }
    let pipe = site.home.work().join("AGENTS.md");
    rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, rustix::fs::Mode::RWXU).unwrap();
    let listed = site.client.ok("resources.list", site.cwd()).await;
    assert_eq!(
        short(&listed)[0],
        found("context", "AGENTS.md", false),
        "and nobody waits for a pipe"
    );
}
