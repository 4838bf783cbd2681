//! What a daemon that was killed left half done: finished or undone.

use shard_protocol::ErrorBody;
use shard_types::time;

use super::record::{Record, Step};
use super::retire::Removal;
use super::{Standing, Workspaces};

impl Workspaces {
    /// Goes on where an earlier daemon was stopped. `has_agent` says of which workspaces an agent
    /// was kept. What can be neither finished nor undone just now is noted, and tried again at the
    /// next start.
    pub(crate) async fn recover(&self, has_agent: impl Fn(&Record) -> bool) {
        for record in self.all() {
            if matches!(record.step, Step::Active | Step::Retired) {
                continue;
            }
            // Free, as nobody is served yet, or else at work on it as well.
            let Ok(_closed) = self.close(&record.workspace_id) else {
                continue;
            };
            let _alone = self.alone(&record.common).await;
            let done = self.go_on(&record, has_agent(&record)).await;
            let Err(error) = done else { continue };
            tracing::warn!(workspace = %record.workspace_id, error = error.message, "is left half done");
            let noted = Record {
                conflict: Some(error.message),
                ..record
            };
            if let Err(error) = self.keep(&noted).await {
                tracing::error!(error = error.message);
            }
        }
    }

    async fn go_on(&self, record: &Record, has_agent: bool) -> Result<(), ErrorBody> {
        let sound = record.look() == Standing::Sound;
        match record.step {
            Step::Creating if has_agent && sound => self.finished(record).await.map(drop),
            Step::Restoring if sound => match self.holdings(record, Removal::Checked).await? {
                // All of it is there.
                None => self.finished(record).await.map(drop),
                Some(_) => self.undo(record).await,
            },
            Step::Creating | Step::Restoring => self.undo(record).await,
            Step::Retiring { .. } => self.resume(record).await.map(drop),
            Step::Active | Step::Retired => Ok(()),
        }
    }

    /// Takes back what was made of a workspace, or of a worktree that was made again.
    pub(super) async fn undo(&self, record: &Record) -> Result<(), ErrorBody> {
        self.remove_worktree(record, Removal::Forced).await?;
        if record.step == Step::Restoring {
            return self.keep(&record.at(Step::Active, time::now_ms())).await;
        }
        // If it has moved, somebody uses it.
        // Nothing was done on it, so there is nothing to be proven.
        self.delete_branch(record, &record.base_commit, true)
            .await?;
        self.forget(record).await
    }

    /// Goes on to remove a worktree, unless something came into it meanwhile.
    pub(super) async fn resume(&self, record: &Record) -> Result<Record, ErrorBody> {
        let found = match record.look() {
            Standing::Sound => self.holdings(record, Removal::Forced).await?,
            // Its files are removed in no order, so the link may be gone before the rest.
            Standing::NotOurs if record.git_dir().exists() && !record.cwd.join(".git").exists() => {
                self.holdings(record, Removal::Forced).await?
            }
            Standing::Gone | Standing::NoRepository { worktree: false } => None,
            Standing::Moved
            | Standing::NotOurs
            | Standing::Replaced
            | Standing::NoRepository { worktree: true } => Some("it is another one".to_owned()),
        };
        if found.is_none() {
            return self.finish(record, Removal::Forced).await;
        }
        let record = record.at(Step::Active, time::now_ms());
        self.keep(&record).await?;
        Ok(record)
    }
}
