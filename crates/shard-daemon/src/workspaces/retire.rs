//! The removal of a worktree, and what must be proven before.

use std::fs;
use std::os::unix::ffi::OsStrExt;

use shard_config::regular_file::read_text;
use shard_protocol::{BranchDisposition, ErrorBody, WorkspaceRefusalKind};
use shard_types::{ErrorCode, WorkspaceId, time};

use super::record::{Record, Step};
use super::view::{is_branch, short};
use super::{Standing, Workspaces, busy, failed, on_disk, refused};
use crate::client::refuse;

/// Longest reason for a lock that is told, in bytes.
const MAX_REASON: usize = 1 << 10;

impl Workspaces {
    /// Removes a workspace's worktree, and its branch as `disposition` says. `occupied` looks
    /// whether agents are at work in it; from then on none is let in.
    ///
    /// # Errors
    /// Why nothing was removed, or what could not be.
    pub(crate) async fn retire(
        &self,
        id: &WorkspaceId,
        disposition: BranchDisposition,
        occupied: impl FnOnce(&Record) -> Option<(WorkspaceRefusalKind, String)>,
    ) -> Result<Record, ErrorBody> {
        let _closed = self.close(id)?;
        let before = self.find(id)?;
        let _alone = self.alone(&before.common).await;
        match before.step {
            // Left by a daemon that was killed, and not undone since.
            Step::Creating => {
                self.undo(&before).await?;
                return Ok(before.at(Step::Retired, time::now_ms()));
            }
            Step::Restoring => self.undo(&before).await?,
            Step::Retiring { .. } => _ = self.resume(&before).await?,
            Step::Active | Step::Retired => {}
        }
        let before = self.find(id)?;
        if before.step == Step::Retired {
            return Ok(before);
        }
        // Nobody is let in from here on, so that whoever is not there yet will not come.
        self.hold(&Record {
            step: Step::Retiring {
                delete_at: None,
                confirmed: false,
            },
            ..before.clone()
        });
        let allowed = match occupied(&before) {
            Some((kind, reason)) => Err(refused(kind, id, &reason)),
            None => match self.may_go(&before, disposition).await {
                // Looking at all of that took a while, in which somebody may have gone on to work.
                Ok(delete_at) => self.is_still_clean(&before).await.map(|()| delete_at),
                refused => refused,
            },
        };
        match allowed {
            Ok(delete_at) => {
                let confirmed = disposition == BranchDisposition::DeleteConfirmed;
                let step = Step::Retiring {
                    delete_at,
                    confirmed,
                };
                let record = before.at(step, time::now_ms());
                if let Err(error) = self.keep(&record).await {
                    self.hold(&before);
                    return Err(error);
                }
                self.finish(&record, Removal::Checked).await
            }
            Err(error) => {
                self.hold(&before);
                Err(error)
            }
        }
    }

    /// Whether nothing is lost with it; gives the commit at which its branch is to be deleted.
    async fn may_go(
        &self,
        record: &Record,
        disposition: BranchDisposition,
    ) -> Result<Option<String>, ErrorBody> {
        let id = &record.workspace_id;
        let no = |kind, reason: &str| Err(refused(kind, id, reason));
        match record.look() {
            Standing::Sound => {
                let lock = record.git_dir().join("locked");
                if fs::symlink_metadata(&lock).is_ok() {
                    let why = match read_text(&lock, MAX_REASON).unwrap_or_default().trim() {
                        "" => String::new(),
                        reason => format!(" ({reason})"),
                    };
                    let reason =
                        format!("its worktree is locked{why}; `git worktree unlock` opens it");
                    return no(WorkspaceRefusalKind::Unsafe, &reason);
                }
                if let Some(reason) = self.holdings(record, Removal::Checked).await? {
                    return no(WorkspaceRefusalKind::Dirty, &reason);
                }
            }
            Standing::Gone => {
                if let Some(reason) = self.lost_with(record).await? {
                    return no(WorkspaceRefusalKind::Dirty, &reason);
                }
            }
            // There is nothing that could be lost, or removed.
            Standing::NoRepository { worktree: false } => return Ok(None),
            Standing::Moved
            | Standing::NotOurs
            | Standing::Replaced
            | Standing::NoRepository { worktree: true } => {
                // What was mended just now is looked at the next time.
                return Err(record.usable().err().unwrap_or_else(|| busy(id)));
            }
        }
        if disposition == BranchDisposition::Keep {
            return Ok(None);
        }
        let Some(tip) = self.tip(&record.branch_ref(), record).await? else {
            return Ok(None);
        };
        if self.checked_out_elsewhere(record).await? {
            let reason = "its branch is checked out in another worktree; keep it, or check out \
                          another one there";
            return no(WorkspaceRefusalKind::Unsafe, reason);
        }
        if disposition == BranchDisposition::DeleteIfMerged
            && let Some(reason) = self.unproven(record, &tip).await?
        {
            return no(WorkspaceRefusalKind::ConfirmationRequired, &reason);
        }
        Ok(Some(tip))
    }

    /// Whether no file has changed in a worktree that held nothing a moment ago.
    async fn is_still_clean(&self, record: &Record) -> Result<(), ErrorBody> {
        match record.look() {
            Standing::Sound => {}
            Standing::Gone | Standing::NoRepository { worktree: false } => return Ok(()),
            _ => {
                let busy = || busy(&record.workspace_id);
                return Err(record.usable().err().unwrap_or_else(busy));
            }
        }
        match self.changes(record).await? {
            changes if changes.is_clean() => Ok(()),
            changes => {
                let (kind, reason) = (WorkspaceRefusalKind::Dirty, changes.in_words());
                Err(refused(kind, &record.workspace_id, &reason))
            }
        }
    }

    /// Why it is not proven that all of a branch has arrived where it was meant to go.
    async fn unproven(&self, record: &Record, tip: &str) -> Result<Option<String>, ErrorBody> {
        let branch = &record.branch;
        let Some(target) = &record.integration_target else {
            return Ok(Some(format!(
                "it has no integration target that could prove that the work on {branch:?} has arrived"
            )));
        };
        let named = short(target);
        if self
            .meant(target, record)
            .await?
            .is_none_or(|full| full == record.branch_ref())
        {
            return Ok(Some(format!(
                "its integration target {named:?} is gone, so that nothing proves that the work on \
                 {branch:?} has arrived"
            )));
        }
        let place = self.git.at(&record.common);
        let reached = place
            .find(&["merge-base", "--is-ancestor", tip, target])
            .await;
        if reached.map_err(|error| failed(&error))?.is_some() {
            return Ok(None);
        }
        let count = place
            .text(&["rev-list", "--count", tip, "--not", target, "--"])
            .await;
        Ok(Some(match count.as_deref() {
            Ok("1") => format!("1 commit on {branch:?} has not arrived in {named:?}"),
            Ok(count) => format!("{count} commits on {branch:?} have not arrived in {named:?}"),
            Err(_) => format!("the commits on {branch:?} have not arrived in {named:?}"),
        }))
    }

    /// The branch that a target stands for by now, which may be another one's name.
    async fn meant(&self, target: &str, record: &Record) -> Result<Option<String>, ErrorBody> {
        let place = self.git.at(&record.common);
        let ask = [
            "rev-parse",
            "--symbolic-full-name",
            "--verify",
            "--quiet",
            target,
        ];
        let full = place.find(&ask).await.map_err(|error| failed(&error))?;
        Ok(full.filter(|full| is_branch(full)))
    }

    async fn tip(&self, full: &str, record: &Record) -> Result<Option<String>, ErrorBody> {
        let place = self.git.at(&record.common);
        let tip = place
            .find(&["rev-parse", "--verify", "--quiet", full])
            .await;
        tip.map_err(|error| failed(&error))
    }

    /// Whether another worktree has the branch checked out.
    pub(super) async fn checked_out_elsewhere(&self, record: &Record) -> Result<bool, ErrorBody> {
        let place = self.git.at(&record.common);
        let list = place.ask(&["worktree", "list", "--porcelain", "-z"]).await;
        let list = list.map_err(|error| failed(&error))?;
        let own = [b"worktree ", record.cwd.as_os_str().as_bytes()].concat();
        let branch = format!("branch {}", record.branch_ref());
        let mut in_own = false;
        Ok(list.split(|byte| *byte == 0).any(|line| {
            if line.starts_with(b"worktree ") {
                in_own = line == own;
            }
            !in_own && line == branch.as_bytes()
        }))
    }

    /// Removes what was found to be of no need. `record` says how far it is to go, and is on the
    /// disk already.
    pub(super) async fn finish(
        &self,
        record: &Record,
        removal: Removal,
    ) -> Result<Record, ErrorBody> {
        if let Err(error) = self.remove_worktree(record, removal).await {
            // What is still whole is used on; what is not waits for the next try.
            let step = match record.look() {
                Standing::Sound => Step::Active,
                _ => record.step.clone(),
            };
            let conflict = (step != Step::Active).then(|| error.message.clone());
            let record = Record {
                conflict,
                ..record.at(step, time::now_ms())
            };
            self.keep(&record).await?;
            return Err(error);
        }
        let kept = match &record.step {
            Step::Retiring {
                delete_at: Some(tip),
                confirmed,
            } => self.delete_branch(record, tip, *confirmed).await.err(),
            _ => None,
        };
        let retired = Record {
            conflict: kept.map(|error| format!("its branch was kept: {}", error.message)),
            ..record.at(Step::Retired, time::now_ms())
        };
        self.keep(&retired).await?;
        self.bury().await?;
        Ok(retired)
    }

    pub(super) async fn remove_worktree(
        &self,
        record: &Record,
        removal: Removal,
    ) -> Result<(), ErrorBody> {
        if matches!(record.look(), Standing::NoRepository { .. }) {
            return Ok(());
        }
        // Forced once, git does not look again whether it is clean, which could run programs of a
        // repository; twice, it also removes what is locked, as a worktree on its way is.
        let force = match removal {
            Removal::Checked => vec!["worktree", "remove", "--force", "--"],
            Removal::Forced => vec!["worktree", "remove", "--force", "--force", "--"],
        };
        let path = record.cwd.as_os_str();
        let call: Vec<_> = force.iter().map(AsRef::as_ref).chain([path]).collect();
        let removed = self.git.at(&record.common).work(&call).await;
        match removed {
            Err(error) if removal == Removal::Checked && record.look() != Standing::Gone => {
                return Err(failed(&error));
            }
            _ => {}
        }
        // What is left is ours alone: the folder has a name like no other, and so has git's record.
        let (cwd, git_dir) = (record.cwd.clone(), record.git_dir());
        on_disk(move || {
            remove_folder(&cwd)?;
            remove_folder(&git_dir)
        })
        .await
    }

    /// Deletes the branch, if it is still at that commit, and its work has still arrived where it
    /// was meant to go or is confirmed to be of no need.
    pub(super) async fn delete_branch(
        &self,
        record: &Record,
        tip: &str,
        confirmed: bool,
    ) -> Result<(), ErrorBody> {
        if tip.is_empty() || matches!(record.look(), Standing::NoRepository { .. }) {
            return Ok(());
        }
        let place = self.git.at(&record.common);
        let full = record.branch_ref();
        if self.tip(&full, record).await?.is_none() {
            return Ok(());
        }
        if self.checked_out_elsewhere(record).await? {
            let message = "it is checked out in another worktree";
            return Err(refuse(ErrorCode::Conflict, message));
        }
        if !confirmed && let Some(reason) = self.unproven(record, tip).await? {
            return Err(refuse(ErrorCode::Conflict, reason));
        }
        let delete = ["update-ref", "--no-deref", "-d", &full, tip];
        place.work(&delete).await.map_err(|error| failed(&error))?;
        // What was configured for it would be taken for that of the next branch of its name; there
        // mostly is nothing.
        let section = format!("branch.{}", record.branch);
        _ = place
            .work(&["config", "--local", "--remove-section", &section])
            .await;
        Ok(())
    }
}

/// How a worktree is removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Removal {
    /// It was looked at, and holds nothing.
    Checked,
    /// Whatever it looks like, it was on its way in one direction or the other.
    Forced,
}

fn remove_folder(path: &std::path::Path) -> std::io::Result<()> {
    match fs::remove_dir_all(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}
