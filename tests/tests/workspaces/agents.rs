//! Agents in a workspace: more of them, and what their being there means for it.

use serde_json::{Value, json};
use shard_testkit::{Gate, ScriptedModel, hold, reply, text, tool};

use crate::{Site, cwd, refusal, retirement, word};

#[tokio::test]
async fn another_agent_works_in_the_same_worktree() {
    let site = Site::start().await;
    let first = site.create(json!({})).await;
    let id = &first["workspace"]["workspace_id"];
    let mark = site.client.mark();
    let wish = json!({ "workspace_id": id, "name": "second", "title": "More", "version": 1 });
    let second = site.client.ok("workspace.attach", wish).await;
    let agents = [&first["agent_id"], &second["agent_id"]];
    assert_eq!(second["workspace"]["agent_ids"], json!(agents));
    assert_eq!(second["workspace"]["agent_count"], 2);
    let info = site.client.agent(word(agents[1])).await;
    assert_eq!(
        (&info["cwd"], &info["name"]),
        (&first["workspace"]["cwd"], &json!("second"))
    );
    let told = site.client.wait_for_type(mark, "workspace_attached").await;
    assert_eq!(told["workspace"]["workspace_id"], *id);
    assert_eq!(
        (&told["agent_id"], &told["session_id"]),
        (&second["agent_id"], &second["session_id"])
    );
    let bad = json!({ "workspace_id": id, "model": "mock/none" });
    site.client
        .refused("NOT_FOUND", "workspace.attach", bad)
        .await;
    assert_eq!(site.status(&first["workspace"]).await["agent_count"], 2);
}

#[tokio::test]
async fn the_files_and_commits_of_an_agent_are_in_its_worktree() {
    let commit = tool(
        "bash",
        json!({ "command": "git add new && git commit -qm new && pwd" }),
    );
    let model = ScriptedModel::start([
        reply![tool("write", json!({ "path": "new", "content": "x\n" }))],
        reply![commit],
        reply![text("done")],
    ]);
    let site = Site::with(model, |home| home).await;
    let data = site.create(json!({})).await;
    let made = &data["workspace"];
    let agent = site.client.attach(word(&data["agent_id"])).await;
    let turn = agent.turn("go").await;
    let result = turn.of("tool_result")[1].to_string();
    assert!(result.contains(word(&made["cwd"])), "{result}");
    assert_eq!(
        site.sh(cwd(made), "git show --stat --format=%s | head -1"),
        "new"
    );
    assert!(!site.home.has("new"));
    assert_eq!(site.home.git(&["rev-list", "--count", "main"]), "1");
}

#[tokio::test]
async fn a_worktree_in_which_somebody_is_at_work_stays() {
    let gate = Gate::new();
    let model = ScriptedModel::start([reply![text("half"), hold(&gate), text("rest")]]);
    let site = Site::with(model, |home| home).await;
    let data = site.create(json!({})).await;
    let made = &data["workspace"];
    let agent = site.client.attach(word(&data["agent_id"])).await;
    let mark = agent.mark();
    agent.ok("prompt", json!({ "message": "go" })).await;
    let half = |m: &Value| m["type"] == "message_delta";
    site.client.wait_for(mark, "the first half", half).await;
    let (kind, reason) = site.kept(made, Some("delete_confirmed")).await;
    assert_eq!(kind, "busy");
    assert!(reason.contains(&agent.id), "{reason}");
    gate.open();
    agent.wait_for_type(mark, "turn_end").await;
    let idle = |m: &Value| m["type"] == "status" && m["status"] == "idle";
    site.client.wait_for(mark, "that it is idle", idle).await;
    let (kind, reason) = site.kept(made, None).await;
    assert_eq!(kind, "live");
    assert!(reason.contains(&agent.id), "{reason}");
    site.stop(&agent.id).await;
    assert_eq!(site.retire(made, None).await["lifecycle"], "retired");
}

#[tokio::test]
async fn whoever_was_sent_there_otherwise_counts_as_well() {
    let site = Site::start().await;
    site.home.write("docs/a", "x");
    site.home.git(&["add", "."]);
    site.home.git(&["commit", "--quiet", "-m", "docs"]);
    let made = site.at_rest(json!({})).await;
    let wish = json!({ "cwd": cwd(&made).join("docs") });
    let guest = site.client.create(wish).await;
    assert_eq!(site.status(&made).await["agent_count"], 2);
    assert_eq!(site.kept(&made, None).await.0, "live");
    site.stop(&guest).await;
    site.retire(&made, None).await;
    // Neither it nor the first one runs anywhere else now.
    for agent in [&guest, word(&made["agent_ids"][0])] {
        let error = site
            .client
            .err("agent.attach", json!({ "agent_id": agent }))
            .await;
        let (kind, reason) = refusal(&error);
        assert_eq!(kind, "unsafe", "{reason}");
        assert!(reason.contains("retired"), "{reason}");
        assert_eq!(site.daemon.agent_pid(agent), None);
    }
    let again = json!({ "workspace_id": made["workspace_id"] });
    let error = site.client.err("workspace.attach", again).await;
    assert_eq!(refusal(&error).0, "unsafe");
}

#[tokio::test]
async fn while_it_is_removed_nobody_else_is_let_in() {
    let site = Site::start().await;
    let made = site.at_rest(json!({})).await;
    let attach = json!({ "workspace_id": made["workspace_id"] });
    let (retired, attached) = tokio::join!(
        site.client
            .request("workspace.retire", retirement(&made, None)),
        site.client.request("workspace.attach", attach)
    );
    let done = [retired["success"] == true, attached["success"] == true];
    assert_ne!(done[0], done[1], "{retired} {attached}");
    assert_eq!(cwd(&made).exists(), done[1]);
}
