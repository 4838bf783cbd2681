//! Several wishes at once, and the same one again.

use std::collections::BTreeSet;

use futures_util::future::join_all;
use serde_json::{Value, json};

use crate::{Site, word};

#[tokio::test]
async fn of_eight_at_once_only_the_one_whose_name_is_taken_fails() {
    let site = Site::start().await;
    site.home.git(&["branch", "taken"]);
    let names = ["a", "b", "c", "taken", "d/e", "f", "g", "h"];
    let wishes = names.map(|name| site.wish(&json!({ "branch": name })));
    let answers = wishes.map(|wish| site.client.request("workspace.create", wish));
    let answers = join_all(answers).await;
    let (made, refused): (Vec<_>, Vec<_>) =
        answers.into_iter().partition(|it| it["success"] == true);
    assert_eq!((made.len(), refused.len()), (7, 1), "{refused:?}");
    assert_eq!(refused[0]["error"]["code"], "CONFLICT");
    assert!(refused[0].to_string().contains("taken"), "{refused:?}");
    let folders: BTreeSet<_> = made
        .iter()
        .map(|it| word(&it["data"]["workspace"]["cwd"]).to_owned())
        .collect();
    let listed: BTreeSet<_> = site.worktrees().into_iter().collect();
    assert_eq!(listed, folders);
    let branches: BTreeSet<_> = site.branches().into_iter().collect();
    let wanted: BTreeSet<_> = names
        .iter()
        .chain(&["main"])
        .map(|it| it.to_string())
        .collect();
    assert_eq!(branches, wanted);
    assert_eq!(site.left().1, 7);
    assert_eq!(site.client.agents().await.len(), 7);
}

#[tokio::test]
async fn of_two_with_the_same_name_one_is_made() {
    let site = Site::start().await;
    let wish = site.wish(&json!({ "branch": "x" }));
    let answers = tokio::join!(
        site.client.request("workspace.create", wish.clone()),
        site.client.request("workspace.create", wish)
    );
    let made = [answers.0, answers.1].map(|it| it["success"] == true);
    assert_ne!(made[0], made[1]);
    assert_eq!(site.worktrees().len(), 1);
}

#[tokio::test]
async fn the_same_key_makes_one_workspace_and_one_agent_also_after_a_restart() {
    let mut site = Site::start().await;
    let other = site.daemon.connect().await;
    let wish = site.wish(&json!({ "request_key": "k1" }));
    let both = tokio::join!(
        site.client.ok("workspace.create", wish.clone()),
        other.ok("workspace.create", wish.clone())
    );
    let repeats = [&both.0, &both.1].map(|data| data["duplicate"] == true);
    assert_ne!(repeats[0], repeats[1], "{both:?}");
    let ids = |data: &Value| {
        let workspace = &data["workspace"]["workspace_id"];
        [workspace, &data["agent_id"], &data["session_id"]].map(Value::clone)
    };
    assert_eq!(ids(&both.0), ids(&both.1));
    let workspace_id = both.0["workspace"]["workspace_id"].clone();
    let again = json!({ "workspace_id": workspace_id, "request_key": "k2" });
    let second = site.client.ok("workspace.attach", again.clone()).await;
    assert_ne!(second["agent_id"], both.0["agent_id"]);

    site.daemon.kill9().await;
    site.start_again().await;
    let repeat = site.client.ok("workspace.create", wish.clone()).await;
    assert_eq!(
        (ids(&repeat), &repeat["duplicate"]),
        (ids(&both.0), &json!(true))
    );
    let repeat = site.client.ok("workspace.attach", again.clone()).await;
    assert_eq!(
        (ids(&repeat), &repeat["duplicate"]),
        (ids(&second), &json!(true))
    );
    assert_eq!(site.worktrees().len(), 1);
    assert_eq!(site.client.agents().await.len(), 2);

    for (kind, mut changed, field) in [
        ("workspace.create", wish.clone(), "label"),
        ("workspace.attach", again.clone(), "name"),
    ] {
        changed[field] = json!("another");
        site.client.refused("CONFLICT", kind, changed).await;
    }
    // A key is one for all commands.
    let agent = json!({ "cwd": site.home.work(), "request_key": "k1" });
    site.client.refused("CONFLICT", "agent.create", agent).await;
    let mut bad = wish;
    bad["request_key"] = json!("a b");
    site.client
        .refused("INVALID_REQUEST", "workspace.create", bad)
        .await;
}
