//! `workspace.create`: what it makes, and what it refuses.

use serde_json::{Value, json};
use shard_testkit::{ScriptedModel, reply, text};

use crate::{Site, cwd, word};

#[tokio::test]
async fn a_workspace_has_a_branch_a_worktree_and_an_agent_in_it() {
    let site = Site::start().await;
    let mark = site.client.mark();
    let data = site.create(json!({ "version": 1 })).await;
    let made = &data["workspace"];
    let (id, agent_id) = (word(&made["workspace_id"]), word(&data["agent_id"]));
    let folder = site.home.shard_home().join("worktrees").join(id);
    assert_eq!(cwd(made), folder);
    assert!(cwd(made).join("README.md").exists());
    let branch = word(&made["branch"]);
    assert!(branch.starts_with("shard/"), "{branch}");
    assert_eq!(site.branches(), ["main", branch]);
    assert_eq!(site.worktrees(), [word(&made["cwd"])]);
    let on = site.sh(
        &folder,
        "git symbolic-ref --short HEAD; git status --porcelain",
    );
    assert_eq!(on, branch);
    for (field, value) in [
        ("repository_cwd", json!(site.home.work())),
        ("ownership", json!("managed")),
        ("lifecycle", json!("active")),
        ("base_ref", json!("main")),
        ("integration_target", json!("main")),
        ("agent_count", json!(1)),
        ("agent_ids", json!([agent_id])),
        ("conflict", Value::Null),
        ("retired_at", Value::Null),
    ] {
        assert_eq!(made[field], value, "{field}");
    }
    assert!(made["created_at"].as_u64() <= made["updated_at"].as_u64());
    assert_ne!(made["repository_fingerprint"], made["worktree_fingerprint"]);
    let agent = site.client.agent(agent_id).await;
    assert_eq!(agent["cwd"], made["cwd"]);
    assert_eq!(agent["session_id"], data["session_id"]);
    assert_eq!(agent["runtime_state"], "running");
    let told = site.client.wait_for_type(mark, "workspace_created").await;
    assert_eq!(told["workspace"]["workspace_id"], id);
    assert!(told["workspace"].get("agent_ids").is_none(), "{told}");
    site.client.wait_for_type(mark, "agent_spawned").await;

    // No path but these two goes over the wire.
    let mut rest = made.clone();
    for field in ["cwd", "repository_cwd"] {
        rest[field] = Value::Null;
    }
    let root = site.home.root().to_string_lossy().into_owned();
    assert!(!rest.to_string().contains(&root), "{rest}");
    assert_eq!(site.status(made).await, *made);
    let listed = site.list(json!({})).await;
    assert!(listed[0].get("agent_ids").is_none(), "{listed:?}");
    assert_eq!(listed[0]["agent_count"], 1);
}

#[tokio::test]
async fn all_that_is_asked_for_is_so() {
    let model = ScriptedModel::start([reply![text("done")]]);
    let site = Site::with(model, |home| home).await;
    let first = site.home.git(&["rev-parse", "HEAD"]);
    site.home.git(&["branch", "stable"]);
    site.home.git(&["tag", "v1"]);
    site.home
        .git(&["commit", "--quiet", "--allow-empty", "-m", "later"]);
    let data = site
        .create(json!({
            "label": " the login page ", "branch": "fix/größe/ä b".replace(' ', "-"), "base_ref": "v1",
            "integration_target": "stable", "title": "Login", "name": "ada", "model": "m2",
            "provider": "mock", "mode": "plan",
        }))
        .await;
    let made = &data["workspace"];
    assert_eq!(made["label"], "the login page");
    assert_eq!(made["branch"], "fix/größe/ä-b");
    assert_eq!(
        (&made["base_ref"], &made["integration_target"]),
        (&json!("v1"), &json!("stable"))
    );
    assert_eq!(site.sh(cwd(made), "git rev-parse HEAD"), first);
    let agent = site.client.agent(word(&data["agent_id"])).await;
    assert_eq!(
        [
            &agent["name"],
            &agent["model"],
            &agent["provider"],
            &agent["mode"]
        ],
        ["ada", "m2", "mock", "plan"]
    );
    let attached = site.client.attach(word(&data["agent_id"])).await;
    attached.turn("Something else").await;
    let sessions = site.client.ok("session.list", json!({})).await;
    assert_eq!(sessions["sessions"][0]["title"], "Login");

    // A base that is a branch is where the work goes, unless something else is said.
    let data = site.create(json!({ "base_ref": "stable" })).await;
    assert_eq!(data["workspace"]["integration_target"], "stable");
    // A detached commit is no branch.
    site.home.git(&["checkout", "--quiet", "--detach", "v1"]);
    let data = site.create(json!({})).await;
    assert_eq!(data["workspace"]["base_ref"], *first);
    assert!(data["workspace"].get("integration_target").is_none());
}

/// A field, a value that it cannot have, the code, and words of the message.
const REFUSED: [(&str, &str, &str, &str); 20] = [
    ("cwd", "work", "INVALID_REQUEST", "absolute"),
    ("label", "a\nb", "INVALID_REQUEST", "`label`"),
    ("name", "", "INVALID_REQUEST", "`name`"),
    ("provider", "mock", "INVALID_REQUEST", "`model`"),
    ("branch", "main", "CONFLICT", "a branch \"main\" already"),
    ("branch", "main/x", "CONFLICT", "main"),
    ("branch", "a b", "INVALID_REQUEST", "`branch`"),
    ("branch", "-f", "INVALID_REQUEST", "`branch`"),
    ("branch", "", "INVALID_REQUEST", "`branch`"),
    ("branch", "@{-1}", "INVALID_REQUEST", "`branch`"),
    ("branch", "HEAD", "INVALID_REQUEST", "`branch`"),
    ("branch", "a..b", "INVALID_REQUEST", "`branch`"),
    ("base_ref", "nowhere", "INVALID_REQUEST", "`base_ref`"),
    ("base_ref", "--all", "INVALID_REQUEST", "`base_ref`"),
    ("base_ref", "", "INVALID_REQUEST", "`base_ref`"),
    (
        "base_ref",
        "HEAD:README.md",
        "INVALID_REQUEST",
        "`base_ref`",
    ),
    (
        "integration_target",
        "v1",
        "INVALID_REQUEST",
        "`integration_target`",
    ),
    (
        "integration_target",
        "nowhere",
        "INVALID_REQUEST",
        "`integration_target`",
    ),
    ("model", "mock/none", "NOT_FOUND", "none"),
    ("mode", "dreaming", "NOT_FOUND", "dreaming"),
];

#[tokio::test]
async fn what_cannot_be_made_is_refused_and_leaves_nothing() {
    let site = Site::start().await;
    site.home.git(&["tag", "v1"]);
    let bare = site.home.root().join("empty");
    std::fs::create_dir(&bare).unwrap();
    let unborn = site.home.root().join("unborn");
    site.sh(site.home.root(), "git init -q unborn");
    let mut cases = REFUSED
        .map(|(field, value, code, why)| (field, json!(value), code, why))
        .to_vec();
    cases.extend([
        ("cwd", json!(bare), "INVALID_REQUEST", "git init"),
        ("cwd", json!(unborn), "INVALID_REQUEST", "no commit yet"),
        (
            "cwd",
            json!(site.home.root().join("no")),
            "INVALID_REQUEST",
            "existing folder",
        ),
        ("version", json!(2), "INVALID_REQUEST", "version"),
        (
            "title",
            json!("x".repeat(101)),
            "INVALID_REQUEST",
            "`title`",
        ),
    ]);
    for (field, value, code, why) in cases {
        let wish = site.wish(&json!({ field: value }));
        let told = site.client.refused(code, "workspace.create", wish).await;
        assert!(told.contains(why), "{field} {value}: {told}");
        site.assert_nothing_is_left(&format!("{field} {value}"));
    }
    assert_eq!(site.client.agents().await, [Value::Null; 0]);
    assert_eq!(
        site.list(json!({ "include_retired": true })).await,
        [Value::Null; 0]
    );
    for kind in ["workspace.status", "workspace.attach", "workspace.retire"] {
        let nobody = json!({ "workspace_id": "ws-none" });
        site.client.refused("NOT_FOUND", kind, nobody).await;
    }
}

#[tokio::test]
async fn an_agent_that_does_not_start_is_kept_with_its_workspace_and_tried_again() {
    let site = Site::start().await;
    let good = std::fs::read_to_string(site.home.config_path()).unwrap();
    site.home.write_config("{ broken");
    let wish = site.wish(&json!({ "request_key": "k" }));
    let error = site.client.err("workspace.create", wish.clone()).await;
    assert_eq!(error["code"], "RUNTIME_START_FAILED", "{error}");
    let kept = site.list(json!({})).await;
    assert_eq!(error["data"]["workspace_id"], kept[0]["workspace_id"]);
    site.home.write_config(&good);
    let data = site.client.ok("workspace.create", wish).await;
    assert_eq!(data["agent_id"], error["data"]["agent_id"]);
    assert_eq!(site.list(json!({})).await.len(), 1);
}

#[tokio::test]
async fn without_a_git_that_is_new_enough_it_says_so() {
    let tools = tempfile::tempdir().unwrap();
    let git = tools.path().join("git");
    let real = crate::killed::real_git();
    std::os::unix::fs::symlink(real, &git).unwrap();
    let path = tools.path().to_string_lossy().into_owned();
    let site = Site::with(ScriptedModel::silent(), |home| home.env("PATH", &path)).await;
    std::fs::remove_file(&git).unwrap();
    let told = site
        .client
        .refused("INTERNAL_ERROR", "workspace.create", site.wish(&json!({})))
        .await;
    assert!(told.contains("install it"), "{told}");
    crate::killed::write_program(&git, "#!/bin/sh\necho git version 2.20.1\n");
    let told = site
        .client
        .refused("INTERNAL_ERROR", "workspace.create", site.wish(&json!({})))
        .await;
    assert!(told.contains("2.20.1") && told.contains("2.36"), "{told}");
}
