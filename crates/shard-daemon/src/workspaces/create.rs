//! A branch and a worktree on it, or a lost worktree once more.

use std::path::Path;

use shard_protocol::{ErrorBody, WorkspaceCreate, WorkspaceRefusalKind};
use shard_types::{ErrorCode, WorkspaceId, time};
use tokio::sync::OwnedRwLockReadGuard;

use super::record::{Record, Step, VERSION};
use super::view::{is_branch, short};
use super::{Standing, Workspaces, failed, on_disk, refused};
use crate::client::refuse;
use crate::git::{GitError, Place, Repository};
use crate::state_file;

/// Most worktrees that are in use or on their way.
const MOST: usize = 1000;

/// A workspace that nobody removes while this is held.
pub(crate) type Entered = (Record, OwnedRwLockReadGuard<()>);

/// Where a branch starts, and where its work is meant to go.
struct Start {
    base_ref: String,
    base_commit: String,
    integration_target: Option<String>,
}

impl Workspaces {
    /// Makes a worktree for the repository of `cwd`, an existing folder. It stays on its way until
    /// [`finished`](Self::finished); what goes wrong before leaves nothing behind.
    ///
    /// # Errors
    /// Why there is none.
    pub(crate) async fn create(
        &self,
        cwd: &Path,
        wish: &WorkspaceCreate,
    ) -> Result<Entered, ErrorBody> {
        let repository = self.repository(cwd).await?;
        let workspace_id = WorkspaceId::generate();
        let place = self.git.at(cwd);
        let branch = match &wish.branch {
            Some(branch) => checked_branch(&place, branch).await?,
            None => default_branch(&workspace_id),
        };
        let _alone = self.alone(&repository.common).await;
        let full = format!("refs/heads/{branch}");
        let exists = place
            .find(&["rev-parse", "--verify", "--quiet", &full])
            .await;
        if exists.map_err(|error| failed(&error))?.is_some() {
            return self.again(&repository, &branch, wish).await;
        }
        if self
            .all()
            .iter()
            .filter(|it| it.step != Step::Retired)
            .count()
            >= MOST
        {
            let message = format!("there are {MOST} workspaces; retire some first");
            return Err(refuse(ErrorCode::Conflict, message));
        }
        let start = start(&place, wish).await?;
        let now = time::now_ms();
        let record = Record {
            version: VERSION,
            cwd: self.worktree(&workspace_id),
            workspace_id,
            label: wish.label.clone(),
            common: repository.common,
            root: repository.root,
            branch,
            base_ref: start.base_ref,
            base_commit: start.base_commit,
            integration_target: start.integration_target,
            step: Step::Creating,
            conflict: None,
            created_at: now,
            updated_at: now,
            retired_at: None,
        };
        self.keep(&record).await?;
        let entered = self.enter(&record.workspace_id)?;
        if let Err(error) = make_branch(&record, &place).await {
            // Whatever has this name now is not ours.
            self.forget(&record).await?;
            return Err(error);
        }
        if let Err(error) = self.check_out(&record, &place).await {
            self.try_to_undo(&record).await;
            return Err(error);
        }
        Ok((record, entered))
    }

    /// It was made and is used from now on.
    pub(crate) async fn finished(&self, record: &Record) -> Result<Record, ErrorBody> {
        let record = record.at(Step::Active, time::now_ms());
        self.keep(&record).await?;
        Ok(record)
    }

    /// Takes back what did not work out. What cannot be taken back now is at the next start.
    async fn try_to_undo(&self, record: &Record) {
        if let Err(error) = self.undo(record).await {
            tracing::warn!(workspace = %record.workspace_id, error = error.message, "was not undone");
        }
    }

    /// Takes it back, as no agent came to be that would work in it.
    pub(crate) async fn give_up(&self, record: &Record) -> Result<(), ErrorBody> {
        let _alone = self.alone(&record.common).await;
        self.keep(record).await?;
        self.try_to_undo(record).await;
        Ok(())
    }

    /// The repository of a folder that is there.
    pub(crate) async fn repository(&self, cwd: &Path) -> Result<Repository, ErrorBody> {
        let found = self.git.repository(cwd).await;
        found.map_err(|error| match error {
            GitError::Refused { said, .. } => {
                let message = format!(
                    "`cwd`: {cwd:?} is in no repository that can be used ({said}); name a folder of \
                     one, or make one with `git init`"
                );
                refuse(ErrorCode::InvalidRequest, message)
            }
            error => failed(&error),
        })
    }

    /// Waits until nothing else is done to a repository.
    pub(super) async fn alone(&self, common: &Path) -> crate::keys::Alone<'_> {
        self.repositories.lock(&common.to_string_lossy()).await
    }

    /// The worktree of a branch that is there. Runs from where the wish came from, so that what is
    /// left out of a sparse checkout is left out here too.
    async fn check_out(&self, record: &Record, place: &Place<'_>) -> Result<(), ErrorBody> {
        let worktrees = record.cwd.parent().map(Path::to_owned).unwrap_or_default();
        on_disk(move || state_file::make_folder(&worktrees)).await?;
        let path = record.cwd.as_os_str();
        let branch = record.branch.as_ref();
        // Forced, it takes the place of a worktree that git still lists though it is gone.
        let add: &[&str] = match record.step {
            Step::Restoring => &["worktree", "add", "--no-checkout", "--force", "--"],
            _ => &["worktree", "add", "--no-checkout", "--"],
        };
        let add: Vec<_> = add
            .iter()
            .map(AsRef::as_ref)
            .chain([path, branch])
            .collect();
        place.work(&add).await.map_err(|error| failed(&error))?;
        // Apart, so that what is configured for this folder and branch alone is turned off too.
        let worktree = self.git.in_worktree(&record.cwd, &record.git_dir());
        let fill = ["reset", "--hard", "--quiet", "--no-recurse-submodules"];
        worktree.work(&fill).await.map_err(|error| failed(&error))?;
        match record.look() {
            Standing::Sound => Ok(()),
            found => {
                let message = format!("git made no worktree that can be used ({found:?})");
                Err(refuse(ErrorCode::InternalError, message))
            }
        }
    }

    /// A branch of this name is there already: fine if it is that of a workspace whose worktree is
    /// gone, which is then made again.
    async fn again(
        &self,
        repository: &Repository,
        branch: &str,
        wish: &WorkspaceCreate,
    ) -> Result<Entered, ErrorBody> {
        let of_branch = |record: &Record| {
            record.step != Step::Retired
                && record.common == repository.common
                && record.branch == branch
        };
        let Some(record) = self.all().into_iter().find(of_branch) else {
            let message = format!(
                "there is a branch {branch:?} already; give another name as `branch`, or none"
            );
            return Err(refuse(ErrorCode::Conflict, message));
        };
        let id = &record.workspace_id;
        if record.step != Step::Active || record.look() != Standing::Gone {
            let message = format!(
                "the branch {branch:?} is that of workspace {id}; attach to that, or give another name"
            );
            return Err(refuse(ErrorCode::Conflict, message));
        }
        if wish.base_ref.is_some() {
            let message = format!(
                "`base_ref`: the branch {branch:?} is there already and its worktree is made again; \
                 leave it out"
            );
            return Err(refuse(ErrorCode::InvalidRequest, message));
        }
        let closed = self.close(id)?;
        let place = self.git.at(&record.common);
        if let Some(reason) = self.lost_with(&record).await? {
            return Err(refused(WorkspaceRefusalKind::Dirty, id, &reason));
        }
        if self.checked_out_elsewhere(&record).await? {
            let reason = format!("its branch {branch:?} is checked out in another worktree");
            return Err(refused(WorkspaceRefusalKind::Unsafe, id, &reason));
        }
        let record = record.at(Step::Restoring, time::now_ms());
        self.keep(&record).await?;
        if let Err(error) = self.check_out(&record, &place).await {
            self.try_to_undo(&record).await;
            return Err(error);
        }
        Ok((record, closed.downgrade()))
    }
}

async fn make_branch(record: &Record, place: &Place<'_>) -> Result<(), ErrorBody> {
    let (full, note) = (
        record.branch_ref(),
        format!("shard: {}", record.workspace_id),
    );
    let make = [
        "update-ref",
        "--no-deref",
        "--create-reflog",
        "-m",
        &note,
        &full,
        &record.base_commit,
        // What it must be now: nothing.
        "",
    ];
    let made = place.work(&make).await;
    made.map(drop).map_err(|error| failed(&error))
}

fn default_branch(id: &WorkspaceId) -> String {
    // The last part is random; the first only tells the time.
    let id = id.as_str();
    format!("shard/{}", &id[id.len().saturating_sub(12)..])
}

/// A name that a branch can have, as it stands.
async fn checked_branch(place: &Place<'_>, name: &str) -> Result<String, ErrorBody> {
    let bad = || {
        let message = format!("`branch`: {name:?} cannot be the name of a branch");
        refuse(ErrorCode::InvalidRequest, message)
    };
    if name.is_empty() || name == "HEAD" || name.starts_with('-') || name.contains(['\0', '\n']) {
        return Err(bad());
    }
    match place.text(&["check-ref-format", "--branch", name]).await {
        // It may also stand for another branch, as `@{-1}` does.
        Ok(meant) if meant == name => Ok(meant),
        Ok(_) | Err(GitError::Refused { .. }) => Err(bad()),
        Err(error) => Err(failed(&error)),
    }
}

async fn start(place: &Place<'_>, wish: &WorkspaceCreate) -> Result<Start, ErrorBody> {
    let ask = |error: GitError| failed(&error);
    let head = place.find(&["symbolic-ref", "--quiet", "HEAD"]).await;
    let head = head.map_err(ask)?;
    let named = wish.base_ref.as_deref();
    let base_commit = match commit(place, named.unwrap_or("HEAD")).await? {
        Some(commit) => commit,
        None => {
            let message = match named {
                Some(name) => format!("`base_ref`: {name:?} names no commit of the repository"),
                None => {
                    "what is checked out there has no commit yet; make one, or name a `base_ref`"
                        .to_owned()
                }
            };
            return Err(refuse(ErrorCode::InvalidRequest, message));
        }
    };
    let integration_target = match (&wish.integration_target, named) {
        (Some(name), _) => Some(branch(place, name).await?.ok_or_else(|| {
            let message = format!("`integration_target`: {name:?} is no branch of the repository");
            refuse(ErrorCode::InvalidRequest, message)
        })?),
        (None, Some(name)) => branch(place, name).await?.or_else(|| head.clone()),
        (None, None) => head.clone(),
    };
    let base_ref = match (named, &head) {
        (Some(name), _) => name.to_owned(),
        (None, Some(head)) => short(head),
        (None, None) => base_commit.clone(),
    };
    Ok(Start {
        base_ref,
        base_commit,
        integration_target,
    })
}

/// The commit that a text of a person names, if it names one.
async fn commit(place: &Place<'_>, name: &str) -> Result<Option<String>, ErrorBody> {
    if name.is_empty() || name.contains(['\0', '\n']) {
        return Ok(None);
    }
    let name = format!("{name}^{{commit}}");
    let ask = [
        "rev-parse",
        "--verify",
        "--quiet",
        "--end-of-options",
        &name,
    ];
    match place.find(&ask).await {
        Ok(found) => Ok(found),
        // What it cannot even read is no name either.
        Err(GitError::Refused { .. }) => Ok(None),
        Err(error) => Err(failed(&error)),
    }
}

/// The full name of the branch, of this repository or as it was fetched, that a text names.
async fn branch(place: &Place<'_>, name: &str) -> Result<Option<String>, ErrorBody> {
    if commit(place, name).await?.is_none() {
        return Ok(None);
    }
    let ask = [
        "rev-parse",
        "--symbolic-full-name",
        "--verify",
        "--quiet",
        "--end-of-options",
        name,
    ];
    let full = place.find(&ask).await.map_err(|error| failed(&error))?;
    Ok(full.filter(|full| is_branch(full)))
}
