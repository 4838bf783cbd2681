//! `workspace.retire`: only what is nowhere else stays.

use serde_json::{Value, json};

use crate::{Site, cwd, word};

/// What is done in a worktree, what undoes it, the kind of the refusal, and words of its reason.
const HELD: [(&str, &str, &str, &str); 18] = [
    (
        "echo x >> README.md",
        "git checkout -q README.md",
        "dirty",
        "1 changed): README.md",
    ),
    (
        "echo x > a; git add a",
        "git rm -qf a",
        "dirty",
        "1 changed): a",
    ),
    (
        "rm README.md",
        "git checkout -q README.md",
        "dirty",
        "1 changed",
    ),
    (
        "mkdir u; echo x > u/a",
        "rm -r u",
        "dirty",
        "1 untracked): u/",
    ),
    ("echo KEY=1 > .env", "rm .env", "dirty", "1 ignored): .env"),
    (
        "git checkout -q --detach; git commit -qm loose --allow-empty",
        "git checkout -q -",
        "dirty",
        "is on no branch",
    ),
    (
        "git commit -qm x --allow-empty; GIT_SEQUENCE_EDITOR='sed -i 1ibreak' git rebase -qi HEAD~1",
        "git rebase --abort; git reset -q --hard HEAD~1",
        "dirty",
        "a rebase is under way",
    ),
    (
        "git branch side main; git checkout -q side; git commit -qm s --allow-empty; git checkout -q -; \
         git merge -q --no-ff --no-commit side",
        "git merge --abort; git branch -qD side",
        "dirty",
        "a merge is under way",
    ),
    (
        "git bisect start -q",
        "git bisect reset 2> /dev/null",
        "dirty",
        "a bisection is under way",
    ),
    (
        "git worktree lock --reason 'on a stick' .",
        "git worktree unlock .",
        "unsafe",
        "locked (on a stick)",
    ),
    (
        "git init -q docs",
        "rm -rf docs/.git",
        "dirty",
        "repository of its own in \"docs\"",
    ),
    (
        "git update-index --assume-unchanged README.md; echo x >> README.md",
        "git update-index --no-assume-unchanged README.md; git checkout -q README.md",
        "dirty",
        "not to look at \"README.md\"",
    ),
    (
        "git update-index --skip-worktree README.md; echo x >> README.md",
        "git update-index --no-skip-worktree README.md; git checkout -q README.md",
        "dirty",
        "not to look at \"README.md\"",
    ),
    (
        "echo x > lib/a",
        "rm lib/a",
        "dirty",
        "\"lib\", the place of a submodule",
    ),
    (
        "git config core.ignoreCase true; echo x > readme.md",
        "git config --unset core.ignoreCase; rm readme.md",
        "dirty",
        "1 untracked): readme.md",
    ),
    (
        "touch -d @1700000000 README.md; git update-index -q --refresh; git config core.checkStat minimal; \
         git config core.trustctime false; tr a-z A-Z < README.md > ../up; mv ../up README.md; \
         touch -d @1700000000 README.md; git diff --quiet",
        "git config --unset core.checkStat; git config --unset core.trustctime; git checkout -q README.md",
        "dirty",
        "1 changed): README.md",
    ),
    (
        "git update-ref refs/worktree/mine HEAD",
        "git update-ref -d refs/worktree/mine",
        "dirty",
        "refs/worktree/mine",
    ),
    (
        "git worktree add -qf ../elsewhere HEAD; git -C ../elsewhere checkout -q --ignore-other-worktrees work/x",
        "git worktree remove ../elsewhere",
        "unsafe",
        "checked out in another worktree",
    ),
];

#[tokio::test]
async fn what_is_nowhere_else_stays_and_is_named() {
    let site = Site::start().await;
    site.home.write("docs/a", "x\n");
    site.home.write(".gitignore", ".env\n");
    site.home.git(&["add", "."]);
    site.sh(
        &site.home.work(),
        "git update-index --add --cacheinfo 160000,$(git rev-parse HEAD),lib",
    );
    site.home.git(&["commit", "--quiet", "-m", "docs"]);
    let made = site.at_rest(json!({ "branch": "work/x" })).await;
    for (how, back, kind, words) in HELD {
        site.sh(cwd(&made), how);
        for disposition in [None, Some("keep"), Some("delete_confirmed")] {
            if words.contains("another worktree") && disposition == Some("keep") {
                continue;
            }
            let (refused, reason) = site.kept(&made, disposition).await;
            assert_eq!(refused, kind, "{how}: {reason}");
            assert!(reason.contains(words), "{how}: {reason}");
        }
        let root = site.home.root().to_string_lossy().into_owned();
        assert!(!site.kept(&made, None).await.1.contains(&root), "{how}");
        site.sh(cwd(&made), back);
        assert_eq!(
            site.sh(cwd(&made), "git symbolic-ref --short HEAD"),
            "work/x",
            "{back}"
        );
    }
    site.sh(cwd(&made), "echo x >> README.md; git stash -q");
    let retired = site.retire(&made, None).await;
    assert!(!cwd(&made).exists());
    assert_eq!(site.branches(), ["main"]);
    assert_eq!(
        site.home.git(&["stash", "list"]).lines().count(),
        1,
        "a stash belongs to all"
    );
    assert_eq!(retired["lifecycle"], "retired");
}

#[tokio::test]
async fn a_branch_goes_when_its_work_has_arrived_or_a_person_says_so() {
    let site = Site::start().await;
    let commit = "git commit -qm work --allow-empty";
    let made = site.at_rest(json!({ "branch": "work" })).await;
    site.sh(cwd(&made), commit);
    let wish = crate::retirement(&made, None);
    let error = site.client.err("workspace.retire", wish).await;
    assert_eq!(error["data"]["kind"], "confirmation_required", "{error}");
    assert_eq!(
        error["data"]["confirmation_disposition"],
        "delete_confirmed"
    );
    assert_eq!(error["data"]["workspace_id"], made["workspace_id"]);
    let reason = word(&error["data"]["reason"]);
    assert_eq!(reason, "1 commit on \"work\" has not arrived in \"main\"");
    assert!(cwd(&made).exists(), "nothing is removed by halves");
    site.sh(cwd(&made), commit);
    let (_, reason) = site.kept(&made, Some("delete_if_merged")).await;
    assert!(reason.starts_with("2 commits"), "{reason}");
    site.home.git(&["merge", "--quiet", "work"]);
    let mark = site.client.mark();
    let retired = site.retire(&made, None).await;
    assert_eq!(site.branches(), ["main"]);
    assert!(retired["retired_at"].as_u64() >= retired["created_at"].as_u64());
    let told = site.client.wait_for_type(mark, "workspace_retired").await;
    assert_eq!(told["workspace"]["lifecycle"], "retired");

    // A tombstone is in no list unless it is asked for, and retiring it again changes nothing.
    assert_eq!(site.list(json!({})).await, [Value::Null; 0]);
    let all = site.list(json!({ "include_retired": true })).await;
    assert_eq!(all[0]["workspace_id"], made["workspace_id"]);
    assert_eq!(site.retire(&made, Some("delete_confirmed")).await, retired);

    let made = site.at_rest(json!({ "branch": "keep" })).await;
    site.sh(cwd(&made), commit);
    site.retire(&made, Some("keep")).await;
    assert_eq!(site.branches(), ["keep", "main"]);

    let made = site.at_rest(json!({ "branch": "drop" })).await;
    site.sh(cwd(&made), commit);
    site.sh(cwd(&made), "git config branch.drop.description x");
    site.retire(&made, Some("delete_confirmed")).await;
    assert_eq!(site.branches(), ["keep", "main"]);
    let config = site.home.git(&["config", "--local", "--list"]);
    assert!(!config.contains("branch.drop"), "{config}");
    assert_eq!(site.worktrees(), [""; 0]);
    assert!(site.left().0.is_empty());
}

#[tokio::test]
async fn what_could_not_be_noted_is_in_use_as_before() {
    let site = Site::start().await;
    let made = site.at_rest(json!({})).await;
    // No room for records.
    let records = site.home.shard_home().join("workspaces");
    let aside = site.home.root().join("aside");
    std::fs::rename(&records, &aside).unwrap();
    std::fs::write(&records, "").unwrap();
    let wish = crate::retirement(&made, None);
    site.client
        .refused("INTERNAL_ERROR", "workspace.retire", wish)
        .await;
    assert!(cwd(&made).join("README.md").exists());
    assert_eq!(site.status(&made).await["lifecycle"], "active");
    site.client.attach(word(&made["agent_ids"][0])).await;
    std::fs::remove_file(&records).unwrap();
    std::fs::rename(&aside, &records).unwrap();
    site.stop(word(&made["agent_ids"][0])).await;
    site.retire(&made, None).await;
}

#[tokio::test]
async fn what_cannot_be_proven_is_asked() {
    let site = Site::start().await;
    // The target is gone.
    site.home.git(&["branch", "stable"]);
    let made = site
        .at_rest(json!({ "branch": "a", "integration_target": "stable" }))
        .await;
    site.home.git(&["branch", "-D", "stable"]);
    let (kind, reason) = site.kept(&made, None).await;
    assert_eq!(kind, "confirmation_required");
    assert!(reason.contains("\"stable\" is gone"), "{reason}");
    // It is another name of the branch itself.
    site.home
        .git(&["symbolic-ref", "refs/heads/stable", "refs/heads/a"]);
    site.sh(cwd(&made), "git commit -qm work --allow-empty");
    assert_eq!(site.kept(&made, None).await.0, "confirmation_required");
    site.home.git(&["symbolic-ref", "-d", "refs/heads/stable"]);
    // It is what only the worktree itself holds.
    site.sh(cwd(&made), "git checkout -q --detach");
    let stable = site.home.work().join(".git/refs/heads/stable");
    let own = format!("ref: worktrees/{}/HEAD\n", word(&made["workspace_id"]));
    std::fs::write(&stable, own).unwrap();
    assert_eq!(site.kept(&made, None).await.0, "confirmation_required");
    std::fs::remove_file(&stable).unwrap();
    // There never was one.
    site.home.git(&["checkout", "--quiet", "--detach"]);
    let made = site.at_rest(json!({ "branch": "b" })).await;
    assert_eq!(site.kept(&made, None).await.0, "confirmation_required");
    site.home.git(&["checkout", "--quiet", "main"]);
    // Words of the repository that pretend: a replaced commit, and a graft.
    let made = site.at_rest(json!({ "branch": "c" })).await;
    site.sh(cwd(&made), "git commit -qm work --allow-empty");
    let tip = site.home.git(&["rev-parse", "c"]);
    let fake = site.sh(
        &site.home.work(),
        "git commit-tree -p main -p c -m fake main^{tree} && git update-ref refs/fake main",
    );
    site.home.git(&["replace", "main", &fake]);
    site.home
        .git(&["merge-base", "--is-ancestor", &tip, "main"]);
    assert_eq!(site.kept(&made, None).await.0, "confirmation_required");
    site.home.git(&["replace", "-d", "main"]);
    // On another branch than its own, nothing of that other one is touched.
    site.sh(cwd(&made), "git checkout -q -b mine");
    let found = site.status(&made).await;
    assert_eq!(found["lifecycle"], "conflict");
    assert!(
        word(&found["conflict"]).contains("\"mine\" is checked out"),
        "{found}"
    );
    site.retire(&made, Some("delete_confirmed")).await;
    assert_eq!(site.branches(), ["a", "b", "main", "mine"]);
    assert_eq!(site.home.git(&["rev-parse", "mine"]), tip);
}

#[tokio::test]
async fn a_list_is_of_one_repository_or_of_all() {
    let site = Site::start().await;
    site.sh(
        site.home.root(),
        "git init -q other; cd other; git commit -qm x --allow-empty",
    );
    let other = site.home.root().join("other");
    let here = site.at_rest(json!({})).await;
    let there = site.at_rest(json!({ "cwd": other })).await;
    assert_ne!(
        here["repository_fingerprint"],
        there["repository_fingerprint"]
    );
    assert_eq!(there["repository_cwd"], json!(other));
    let ids = async |wish: Value| {
        let listed = site.list(wish).await;
        let ids = listed.iter().map(|it| it["workspace_id"].clone());
        ids.collect::<Vec<_>>()
    };
    let both = [here["workspace_id"].clone(), there["workspace_id"].clone()];
    assert_eq!(ids(json!({})).await, both);
    assert_eq!(ids(json!({ "cwd": other })).await, both[1..]);
    assert_eq!(ids(json!({ "cwd": cwd(&here) })).await, both[..1]);
    let nowhere = json!({ "cwd": site.home.root() });
    site.client
        .refused("INVALID_REQUEST", "workspace.list", nowhere)
        .await;
    site.retire(&there, None).await;
    assert_eq!(ids(json!({ "cwd": other })).await, [Value::Null; 0]);
    let all = json!({ "cwd": other, "include_retired": true });
    assert_eq!(ids(all).await, both[1..]);
}
