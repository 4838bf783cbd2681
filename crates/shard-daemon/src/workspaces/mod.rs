//! Managed worktrees: made and removed here, and nowhere else.
//!
//! A workspace is a record in `$SHARD_HOME/workspaces`, a worktree of somebody's repository in
//! `$SHARD_HOME/worktrees`, and a branch. Git does the work ([`crate::git`]); one thing at a time is
//! done to a repository.
//!
//! | file | has |
//! |---|---|
//! | `mod` | the owner: [`Workspaces`], who may use which, and how refusals look |
//! | `record` | what is kept on disk |
//! | `view` | how a workspace stands, and what clients see of it |
//! | `create` | a branch and a worktree, or a lost worktree once more |
//! | `attach` | whether another agent may work in it |
//! | `holdings` | what a worktree holds that is nowhere else |
//! | `retire` | removal, and what must be proven before |
//! | `recover` | what a daemon that was killed left half done |
//!
//! Invariants:
//! - The record is on disk before git is told; what is not finished is undone or finished later.
//! - Nothing of a person's is removed that is not elsewhere too, unless the person said so.
//! - No process starts in a worktree that is not what its record says.

mod attach;
mod create;
mod holdings;
mod record;
mod recover;
mod retire;
mod view;

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use shard_protocol::{BranchDisposition, ErrorBody, WorkspaceRefusal, WorkspaceRefusalKind};
use shard_types::{ErrorCode, WorkspaceId};
use tokio::sync::{OwnedRwLockReadGuard, OwnedRwLockWriteGuard, RwLock};

use crate::client::refuse;
use crate::git::{Git, GitError};
use crate::keys::Keys;
use crate::manifest::Manifest;
use crate::settings::Settings;

pub(crate) use record::{Record, Step};
pub(crate) use view::{Detail, Standing};

/// How many workspaces that are retired are remembered.
const TOMBSTONES: usize = 200;

/// All workspaces.
///
/// Behind a lock that is held to look one up or to put one back.
#[derive(Debug)]
pub(crate) struct Workspaces {
    pub(crate) git: Git,
    state_home: PathBuf,
    entries: Mutex<BTreeMap<WorkspaceId, Entry>>,
    /// One operation at a time on each repository.
    repositories: Keys,
}

#[derive(Debug)]
struct Entry {
    record: Record,
    /// Shared by those who make agents in it, held alone by whoever removes it.
    gate: Arc<RwLock<()>>,
    /// The conflict that clients were last told of.
    told: Option<String>,
}

impl Entry {
    fn new(record: Record) -> Self {
        Self {
            record,
            gate: Arc::default(),
            told: None,
        }
    }
}

impl Workspaces {
    /// Reads the records.
    ///
    /// # Errors
    /// When their folder cannot be read.
    pub(crate) fn load(settings: &Settings) -> io::Result<Self> {
        // What git and agents are told must be one path, however it is written.
        let state_home = settings.state_home.canonicalize()?;
        let records = Record::read_all(&state_home)?;
        let worktrees = state_home.join("worktrees");
        let own = records.into_iter().filter(|record| {
            let own = record.cwd.parent() == Some(&worktrees);
            if !own {
                let id = &record.workspace_id;
                tracing::warn!(workspace = %id, "a workspace of another home is left out");
            }
            own
        });
        let entries = own.map(|record| (record.workspace_id.clone(), Entry::new(record)));
        Ok(Self {
            git: Git::new(&settings.environment),
            entries: Mutex::new(entries.collect()),
            state_home,
            repositories: Keys::default(),
        })
    }

    fn entries(&self) -> MutexGuard<'_, BTreeMap<WorkspaceId, Entry>> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// All records, in the order in which they were made.
    pub(crate) fn all(&self) -> Vec<Record> {
        let entries = self.entries();
        let mut all: Vec<_> = entries.values().map(|it| it.record.clone()).collect();
        all.sort_by(|a, b| (a.created_at, &a.workspace_id).cmp(&(b.created_at, &b.workspace_id)));
        all
    }

    /// The workspace, or that there is none.
    pub(crate) fn find(&self, id: &WorkspaceId) -> Result<Record, ErrorBody> {
        let entries = self.entries();
        let entry = entries.get(id).ok_or_else(|| unknown(id))?;
        Ok(entry.record.clone())
    }

    /// Held while an agent is made in the workspace.
    ///
    /// # Errors
    /// `busy`, while it is removed.
    pub(crate) fn enter(&self, id: &WorkspaceId) -> Result<OwnedRwLockReadGuard<()>, ErrorBody> {
        let entered = Arc::clone(&self.gate(id)?).try_read_owned();
        entered.map_err(|_| busy(id))
    }

    /// Held while the workspace is removed.
    fn close(&self, id: &WorkspaceId) -> Result<OwnedRwLockWriteGuard<()>, ErrorBody> {
        let closed = Arc::clone(&self.gate(id)?).try_write_owned();
        closed.map_err(|_| busy(id))
    }

    fn gate(&self, id: &WorkspaceId) -> Result<Arc<RwLock<()>>, ErrorBody> {
        let entries = self.entries();
        let entry = entries.get(id).ok_or_else(|| unknown(id))?;
        Ok(Arc::clone(&entry.gate))
    }

    /// Whether a process may start for an agent: not in a worktree that is not there or not ours,
    /// nor in one that is being made or removed.
    ///
    /// # Errors
    /// Why not, and what to do.
    pub(crate) fn admit(&self, agent: &Manifest) -> Result<(), ErrorBody> {
        let Some(record) = self.of(agent) else {
            return agent
                .workspace_id
                .as_ref()
                .map_or(Ok(()), |id| Err(unknown(id)));
        };
        record.usable()
    }

    /// Whether the workspace of an agent is in use, and not just being made or removed. Looks at no
    /// file.
    pub(crate) fn is_open_to(&self, agent: &Manifest) -> Result<(), ErrorBody> {
        match self.of(agent) {
            Some(record) if record.step != Step::Active => Err(busy(&record.workspace_id)),
            _ => Ok(()),
        }
    }

    fn of(&self, agent: &Manifest) -> Option<Record> {
        let entries = self.entries();
        let mut records = entries.values().map(|entry| &entry.record);
        records.find(|record| record.holds(agent)).cloned()
    }

    /// Puts a record on the disk, and then in its place.
    async fn keep(&self, record: &Record) -> Result<(), ErrorBody> {
        let (copy, state_home) = (record.clone(), self.state_home.clone());
        on_disk(move || copy.write(&state_home)).await?;
        self.hold(record);
        Ok(())
    }

    /// The record as it is from now on.
    fn hold(&self, record: &Record) {
        let mut entries = self.entries();
        match entries.get_mut(&record.workspace_id) {
            Some(entry) => entry.record = record.clone(),
            None => {
                entries.insert(record.workspace_id.clone(), Entry::new(record.clone()));
            }
        }
    }

    /// Forgets a workspace that did not come to be.
    async fn forget(&self, record: &Record) -> Result<(), ErrorBody> {
        let (copy, state_home) = (record.clone(), self.state_home.clone());
        on_disk(move || copy.remove(&state_home)).await?;
        self.entries().remove(&record.workspace_id);
        Ok(())
    }

    /// Forgets the oldest tombstones beyond those that are remembered.
    async fn bury(&self) -> Result<(), ErrorBody> {
        let mut retired = self.all();
        retired.retain(|record| record.step == Step::Retired);
        retired.sort_by_key(|record| record.retired_at);
        let surplus = retired.len().saturating_sub(TOMBSTONES);
        for record in &retired[..surplus] {
            self.forget(record).await?;
        }
        Ok(())
    }

    /// Notes how a workspace differs from what it should be; whether that is news.
    pub(crate) fn note_conflict(&self, id: &WorkspaceId, conflict: Option<&str>) -> bool {
        let mut entries = self.entries();
        let Some(entry) = entries.get_mut(id) else {
            return false;
        };
        let news = entry.told.as_deref() != conflict;
        entry.told = conflict.map(str::to_owned);
        news && conflict.is_some()
    }

    /// Where a workspace's worktree is, or is to be.
    fn worktree(&self, id: &WorkspaceId) -> PathBuf {
        self.state_home.join("worktrees").join(id.as_str())
    }
}

async fn on_disk(work: impl FnOnce() -> io::Result<()> + Send + 'static) -> Result<(), ErrorBody> {
    let done = tokio::task::spawn_blocking(work).await;
    let done = done.unwrap_or_else(|error| Err(io::Error::other(error)));
    done.map_err(|error| {
        let message = format!("the record of the workspace could not be written: {error}");
        refuse(ErrorCode::InternalError, message)
    })
}

fn unknown(id: &WorkspaceId) -> ErrorBody {
    let message =
        format!("there is no workspace {id}; `workspace.list` lists those that there are");
    refuse(ErrorCode::NotFound, message)
}

fn busy(id: &WorkspaceId) -> ErrorBody {
    let reason = "another command is at work on it; try again when it is done";
    refused(WorkspaceRefusalKind::Busy, id, reason)
}

/// A refusal that programs can tell apart.
fn refused(kind: WorkspaceRefusalKind, id: &WorkspaceId, reason: &str) -> ErrorBody {
    let confirmation = kind == WorkspaceRefusalKind::ConfirmationRequired;
    let data = WorkspaceRefusal {
        kind,
        workspace_id: Some(id.clone()),
        reason: Some(reason.to_owned()),
        confirmation_disposition: confirmation.then_some(BranchDisposition::DeleteConfirmed),
    };
    let mut error = refuse(ErrorCode::Conflict, format!("workspace {id}: {reason}"));
    error.data = serde_json::to_value(data).ok();
    error
}

/// What git did not do, for a client.
fn failed(error: &GitError) -> ErrorBody {
    tracing::warn!(%error, "git did not do as it was told");
    let code = match error {
        GitError::Refused { .. } | GitError::TooMuch { .. } => ErrorCode::Conflict,
        _ => ErrorCode::InternalError,
    };
    refuse(code, error.to_string())
}
