//! A daemon that is killed in the middle: the next one finishes or undoes.
//!
//! Git is a program here that stops before or after one of its calls and waits to be killed.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Value, json};
use shard_testkit::{ScriptedModel, until};
use tempfile::TempDir;

use crate::{Site, cwd, retirement, word};

/// The git that tests run.
pub(crate) fn real_git() -> PathBuf {
    let path = std::env::var_os("PATH").unwrap();
    let mut folders = std::env::split_paths(&path);
    folders
        .find_map(|it| it.join("git").canonicalize().ok())
        .unwrap()
}

pub(crate) fn write_program(path: &Path, text: &str) {
    std::fs::write(path, text).unwrap();
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
}

/// A git that can be stopped.
struct Stopper {
    folder: TempDir,
}

impl Stopper {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        rustix::fs::mkfifoat(rustix::fs::CWD, at("never"), rustix::fs::Mode::RWXU).unwrap();
        let (git, control) = (real_git(), folder.path().to_owned());
        let script = format!(
            "#!/bin/sh\ncd_to={control:?}\nat= when=\n\
             [ ! -e $cd_to/armed ] || read -r when at < $cd_to/armed\n\
             case \"$*\" in \"${{at:-no such call}}\"*)\n  \
             [ $when = before ] || {git:?} \"$@\"\n  : > $cd_to/reached\n  read -r _ < $cd_to/never;;\nesac\n\
             exec {git:?} \"$@\"\n"
        );
        write_program(&at("git"), &script);
        Self { folder }
    }

    fn path(&self) -> String {
        let path = std::env::var("PATH").unwrap();
        format!("{}:{path}", self.folder.path().display())
    }

    /// The next call that begins like this stops.
    fn arm(&self, when: &str, call: &str) {
        std::fs::write(self.folder.path().join("armed"), format!("{when} {call}\n")).unwrap();
    }

    async fn reached(&self) {
        let reached = self.folder.path().join("reached");
        until("git comes to the call", COMES, || reached.exists()).await;
        std::fs::remove_file(&reached).unwrap();
        std::fs::remove_file(self.folder.path().join("armed")).unwrap();
    }

    async fn site(&self) -> Site {
        Site::with(ScriptedModel::silent(), |home| {
            home.env("PATH", &self.path())
        })
        .await
    }

    /// Sends a command, kills the daemon at that call of git, and starts another one.
    async fn kill_at(&self, site: &mut Site, when: &str, call: &str, command: Value) {
        self.arm(when, call);
        site.client.send(command).await;
        self.reached().await;
        site.daemon.kill9().await;
        site.start_again().await;
    }
}

/// How long git may take until it comes to a call.
const COMES: Duration = Duration::from_secs(20);

const POINTS: [&str; 2] = ["before", "after"];

#[tokio::test]
async fn what_was_being_made_is_taken_back() {
    let git = Stopper::new();
    let mut site = git.site().await;
    for call in ["update-ref", "worktree add", "reset"] {
        for when in POINTS {
            let mut wish = site.wish(&json!({ "branch": "a/b", "request_key": "k" }));
            wish["type"] = json!("workspace.create");
            git.kill_at(&mut site, when, call, wish).await;
            site.assert_nothing_is_left(&format!("{when} {call}"));
            assert_eq!(
                site.list(json!({})).await,
                [Value::Null; 0],
                "{when} {call}"
            );
        }
    }
    let made = site
        .create(json!({ "branch": "a/b", "request_key": "k" }))
        .await;
    assert_eq!(made["workspace"]["lifecycle"], "active");
}

#[tokio::test]
async fn what_was_being_made_again_is_there_or_not_and_keeps_its_branch() {
    let git = Stopper::new();
    let mut site = git.site().await;
    let made = site.at_rest(json!({ "branch": "work" })).await;
    site.sh(cwd(&made), "git commit -qm mine --allow-empty");
    let tip = site.home.git(&["rev-parse", "work"]);
    for (when, call, lifecycle) in [
        ("before", "worktree add", "conflict"),
        ("after", "worktree add", "conflict"),
        ("before", "reset", "conflict"),
        ("after", "reset", "active"),
    ] {
        _ = std::fs::remove_dir_all(cwd(&made));
        let mut wish = site.wish(&json!({ "branch": "work" }));
        wish["type"] = json!("workspace.create");
        git.kill_at(&mut site, when, call, wish).await;
        assert_eq!(site.home.git(&["rev-parse", "work"]), tip);
        let found = site.status(&made).await;
        assert_eq!(found["lifecycle"], lifecycle, "{when} {call}");
        assert_eq!(cwd(&made).exists(), lifecycle == "active", "{when} {call}");
    }
    std::fs::remove_dir_all(cwd(&made)).unwrap();
    let again = site.create(json!({ "branch": "work" })).await;
    assert_eq!(again["workspace"]["workspace_id"], made["workspace_id"]);
}

#[tokio::test]
async fn what_was_being_removed_is_removed() {
    let git = Stopper::new();
    let mut site = git.site().await;
    for call in [
        "worktree remove",
        "update-ref --no-deref -d",
        "config --local --remove-section",
    ] {
        for when in POINTS {
            let made = site.at_rest(json!({ "branch": "a/b" })).await;
            let mut wish = retirement(&made, None);
            wish["type"] = json!("workspace.retire");
            git.kill_at(&mut site, when, call, wish).await;
            let found = site.status(&made).await;
            assert_eq!(found["lifecycle"], "retired", "{when} {call}: {found}");
            assert_eq!(site.branches(), ["main"], "{when} {call}");
            assert_eq!(site.worktrees(), [""; 0], "{when} {call}");
            assert!(site.left().0.is_empty(), "{when} {call}");
        }
    }
}

#[tokio::test]
async fn what_has_not_arrived_any_more_keeps_its_branch() {
    let git = Stopper::new();
    let mut site = git.site().await;
    for (disposition, kept) in [("delete_if_merged", true), ("delete_confirmed", false)] {
        let made = site.at_rest(json!({ "branch": "work" })).await;
        site.sh(cwd(&made), "git commit -qm mine --allow-empty");
        site.home.git(&["merge", "--quiet", "work"]);
        git.arm("before", "worktree remove");
        let mut wish = retirement(&made, Some(disposition));
        wish["type"] = json!("workspace.retire");
        site.client.send(wish).await;
        git.reached().await;
        site.daemon.kill9().await;
        site.home.git(&["reset", "--quiet", "--hard", "HEAD~1"]);
        site.start_again().await;
        let found = site.status(&made).await;
        assert_eq!(found["lifecycle"], "retired", "{disposition}");
        let told = word(&found["conflict"]).contains("has not arrived");
        assert_eq!(told, kept, "{disposition}: {found}");
        assert_eq!(site.branches().contains(&"work".to_owned()), kept);
        if kept {
            site.home.git(&["branch", "-D", "work"]);
        }
    }
}

#[tokio::test]
async fn a_worktree_that_was_removed_by_halves_goes_but_nothing_that_came_into_it() {
    let git = Stopper::new();
    let mut site = git.site().await;
    for name in ["b", "c/d", "e"] {
        site.home.write(name, "x");
    }
    site.home.git(&["add", "."]);
    site.home.git(&["commit", "--quiet", "-m", "more"]);
    for (half, gone) in [
        ("rm b", true),
        ("rm .git c/d", true),
        ("rm -rf .git * .g*", true),
        ("echo mine > new", false),
        ("rm b; echo mine > e", false),
    ] {
        let made = site.at_rest(json!({ "branch": "work" })).await;
        git.arm("before", "worktree remove");
        let mut wish = retirement(&made, None);
        wish["type"] = json!("workspace.retire");
        site.client.send(wish).await;
        git.reached().await;
        site.daemon.kill9().await;
        site.sh(cwd(&made), half);
        site.start_again().await;
        let found = site.status(&made).await;
        assert_eq!(cwd(&made).exists(), !gone, "{half}: {found}");
        if gone {
            assert_eq!(found["lifecycle"], "retired", "{half}");
            assert_eq!(site.branches(), ["main"], "{half}");
        } else {
            assert_eq!(found["lifecycle"], "active", "{half}");
            assert_eq!(site.kept(&made, None).await.0, "dirty", "{half}");
            site.sh(cwd(&made), "git reset -q --hard; git clean -fdq");
            site.retire(&made, None).await;
        }
    }
}

#[tokio::test]
async fn while_git_works_another_command_on_it_is_told_so() {
    let git = Stopper::new();
    let site = git.site().await;
    let made = site.at_rest(json!({})).await;
    git.arm("before", "worktree remove");
    let mut wish = retirement(&made, None);
    wish["type"] = json!("workspace.retire");
    site.client.send(wish).await;
    git.reached().await;
    let found = site.list(json!({})).await;
    assert_eq!(found[0]["lifecycle"], "retiring");
    assert_eq!(site.kept(&made, None).await.0, "busy");
    let id = json!({ "workspace_id": made["workspace_id"] });
    let error = site.client.err("workspace.attach", id).await;
    assert_eq!(crate::refusal(&error).0, "busy");
    let agent = json!({ "agent_id": made["agent_ids"][0] });
    let error = site.client.err("agent.attach", agent).await;
    assert_eq!(crate::refusal(&error).0, "busy");
    assert_eq!(word(&made["lifecycle"]), "active");
}

#[tokio::test]
async fn what_comes_while_it_is_looked_at_stays() {
    let git = Stopper::new();
    let site = git.site().await;
    let made = site.at_rest(json!({})).await;
    git.arm("before", "merge-base");
    let retire = site.kept(&made, None);
    let come = async {
        git.reached().await;
        std::fs::write(cwd(&made).join("late"), "x").unwrap();
        std::fs::write(git.folder.path().join("never"), "go on\n").unwrap();
    };
    let ((kind, reason), ()) = tokio::join!(retire, come);
    assert_eq!(kind, "dirty");
    assert!(reason.contains("late"), "{reason}");
    assert_eq!(site.status(&made).await["lifecycle"], "active");
    std::fs::remove_file(cwd(&made).join("late")).unwrap();
    site.retire(&made, None).await;
}
