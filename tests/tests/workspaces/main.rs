//! Workspaces end to end: the real binary, real git, and repositories of every sort.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod agents;
mod creating;
mod hostile;
mod killed;
mod lost;
mod many;
mod retiring;
mod sorts;
mod terminal;

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};
use shard_testkit::{Client, DaemonProcess, Home, HomeBuilder, ScriptedModel};

/// A daemon with a home whose work directory is a repository, and one client of it.
struct Site {
    client: Client,
    daemon: DaemonProcess,
    home: Home,
    _model: ScriptedModel,
}

impl Site {
    async fn start() -> Self {
        Self::with(ScriptedModel::silent(), |home| home).await
    }

    async fn with(model: ScriptedModel, describe: impl FnOnce(HomeBuilder) -> HomeBuilder) -> Self {
        let home = describe(Home::builder().model(&model)).build();
        let daemon = DaemonProcess::start(&home, &[]).await;
        let client = daemon.connect().await;
        Self {
            client,
            daemon,
            home,
            _model: model,
        }
    }

    /// Starts the daemon anew, after the one before has ended.
    async fn start_again(&mut self) {
        self.daemon = DaemonProcess::start(&self.home, &[]).await;
        self.client = self.daemon.connect().await;
    }

    /// `workspace.create` in the work directory, with these fields besides.
    fn wish(&self, more: &Value) -> Value {
        let mut wish = json!({ "cwd": self.home.work() });
        for (key, value) in more.as_object().unwrap() {
            wish[key] = value.clone();
        }
        wish
    }

    async fn create(&self, more: Value) -> Value {
        self.client.ok("workspace.create", self.wish(&more)).await
    }

    /// A workspace whose agent does not run any more.
    async fn at_rest(&self, more: Value) -> Value {
        let data = self.create(more).await;
        self.stop(word(&data["agent_id"])).await;
        data["workspace"].clone()
    }

    /// Ends the agent's process and waits for that.
    async fn stop(&self, agent_id: &str) {
        let wish = json!({ "agent_id": agent_id });
        self.client.ok("agent.kill", wish).await;
    }

    async fn status(&self, workspace: &Value) -> Value {
        let wish = json!({ "workspace_id": workspace["workspace_id"] });
        let mut data = self.client.ok("workspace.status", wish).await;
        data["workspace"].take()
    }

    async fn list(&self, more: Value) -> Vec<Value> {
        let data = self.client.ok("workspace.list", more).await;
        data["workspaces"].as_array().unwrap().clone()
    }

    /// `workspace.retire` that must work.
    async fn retire(&self, workspace: &Value, disposition: Option<&str>) -> Value {
        let wish = retirement(workspace, disposition);
        let mut data = self.client.ok("workspace.retire", wish).await;
        data["workspace"].take()
    }

    /// `workspace.retire` that must be refused: the kind, and the reason.
    async fn kept(&self, workspace: &Value, disposition: Option<&str>) -> (String, String) {
        let wish = retirement(workspace, disposition);
        refusal(&self.client.err("workspace.retire", wish).await)
    }

    /// A script in a folder; what it prints.
    fn sh(&self, folder: &Path, script: &str) -> String {
        let output = Command::new("bash")
            .args(["-euc", script])
            .current_dir(folder)
            .env_clear()
            .envs(self.home.env())
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{script}: {said}");
        String::from_utf8_lossy(&output.stdout)
            .trim_end()
            .to_owned()
    }

    /// The branches of the repository in the work directory.
    fn branches(&self) -> Vec<String> {
        let list = ["for-each-ref", "--format=%(refname:short)", "refs/heads"];
        self.home.git(&list).lines().map(str::to_owned).collect()
    }

    /// The worktrees that git lists, without the main one.
    fn worktrees(&self) -> Vec<String> {
        let list = self.home.git(&["worktree", "list", "--porcelain"]);
        let paths = list
            .lines()
            .filter_map(|line| line.strip_prefix("worktree "));
        paths.skip(1).map(str::to_owned).collect()
    }

    /// What lies in the folder of all worktrees, and how many records there are.
    fn left(&self) -> (Vec<PathBuf>, usize) {
        let entries = |name: &str| {
            let entries = std::fs::read_dir(self.home.shard_home().join(name));
            entries.into_iter().flatten().flatten().map(|it| it.path())
        };
        (
            entries("worktrees").collect(),
            entries("workspaces").count(),
        )
    }

    /// As if nothing had ever been made.
    fn assert_nothing_is_left(&self, what: &str) {
        assert_eq!(self.branches(), ["main"], "{what}");
        assert_eq!(self.worktrees(), [""; 0], "{what}");
        assert_eq!(self.left(), (vec![], 0), "{what}");
        let admin = self.home.work().join(".git/worktrees");
        let admin = std::fs::read_dir(admin).into_iter().flatten().count();
        assert_eq!(admin, 0, "{what}");
    }
}

fn retirement(workspace: &Value, disposition: Option<&str>) -> Value {
    let mut wish = json!({ "workspace_id": workspace["workspace_id"] });
    if let Some(disposition) = disposition {
        wish["branch_disposition"] = disposition.into();
    }
    wish
}

/// Of a `CONFLICT` that programs can tell apart: the kind and the reason.
fn refusal(error: &Value) -> (String, String) {
    assert_eq!(error["code"], "CONFLICT", "{error}");
    let data = &error["data"];
    assert!(data["workspace_id"].is_string(), "{error}");
    (
        word(&data["kind"]).to_owned(),
        word(&data["reason"]).to_owned(),
    )
}

fn word(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn cwd(workspace: &Value) -> &Path {
    Path::new(word(&workspace["cwd"]))
}
