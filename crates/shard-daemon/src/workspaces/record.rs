//! The durable record of a workspace: written before each step of what git does, so that a daemon
//! that is killed at any moment knows afterwards what to finish or to undo.

use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use shard_types::WorkspaceId;

use crate::manifest::Manifest;
use crate::state_file;

/// The version of the format that this build writes and reads.
pub(super) const VERSION: u32 = 1;

/// Largest record that is read, in bytes.
const MAX_BYTES: u64 = 64 << 10;

/// `workspaces/<workspace_id>.json`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Record {
    pub(crate) version: u32,
    pub(crate) workspace_id: WorkspaceId,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) label: Option<String>,
    /// The worktree, links resolved.
    pub(crate) cwd: PathBuf,
    /// The git folder that all worktrees of the repository share, links resolved.
    pub(crate) common: PathBuf,
    /// The root of the repository's main checkout, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) root: Option<PathBuf>,
    /// Its branch, without `refs/heads/`.
    pub(crate) branch: String,
    /// Where the branch started, as it was named.
    pub(crate) base_ref: String,
    /// The commit that this was.
    pub(crate) base_commit: String,
    /// The full name of the branch that the work is meant to reach.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) integration_target: Option<String>,
    pub(crate) step: Step,
    /// Why a step could be neither finished nor undone, or what else a person should know.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) conflict: Option<String>,
    /// Milliseconds since the epoch, as all times here.
    pub(crate) created_at: u64,
    pub(crate) updated_at: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) retired_at: Option<u64>,
}

/// Where a workspace stands in its life, and what is needed to go on from there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "at", rename_all = "snake_case")]
pub(crate) enum Step {
    /// Branch and worktree are being made. Undone, unless its agent is there already.
    Creating,
    /// A worktree that was lost is being made again. Undone without touching the branch.
    Restoring,
    /// In use.
    Active,
    /// The worktree is being removed: nothing in it was found to be nowhere else. Finished.
    Retiring {
        /// The commit of the branch, if that is to be deleted at it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        delete_at: Option<String>,
        /// A person said that its work is of no need. Otherwise it is proven again right before
        /// the deletion, as its target may have moved.
        #[serde(default)]
        confirmed: bool,
    },
    /// Removed; a tombstone.
    Retired,
}

impl Record {
    /// The same at another step, with nothing to complain about.
    pub(crate) fn at(&self, step: Step, now: u64) -> Self {
        Self {
            retired_at: (step == Step::Retired).then_some(now),
            step,
            conflict: None,
            updated_at: now,
            ..self.clone()
        }
    }

    /// The branch's full name.
    pub(crate) fn branch_ref(&self) -> String {
        format!("refs/heads/{}", self.branch)
    }

    /// What the repository keeps for this worktree. Git names it after the folder, whose name is
    /// like no other.
    pub(crate) fn git_dir(&self) -> PathBuf {
        let worktrees = self.common.join("worktrees");
        worktrees.join(self.workspace_id.as_str())
    }

    /// Whether an agent works in it: one that was made for it, or that anybody sent there.
    pub(crate) fn holds(&self, agent: &Manifest) -> bool {
        agent.workspace_id.as_ref() == Some(&self.workspace_id) || agent.cwd.starts_with(&self.cwd)
    }

    /// Writes the record; safe on the disk when this returns.
    pub(crate) fn write(&self, state_home: &Path) -> io::Result<()> {
        let folder = folder(state_home);
        state_file::make_folder(&folder)?;
        let json = serde_json::to_vec_pretty(self)?;
        state_file::replace(&path(&folder, &self.workspace_id), &json)
    }

    /// Removes the record of a workspace that did not come to be, or that is long gone.
    pub(crate) fn remove(&self, state_home: &Path) -> io::Result<()> {
        match std::fs::remove_file(path(&folder(state_home), &self.workspace_id)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }

    /// All that can be read. One that cannot is left where it is and told in the log.
    pub(crate) fn read_all(state_home: &Path) -> io::Result<Vec<Self>> {
        let folder = folder(state_home);
        let entries = match std::fs::read_dir(&folder) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(error),
        };
        let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
        let ids = names.filter_map(|name| name.strip_suffix(".json")?.parse().ok());
        let read = |id: WorkspaceId| match Self::read(&folder, &id) {
            Ok(record) => Some(record),
            Err(error) => {
                tracing::warn!(workspace = %id, %error, "a workspace is left out");
                None
            }
        };
        Ok(ids.filter_map(read).collect())
    }

    fn read(folder: &Path, id: &WorkspaceId) -> io::Result<Self> {
        let bytes = state_file::read(&path(folder, id), MAX_BYTES)?;
        let record: Self = serde_json::from_slice(&bytes)?;
        // The folder is removed one day, so it must be one that this daemon made.
        let own = record.cwd.file_name() == Some(id.as_str().as_ref());
        match record.version == VERSION && record.workspace_id == *id && own {
            true => Ok(record),
            false => Err(io::Error::other(format!(
                "it is no record of version {VERSION} of this workspace"
            ))),
        }
    }
}

fn folder(state_home: &Path) -> PathBuf {
    state_home.join("workspaces")
}

fn path(folder: &Path, id: &WorkspaceId) -> PathBuf {
    folder.join(format!("{id}.json"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_read_as_it_was_written_and_another_one_is_left_out() {
        let home = tempfile::tempdir().unwrap();
        let id: WorkspaceId = "ws-1".parse().unwrap();
        let record = Record {
            version: VERSION,
            workspace_id: id.clone(),
            label: Some("fix".to_owned()),
            cwd: "/s/worktrees/ws-1".into(),
            common: "/p/.git".into(),
            root: Some("/p".into()),
            branch: "a/b".to_owned(),
            base_ref: "main".to_owned(),
            base_commit: "0123".to_owned(),
            integration_target: None,
            step: Step::Creating,
            conflict: None,
            created_at: 1,
            updated_at: 1,
            retired_at: None,
        };
        let record = record.at(
            Step::Retiring {
                delete_at: Some("0123".to_owned()),
                confirmed: true,
            },
            2,
        );
        record.write(home.path()).unwrap();
        assert_eq!(
            Record::read_all(home.path()).unwrap(),
            std::slice::from_ref(&record)
        );
        let file = path(&folder(home.path()), &id);
        let text = std::fs::read_to_string(&file).unwrap();
        for (from, to) in [
            ("\"version\": 1", "\"version\": 2"),
            ("\"ws-1\"", "\"ws-2\""),
            ("/s/worktrees/ws-1", "/home/me"),
            ("{", ""),
        ] {
            std::fs::write(&file, text.replacen(from, to, 1)).unwrap();
            assert_eq!(Record::read_all(home.path()).unwrap(), [], "{from}");
        }
        record.remove(home.path()).unwrap();
        record.remove(home.path()).unwrap();
        assert!(!file.exists());
    }
}
