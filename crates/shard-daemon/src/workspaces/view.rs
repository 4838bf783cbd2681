//! How a workspace stands on the disk, and what clients see of it.

use std::fs;
use std::path::{Path, PathBuf};

use shard_config::regular_file::read_text;
use shard_protocol::{ErrorBody, Workspace, WorkspaceLifecycle, WorkspaceRefusalKind};
use shard_types::AgentId;

use super::record::{Record, Step};
use super::{Workspaces, busy, refused};
use crate::digest::sha256_hex;

/// More than a path and what stands before it can have.
const MAX_LINK_BYTES: usize = 8 << 10;

/// What was found where a worktree should be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Standing {
    /// The worktree, and its repository agrees.
    Sound,
    /// Nothing, or an empty folder.
    Gone,
    /// Nothing, as git moved the worktree elsewhere.
    Moved,
    /// Something that is no longer a worktree of that repository.
    NotOurs,
    /// Something that is no folder.
    Replaced,
    /// The repository is not where it was; `worktree` says whether the worktree's folder is there.
    NoRepository { worktree: bool },
}

/// How much of a workspace is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Detail {
    Summary,
    Full,
}

impl Record {
    /// Looks where the worktree should be. Runs nothing.
    pub(crate) fn look(&self) -> Standing {
        let found = fs::symlink_metadata(&self.cwd);
        if !self.common.join("HEAD").exists() {
            let worktree = found.is_ok();
            return Standing::NoRepository { worktree };
        }
        let (link, git_dir) = (self.cwd.join(".git"), self.git_dir());
        let known = named(&git_dir.join("gitdir"), "");
        let empty = || fs::read_dir(&self.cwd).is_ok_and(|mut entries| entries.next().is_none());
        match found {
            Ok(found) if !found.is_dir() => return Standing::Replaced,
            Ok(_) if !empty() => {}
            _ if known.is_some() => return Standing::Moved,
            _ => return Standing::Gone,
        }
        let is_file = fs::symlink_metadata(&link).is_ok_and(|found| found.is_file());
        let agreed = is_file
            && known.is_some()
            && known == link.canonicalize().ok()
            && named(&link, "gitdir: ") == git_dir.canonicalize().ok()
            // Whoever works in there may write to git's record of it as well.
            && named(&git_dir.join("commondir"), "").as_ref() == Some(&self.common);
        match agreed {
            true => Standing::Sound,
            false => Standing::NotOurs,
        }
    }

    /// How it differs from what it should be, as far as that is seen without git.
    pub(crate) fn conflict(&self) -> Option<String> {
        if self.conflict.is_some() || self.step != Step::Active {
            return self.conflict.clone();
        }
        self.trouble().map(|(_, reason)| reason)
    }

    /// What keeps agents out of it, and what to do about that.
    fn trouble(&self) -> Option<(WorkspaceRefusalKind, String)> {
        use WorkspaceRefusalKind::{MissingAuthority, Unsafe};
        let (kind, reason) = match self.look() {
            Standing::Sound => return None,
            Standing::Gone => {
                let reason = format!(
                    "its worktree is gone; `workspace.create` with the branch {:?} makes it again, \
                     `workspace.retire` gives it up",
                    self.branch
                );
                return Some((Unsafe, reason));
            }
            Standing::Moved => (
                MissingAuthority,
                "git moved its worktree elsewhere; `git worktree move` brings it back, \
                 `git worktree remove` removes it there",
            ),
            Standing::NotOurs => (
                MissingAuthority,
                "what lies in its place is no worktree of its repository any more; save what you \
                 need of it and remove the folder, then make it again or retire it",
            ),
            Standing::Replaced => (
                Unsafe,
                "something that is no folder lies in its place; remove that, then make it again or \
                 retire it",
            ),
            Standing::NoRepository { .. } => (
                Unsafe,
                "its repository is not where it was; put it back, or remove the worktree's folder \
                 and retire it",
            ),
        };
        Some((kind, reason.to_owned()))
    }

    /// Whether agents may work in it now.
    ///
    /// # Errors
    /// Why not, and what to do.
    pub(crate) fn usable(&self) -> Result<(), ErrorBody> {
        let id = &self.workspace_id;
        match self.step {
            Step::Active => match self.trouble() {
                Some((kind, reason)) => Err(refused(kind, id, &reason)),
                None => Ok(()),
            },
            Step::Retired => {
                let reason = "it is retired, and its worktree is removed; make another one";
                Err(refused(WorkspaceRefusalKind::Unsafe, id, reason))
            }
            Step::Creating | Step::Restoring | Step::Retiring { .. } => Err(match &self.conflict {
                Some(reason) => {
                    let reason =
                        format!("it was left half done ({reason}); `workspace.retire` tries again");
                    refused(WorkspaceRefusalKind::Unsafe, id, &reason)
                }
                None => busy(id),
            }),
        }
    }

    /// What clients see of it. `conflict` is how it was found to differ.
    pub(crate) fn view(
        &self,
        agents: Vec<AgentId>,
        conflict: Option<String>,
        detail: Detail,
    ) -> Workspace {
        let lifecycle = match self.step {
            Step::Retired => WorkspaceLifecycle::Retired,
            _ if conflict.is_some() => WorkspaceLifecycle::Conflict,
            Step::Creating | Step::Restoring => WorkspaceLifecycle::Creating,
            Step::Active => WorkspaceLifecycle::Active,
            Step::Retiring { .. } => WorkspaceLifecycle::Retiring,
        };
        let full = detail == Detail::Full;
        Workspace {
            workspace_id: self.workspace_id.clone(),
            label: self.label.clone(),
            cwd: self.cwd.to_string_lossy().into_owned(),
            repository_cwd: self.root.as_deref().map(shown),
            ownership: "managed".to_owned(),
            lifecycle,
            branch: Some(self.branch.clone()),
            base_ref: Some(self.base_ref.clone()),
            integration_target: self.integration_target.as_deref().map(short),
            repository_fingerprint: Some(fingerprint(&[&self.common])),
            worktree_fingerprint: Some(fingerprint(&[&self.common, &self.cwd])),
            created_at: self.created_at,
            updated_at: self.updated_at,
            retired_at: self.retired_at,
            agent_count: agents.len() as u64,
            agent_ids: if full { agents } else { Vec::new() },
            conflict: conflict.filter(|_| full),
        }
    }
}

impl Workspaces {
    /// How a workspace differs from what it should be, with what only git can tell.
    pub(crate) async fn examine(&self, record: &Record) -> Option<String> {
        let copy = record.clone();
        let seen = tokio::task::spawn_blocking(move || copy.conflict()).await;
        let seen = seen.ok().flatten();
        if seen.is_some() || record.step != Step::Active {
            return seen;
        }
        // Where git cannot be asked, nothing is known against it.
        let place = self.git.at(&record.cwd);
        let on = place
            .find(&["symbolic-ref", "--quiet", "HEAD"])
            .await
            .ok()?;
        match on {
            None => Some("no branch is checked out in it".to_owned()),
            Some(on) if on != record.branch_ref() => {
                Some(format!("the branch {:?} is checked out in it", short(&on)))
            }
            Some(_) => None,
        }
    }
}

fn shown(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

/// Whether a full name is that of a branch, of the repository or as it was fetched.
pub(super) fn is_branch(full: &str) -> bool {
    full.starts_with("refs/heads/") || full.starts_with("refs/remotes/")
}

/// A branch as people write it.
pub(super) fn short(full: &str) -> String {
    let heads = full.strip_prefix("refs/heads/");
    let short = heads.or_else(|| full.strip_prefix("refs/remotes/"));
    short.unwrap_or(full).to_owned()
}

/// Tells folders apart without naming them.
fn fingerprint(paths: &[&PathBuf]) -> String {
    let named: Vec<String> = paths.iter().map(|path| shown(path)).collect();
    sha256_hex(named.join("\0").as_bytes())[..16].to_owned()
}

/// The path that a file of git names, links resolved.
fn named(file: &Path, key: &str) -> Option<PathBuf> {
    // Whoever works in there chose what stands there; what is no file is not waited for.
    let text = read_text(file, MAX_LINK_BYTES).ok()?;
    let path = text.strip_prefix(key)?.trim_end_matches('\n');
    file.parent()?.join(path).canonicalize().ok()
}
