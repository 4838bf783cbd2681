//! Worktrees that are gone, or are something else now.

use serde_json::json;
use shard_testkit::{ScriptedModel, reply, text, tool};

use crate::{Site, cwd, refusal, word};

#[tokio::test]
async fn a_worktree_that_is_gone_is_told_and_can_be_made_again() {
    let model = ScriptedModel::start([
        reply![tool("bash", json!({ "command": "pwd; touch here" }))],
        reply![text("done")],
    ]);
    let site = Site::with(model, |home| home).await;
    let made = site.at_rest(json!({ "branch": "work" })).await;
    let agent = word(&made["agent_ids"][0]);
    site.sh(cwd(&made), "git commit -qm mine --allow-empty");
    std::fs::remove_dir_all(cwd(&made)).unwrap();

    let mark = site.client.mark();
    let found = site.status(&made).await;
    assert_eq!(found["lifecycle"], "conflict");
    let way_out = word(&found["conflict"]);
    assert!(
        way_out.contains("is gone") && way_out.contains("workspace.create"),
        "{way_out}"
    );
    let told = site.client.wait_for_type(mark, "workspace_conflict").await;
    assert_eq!(told["reason"], found["conflict"]);
    assert_eq!(site.list(json!({})).await[0]["lifecycle"], "conflict");

    let id = json!({ "workspace_id": made["workspace_id"] });
    let (kind, reason) = refusal(&site.client.err("workspace.attach", id).await);
    assert_eq!((kind.as_str(), reason.as_str()), ("unsafe", way_out));
    let id = json!({ "agent_id": agent });
    let (kind, reason) = refusal(&site.client.err("agent.attach", id).await);
    assert_eq!((kind.as_str(), reason.as_str()), ("unsafe", way_out));
    assert_eq!(site.client.agent(agent).await["runtime_state"], "stopped");

    let wish = site.wish(&json!({ "branch": "work", "base_ref": "main" }));
    site.client
        .refused("INVALID_REQUEST", "workspace.create", wish)
        .await;
    let again = site.create(json!({ "branch": "work" })).await;
    assert_eq!(again["workspace"]["workspace_id"], made["workspace_id"]);
    assert_eq!(again["workspace"]["cwd"], made["cwd"]);
    assert_eq!(again["workspace"]["lifecycle"], "active");
    assert_eq!(site.sh(cwd(&made), "git log -1 --format=%s"), "mine");
    // The first agent goes on in it.
    let attached = site.client.attach(agent).await;
    let turn = attached.turn("go").await;
    let result = turn.of("tool_result")[0].to_string();
    assert!(result.contains(word(&made["cwd"])), "{result}");
    assert!(cwd(&made).join("here").exists() && !site.home.has("here"));
    let taken = site.wish(&json!({ "branch": "work" }));
    let told = site
        .client
        .refused("CONFLICT", "workspace.create", taken)
        .await;
    assert!(told.contains("attach to that"), "{told}");
}

#[tokio::test]
async fn an_agent_that_is_attached_when_its_worktree_goes_does_not_work_elsewhere() {
    let site = Site::start().await;
    let data = site.create(json!({})).await;
    let agent = site.client.attach(word(&data["agent_id"])).await;
    let folder = cwd(&data["workspace"]);
    std::fs::remove_dir_all(folder).unwrap();
    for (when, runs) in [
        ("running", true),
        ("stopped", false),
        ("an empty folder", false),
    ] {
        match when {
            "stopped" => site.stop(&agent.id).await,
            "an empty folder" => std::fs::create_dir(folder).unwrap(),
            _ => {}
        }
        let wish = json!({ "agent_id": agent.id, "message": "go" });
        let (kind, reason) = refusal(&site.client.err("prompt", wish).await);
        assert_eq!(kind, "unsafe", "{when}");
        assert!(reason.contains("is gone"), "{when}: {reason}");
        assert_eq!(site.daemon.agent_pid(&agent.id).is_some(), runs, "{when}");
    }
}

#[tokio::test]
async fn an_agent_without_its_folder_does_not_start() {
    let site = Site::start().await;
    let folder = site.home.root().join("plain");
    std::fs::create_dir(&folder).unwrap();
    let id = site.client.create(json!({ "cwd": folder })).await;
    site.stop(&id).await;
    std::fs::remove_dir(&folder).unwrap();
    let wish = json!({ "agent_id": id });
    let told = site
        .client
        .refused("RUNTIME_START_FAILED", "agent.attach", wish)
        .await;
    assert!(told.contains("plain"), "{told}");
}

#[tokio::test]
async fn a_worktree_that_is_gone_can_be_given_up() {
    let site = Site::start().await;
    for prune in ["true", "git worktree prune"] {
        let made = site.at_rest(json!({ "branch": "work" })).await;
        site.sh(cwd(&made), "git commit -qm mine --allow-empty");
        std::fs::remove_dir_all(cwd(&made)).unwrap();
        site.sh(&site.home.work(), prune);
        assert_eq!(site.kept(&made, None).await.0, "confirmation_required");
        assert_eq!(
            site.retire(&made, Some("delete_confirmed")).await["lifecycle"],
            "retired"
        );
        assert_eq!(site.branches(), ["main"]);
        assert_eq!(site.worktrees(), [""; 0]);
    }
    // Commits that only its own HEAD has are not lost with it.
    let made = site.at_rest(json!({ "branch": "work" })).await;
    site.sh(
        cwd(&made),
        "git checkout -q --detach; git commit -qm mine --allow-empty",
    );
    std::fs::remove_dir_all(cwd(&made)).unwrap();
    let (kind, reason) = site.kept(&made, Some("delete_confirmed")).await;
    assert_eq!(kind, "dirty");
    assert!(reason.contains("on no branch"), "{reason}");
    let wish = site.wish(&json!({ "branch": "work" }));
    let error = site.client.err("workspace.create", wish).await;
    assert_eq!(refusal(&error).0, "dirty");
    // Neither is what was staged, until a person gives it up.
    let made = site.at_rest(json!({ "branch": "staged" })).await;
    site.sh(cwd(&made), "echo x > a; git add a");
    std::fs::remove_dir_all(cwd(&made)).unwrap();
    let (kind, reason) = site.kept(&made, Some("keep")).await;
    assert_eq!(kind, "dirty");
    assert!(
        reason.contains("staged") && reason.contains("files: 1"),
        "{reason}"
    );
    let wish = site.wish(&json!({ "branch": "staged" }));
    let error = site.client.err("workspace.create", wish).await;
    assert_eq!(refusal(&error).0, "dirty");
    site.home.git(&["worktree", "prune"]);
    site.retire(&made, None).await;
}

#[tokio::test]
async fn what_is_not_ours_any_more_is_not_touched() {
    let site = Site::start().await;
    let elsewhere = site.home.root().join("elsewhere");
    for (how, kind) in [
        // A folder of somebody's.
        (
            "rm -rf $W; mkdir $W; echo precious > $W/file",
            "missing_authority",
        ),
        (
            "echo precious > $W/file; git worktree prune; rm -rf .git/worktrees",
            "missing_authority",
        ),
        (
            "git worktree move $W $E; mkdir $W; echo precious > $W/file",
            "missing_authority",
        ),
        (
            "rm $W/.git; git init -q $W; echo precious > $W/file",
            "missing_authority",
        ),
        (
            "mkdir $E; echo precious > $E/file; rm -rf $W; ln -s $E $W",
            "unsafe",
        ),
        (
            "rm $W/.git; mkfifo $W/.git; echo precious > $W/file",
            "missing_authority",
        ),
        (
            "git init -q $E; echo precious > $W/file; \
             echo $E/.git > .git/worktrees/$(basename $W)/commondir",
            "missing_authority",
        ),
        ("mv .git .elsewhere; echo precious > $W/file", "unsafe"),
    ] {
        let made = site.at_rest(json!({ "branch": "work" })).await;
        let script = format!("W={:?}; E={elsewhere:?}; {how}", cwd(&made));
        site.sh(&site.home.work(), &script);
        for disposition in [None, Some("keep"), Some("delete_confirmed")] {
            assert_eq!(site.kept(&made, disposition).await.0, kind, "{how}");
        }
        assert_eq!(site.status(&made).await["lifecycle"], "conflict", "{how}");
        let wish = json!({ "agent_id": made["agent_ids"][0] });
        assert_eq!(
            refusal(&site.client.err("agent.attach", wish).await).0,
            kind,
            "{how}"
        );
        let precious = std::fs::read_to_string(cwd(&made).join("file")).unwrap();
        assert_eq!(precious, "precious\n", "{how}");
        // Once a person has cleared the place, it can be given up.
        let script = format!(
            "[ ! -e .elsewhere ] || mv .elsewhere .git; rm -rf {:?} {elsewhere:?}; \
             git worktree prune",
            cwd(&made)
        );
        site.sh(&site.home.work(), &script);
        site.retire(&made, None).await;
        assert_eq!(site.branches(), ["main"], "{how}");
    }
    // Without the repository nothing is left to lose.
    let made = site.at_rest(json!({})).await;
    std::fs::remove_dir_all(cwd(&made)).unwrap();
    std::fs::rename(site.home.work(), site.home.root().join("moved")).unwrap();
    assert_eq!(site.retire(&made, None).await["lifecycle"], "retired");
}

#[tokio::test]
async fn a_worktree_that_a_person_moved_stays_where_it_is() {
    let site = Site::start().await;
    let elsewhere = site.home.root().join("elsewhere");
    let made = site.at_rest(json!({ "branch": "work" })).await;
    let (there, back) = (cwd(&made).to_string_lossy(), elsewhere.to_string_lossy());
    site.home.git(&["worktree", "move", &there, &back]);
    for disposition in [None, Some("keep"), Some("delete_confirmed")] {
        let (kind, reason) = site.kept(&made, disposition).await;
        assert_eq!(kind, "missing_authority");
        assert!(reason.contains("git worktree move"), "{reason}");
    }
    let wish = json!({ "agent_id": made["agent_ids"][0] });
    let error = site.client.err("agent.attach", wish).await;
    assert_eq!(refusal(&error).0, "missing_authority");
    let wish = site.wish(&json!({ "branch": "work" }));
    site.client
        .refused("CONFLICT", "workspace.create", wish)
        .await;
    assert_eq!(site.sh(&elsewhere, "git status --porcelain -b"), "## work");
    site.home.git(&["worktree", "move", &back, &there]);
    site.retire(&made, None).await;
    assert_eq!(site.branches(), ["main"]);
}
