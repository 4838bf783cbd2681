//! Repositories of every sort.

use std::path::Path;

use serde_json::json;

use crate::{Site, cwd, word};

/// Makes a workspace from a folder, looks at it and retires it.
async fn works_from(site: &Site, folder: &Path, project: Option<&Path>) -> String {
    let made = site.at_rest(json!({ "cwd": folder })).await;
    assert_eq!(made["repository_cwd"], json!(project), "{folder:?}");
    let state = site.sh(
        cwd(&made),
        "git status --porcelain; git log -1 --format=%s; ls -A",
    );
    assert_eq!(
        site.status(&made).await["lifecycle"],
        "active",
        "{folder:?}"
    );
    site.retire(&made, None).await;
    assert!(!cwd(&made).exists());
    state
}

#[tokio::test]
async fn a_folder_below_and_another_worktree_lead_to_the_same_project() {
    let site = Site::start().await;
    let (root, work) = (site.home.root(), site.home.work());
    site.home.write("docs/a", "x");
    site.home.git(&["add", "."]);
    site.home.git(&["commit", "--quiet", "-m", "docs"]);
    works_from(&site, &work.join("docs"), Some(&work)).await;
    site.home
        .git(&["worktree", "add", "--quiet", "../tree", "-b", "tree"]);
    site.sh(&root.join("tree"), "git commit -qm there --allow-empty");
    let state = works_from(&site, &root.join("tree/docs"), Some(&work)).await;
    assert!(
        state.starts_with("there\n"),
        "from what is checked out there: {state}"
    );
    let outer = site.at_rest(json!({ "branch": "outer" })).await;
    let inner = site
        .at_rest(json!({ "cwd": cwd(&outer), "branch": "inner" }))
        .await;
    assert_eq!(inner["repository_cwd"], json!(work));
    assert_eq!(inner["integration_target"], "outer");
    std::os::unix::fs::symlink(&work, root.join("link")).unwrap();
    works_from(&site, &root.join("link"), Some(&work)).await;
    // The agent starts at the root, also when the wish came from below.
    let data = site.create(json!({ "cwd": work.join("docs") })).await;
    let agent = site.client.agent(word(&data["agent_id"])).await;
    assert_eq!(agent["cwd"], data["workspace"]["cwd"]);
}

#[tokio::test]
async fn bare_shallow_and_sha256_repositories_work() {
    let site = Site::start().await;
    let root = site.home.root();
    site.sh(
        root,
        "git clone -q --bare work bare.git; git clone -q --bare work hub/.git; \
         git clone -q --depth 1 file://$PWD/work shallow; \
         git init -q --object-format=sha256 new; cd new; echo x > a; git add a; git commit -qm sha256; \
         cd ..; git init -q --separate-git-dir=gitdir apart; cd apart; git commit -qm apart --allow-empty",
    );
    works_from(&site, &root.join("bare.git"), None).await;
    works_from(&site, &root.join("hub/.git"), Some(&root.join("hub"))).await;
    works_from(&site, &root.join("shallow"), Some(&root.join("shallow"))).await;
    works_from(&site, &root.join("apart"), Some(&root.join("apart"))).await;
    let state = works_from(&site, &root.join("new"), Some(&root.join("new"))).await;
    assert_eq!(state, "sha256\n.git\na");
}

#[tokio::test]
async fn what_a_sparse_checkout_leaves_out_is_left_out() {
    let site = Site::start().await;
    for name in ["in/a", "out/b"] {
        site.home.write(name, "x");
    }
    site.home.git(&["add", "."]);
    site.home.git(&["commit", "--quiet", "-m", "files"]);
    site.home.git(&["sparse-checkout", "set", "in"]);
    let state = works_from(&site, &site.home.work(), Some(&site.home.work())).await;
    assert!(
        state.contains("\nin") && !state.contains("\nout"),
        "{state}"
    );
}

#[tokio::test]
async fn submodules_that_nobody_cloned_are_no_hindrance_and_cloned_ones_stay() {
    let site = Site::start().await;
    let (root, work) = (site.home.root(), site.home.work());
    site.sh(
        root,
        "git init -q lib; git -C lib commit -qm lib --allow-empty; cd work; \
         git -c protocol.file.allow=always submodule --quiet add ../lib lib; git commit -qm lib",
    );
    works_from(&site, &work, Some(&work)).await;
    works_from(&site, &work.join("lib"), Some(&work.join("lib"))).await;
    let made = site.at_rest(json!({})).await;
    let clone = "git -c protocol.file.allow=always submodule --quiet update --init";
    site.sh(cwd(&made), clone);
    let (kind, reason) = site.kept(&made, Some("delete_confirmed")).await;
    assert_eq!(kind, "dirty");
    assert!(reason.contains("submodules"), "{reason}");
    site.sh(
        cwd(&made),
        "git -C lib commit -qm mine --allow-empty; git submodule --quiet deinit -f lib",
    );
    assert_eq!(
        site.kept(&made, None).await.0,
        "dirty",
        "its commits are still there"
    );
    assert!(cwd(&made).exists());
}
