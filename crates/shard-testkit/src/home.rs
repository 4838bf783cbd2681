//! A home of its own for each test: state, configuration, and a git repository to work in.

mod builder;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use shard_types::SessionEntry;
use tempfile::TempDir;

use crate::model::ScriptedModel;
use crate::procs::{processes_under, signal};

pub use builder::{HomeBuilder, allow_all, ask_all};

/// The value of `MOCK_KEY`, the provider's key; no output may ever show it.
const MOCK_KEY: &str = "sk-mock-3f9a-never-shown";

/// Authors and dates are fixed, so that a commit has the same id in every run.
const COMMIT_DATE: &str = "2024-01-02T03:04:05Z";

/// A temporary folder with `HOME`, `SHARD_HOME`, `XDG_CONFIG_HOME` and a work directory.
///
/// On drop, every process that still runs under it is killed and the folder removed.
#[derive(Debug)]
pub struct Home {
    root: TempDir,
    /// The folder's path with symbolic links resolved, as the program will report it.
    path: PathBuf,
    binary: PathBuf,
    config: Value,
    extra_env: BTreeMap<String, String>,
}

impl Home {
    /// Makes a home that uses the model with OpenAI's format and allows every tool.
    #[must_use]
    pub fn new(model: &ScriptedModel) -> Self {
        Self::builder().model(model).build()
    }

    /// Starts to describe a home.
    #[must_use]
    pub fn builder() -> HomeBuilder {
        HomeBuilder::default()
    }

    /// The folder that holds everything.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.path
    }

    /// `HOME`.
    #[must_use]
    pub fn home(&self) -> PathBuf {
        self.path.join("home")
    }

    /// `SHARD_HOME`. The program makes it.
    #[must_use]
    pub fn shard_home(&self) -> PathBuf {
        match self.extra_env.get("SHARD_HOME") {
            Some(elsewhere) => elsewhere.into(),
            None => self.path.join("home/.shard"),
        }
    }

    /// `XDG_CONFIG_HOME`.
    #[must_use]
    pub fn config_home(&self) -> PathBuf {
        self.path.join("home/.config")
    }

    /// Where `config.json` is, or would be.
    #[must_use]
    pub fn config_path(&self) -> PathBuf {
        self.config_home().join("shard/config.json")
    }

    /// The configuration that the home was made with; null when it has none.
    #[must_use]
    pub fn config(&self) -> &Value {
        &self.config
    }

    /// The work directory, a git repository unless the builder was told otherwise.
    #[must_use]
    pub fn work(&self) -> PathBuf {
        self.path.join("work")
    }

    /// The program that tests start.
    #[must_use]
    pub fn binary(&self) -> &Path {
        &self.binary
    }

    /// The whole environment of a child; nothing else of the test's own is passed on.
    #[must_use]
    pub fn env(&self) -> BTreeMap<String, String> {
        let path = std::env::var("PATH").unwrap_or_else(|_| "/usr/bin:/bin".to_owned());
        let folder = |path: PathBuf| path.to_string_lossy().into_owned();
        let mut env = BTreeMap::from([
            ("PATH".to_owned(), path),
            ("HOME".to_owned(), folder(self.home())),
            ("SHARD_HOME".to_owned(), folder(self.shard_home())),
            ("XDG_CONFIG_HOME".to_owned(), folder(self.config_home())),
            ("MOCK_KEY".to_owned(), MOCK_KEY.to_owned()),
            ("NO_PROXY".to_owned(), "*".to_owned()),
            ("LANG".to_owned(), "C.UTF-8".to_owned()),
        ]);
        env.extend(self.extra_env.clone());
        env
    }

    /// Replaces `config.json` in one step, as an editor does.
    pub fn write_config(&self, text: &str) {
        let path = self.config_path();
        let fresh = path.with_extension("fresh");
        write(&fresh, text.as_bytes());
        let owner_only = std::os::unix::fs::PermissionsExt::from_mode(0o600);
        let done = std::fs::set_permissions(&fresh, owner_only)
            .and_then(|()| std::fs::rename(&fresh, &path));
        done.unwrap_or_else(|error| panic!("cannot write {}: {error}", path.display()));
    }

    /// Writes a file of the work directory, and the folders above it; gives its path.
    pub fn write(&self, relative: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.work().join(relative);
        write(&path, content.as_ref());
        path
    }

    /// The text of a file of the work directory.
    ///
    /// # Panics
    /// When it is not there, or no UTF-8.
    #[must_use]
    pub fn read(&self, relative: &str) -> String {
        read(&self.work().join(relative))
    }

    /// Whether the work directory has that file.
    #[must_use]
    pub fn has(&self, relative: &str) -> bool {
        self.work().join(relative).exists()
    }

    /// Runs git in the work directory, with a fixed author and date; gives what it printed.
    ///
    /// # Panics
    /// When git fails.
    pub fn git(&self, args: &[&str]) -> String {
        let output = Command::new("git")
            .args(args)
            .current_dir(self.work())
            .env_clear()
            .envs(self.env())
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_AUTHOR_DATE", COMMIT_DATE)
            .env("GIT_COMMITTER_DATE", COMMIT_DATE)
            .output()
            .unwrap_or_else(|error| panic!("cannot run git: {error}"));
        let complaint = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "git {args:?} failed: {complaint}");
        String::from_utf8_lossy(&output.stdout)
            .trim_end()
            .to_owned()
    }

    /// The session files (`*.jsonl`, but for the log of usage) anywhere under `SHARD_HOME`, sorted
    /// by path.
    #[must_use]
    pub fn session_files(&self) -> Vec<PathBuf> {
        let mut found = Vec::new();
        let mut folders = vec![self.shard_home()];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
                let path = entry.path();
                match entry.file_type() {
                    Ok(kind) if kind.is_dir() => folders.push(path),
                    Ok(_) if path.extension().is_some_and(|e| e == "jsonl") => found.push(path),
                    _ => {}
                }
            }
        }
        found.retain(|path| path.file_name().is_some_and(|name| name != "usage.jsonl"));
        found.sort();
        found
    }

    /// The only session file.
    ///
    /// # Panics
    /// When there is none, or more than one.
    #[must_use]
    pub fn session_file(&self) -> PathBuf {
        match &*self.session_files() {
            [only] => only.clone(),
            files => panic!("one session file was expected, these are there: {files:?}"),
        }
    }

    /// The rows of a session file.
    ///
    /// # Panics
    /// When a line is no session entry.
    #[must_use]
    pub fn session_entries(&self, path: &Path) -> Vec<SessionEntry> {
        parse_lines(path, SessionEntry::from_json)
    }

    /// The rows of a session file as plain JSON, with the keys that are on disk.
    ///
    /// # Panics
    /// When a line is no JSON.
    #[must_use]
    pub fn session_rows(&self, path: &Path) -> Vec<Value> {
        parse_lines(path, |line| serde_json::from_str(line))
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        for pid in processes_under(&self.path) {
            signal(pid, rustix::process::Signal::KILL);
        }
        // A process that was killed just now may still hold a file open; removing works anyway.
        let _best_effort = std::fs::remove_dir_all(self.root.path());
    }
}

fn parse_lines<T>(path: &Path, parse: impl Fn(&str) -> serde_json::Result<T>) -> Vec<T> {
    let text = read(path);
    let lines = text.split('\n').enumerate();
    let rows = lines
        .filter(|(_, line)| !line.is_empty())
        .map(|(at, line)| {
            parse(line)
                .unwrap_or_else(|error| panic!("{}:{}: {error}: {line}", path.display(), at + 1))
        });
    rows.collect()
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path)
        .unwrap_or_else(|error| panic!("cannot read {}: {error}", path.display()))
}

fn write(path: &Path, content: &[u8]) {
    let folder = path.parent().unwrap_or(path);
    let done = std::fs::create_dir_all(folder).and_then(|()| std::fs::write(path, content));
    done.unwrap_or_else(|error| panic!("cannot write {}: {error}", path.display()));
}
