//! `shard workspace`, as a person uses it.

use serde_json::{Value, json};
use shard_testkit::run_cli;

use crate::{Site, cwd, word};

#[tokio::test]
async fn at_a_terminal_worktrees_are_made_listed_and_removed() {
    let site = Site::start().await;
    let run = async |args: &[&str]| {
        let args = [&["workspace"], args].concat();
        run_cli(&site.home, &args, None).await
    };
    let none = run(&["list"]).await;
    assert_eq!((none.code(), none.stdout.as_str()), (0, ""));
    assert!(none.stderr.contains("no workspaces"), "{}", none.stderr);

    let made = run(&[
        "create",
        "--label",
        "login",
        "--branch",
        "fix/login",
        "--name",
        "ada",
    ])
    .await;
    assert_eq!(made.code(), 0, "{made:?}");
    let agent = made.stdout.trim().to_owned();
    assert_eq!(site.client.agent(&agent).await["name"], "ada");
    assert!(
        made.stderr.contains("branch fix/login in "),
        "{}",
        made.stderr
    );
    let again = run(&["attach", "login", "--json"]).await;
    let again: Value = serde_json::from_str(&again.stdout).unwrap();
    let workspace = &again["workspace"];
    assert_eq!(workspace["agent_count"], 2);

    let listed = run(&["ls"]).await.stdout;
    for part in ["login", "active", "fix/login", "main"] {
        assert!(listed.contains(part), "{part}: {listed}");
    }
    let json: Value = serde_json::from_str(&run(&["list", "--json"]).await.stdout).unwrap();
    assert_eq!(json[0]["workspace_id"], workspace["workspace_id"]);
    let id = word(&workspace["workspace_id"]);
    let status = run(&["status", &id[..id.len() - 1]]).await.stdout;
    assert!(
        status.contains(&agent) && status.contains("state     active"),
        "{status}"
    );

    let live = run(&["retire", "login"]).await;
    assert_eq!(live.code(), 1);
    assert!(live.stderr.contains("stop it first"), "{}", live.stderr);
    site.stop(&agent).await;
    site.stop(word(&again["agent_id"])).await;
    site.sh(cwd(workspace), "git commit -qm work --allow-empty");
    let unproven = run(&["retire", "login"]).await;
    assert_eq!(unproven.code(), 1);
    assert!(
        unproven.stderr.contains("--delete-branch"),
        "{}",
        unproven.stderr
    );
    let both = run(&["retire", "login", "--keep-branch", "--delete-branch"]).await;
    assert_eq!(both.code(), 2);
    let retired = run(&["retire", "login", "--keep-branch"]).await;
    assert!(retired.stdout.contains("state     retired"), "{retired:?}");
    assert_eq!(site.branches(), ["fix/login", "main"]);
    assert_eq!(run(&["list"]).await.stdout, "");
    assert!(run(&["list", "--all"]).await.stdout.contains("retired"));
    let here = site.home.root().to_string_lossy().into_owned();
    for (args, code, said) in [
        (vec!["create", &here], 1, "no repository"),
        (vec!["create", "--base", "nowhere"], 1, "base_ref"),
        (vec!["status", "nobody"], 1, "no workspace \"nobody\""),
        (vec!["attach", "login"], 1, "retired"),
        (vec!["list", &here], 1, "no repository"),
    ] {
        let output = run(&args).await;
        assert_eq!(output.code(), code, "{args:?}: {output:?}");
        assert!(output.stderr.contains(said), "{args:?}: {output:?}");
    }
    assert_eq!(site.list(json!({})).await, [Value::Null; 0]);
    site.daemon.kill9().await;
    assert_eq!(run(&["list"]).await.code(), 3);
}
