//! What a worktree holds that is nowhere else.
//!
//! Looked for before anything is removed. When in doubt it holds something: a person can always
//! remove what they do not need, and nobody can bring back what was removed.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use shard_protocol::ErrorBody;
use shard_types::ErrorCode;

use super::record::Record;
use super::retire::Removal;
use super::{Standing, Workspaces, failed};
use crate::client::refuse;
use crate::git::Place;

/// How many files are named at most.
const NAMED: usize = 5;

/// How long folders may be walked through.
const WALK: Duration = Duration::from_secs(120);

/// What git keeps in a worktree's own folder while something is under way.
const UNDER_WAY: [(&str, &str); 7] = [
    ("rebase-merge", "a rebase"),
    ("rebase-apply", "a rebase"),
    ("MERGE_HEAD", "a merge"),
    ("CHERRY_PICK_HEAD", "a cherry-pick"),
    ("REVERT_HEAD", "a revert"),
    ("sequencer", "a series of picks"),
    ("BISECT_LOG", "a bisection"),
];

impl Workspaces {
    /// What would be lost with a worktree that is there: in words, if anything. Files that are only
    /// missing are no loss where it was on its way out already.
    ///
    /// # Errors
    /// When it cannot be known.
    pub(super) async fn holdings(
        &self,
        record: &Record,
        removal: Removal,
    ) -> Result<Option<String>, ErrorBody> {
        if let Some(found) = self.lost_with(record).await? {
            return Ok(Some(found));
        }
        let place = self.git.in_worktree(&record.cwd, &record.git_dir());
        if let Some(found) = overlooked(&place, &record.cwd).await? {
            return Ok(Some(found));
        }
        let changes = self.changes(record).await?;
        let missing_is_fine = removal == Removal::Forced;
        if !(changes.is_clean() || missing_is_fine && changes.only_missing()) {
            return Ok(Some(changes.in_words()));
        }
        let root = record.cwd.clone();
        let walked = tokio::task::spawn_blocking(move || nested(&root)).await;
        match walked {
            Ok(Ok(None)) => Ok(None),
            Ok(Ok(Some(path))) => Ok(Some(format!(
                "it holds a repository of its own in {:?}; move that elsewhere",
                path.to_string_lossy()
            ))),
            Ok(Err(error)) => Err(cannot_know(&error)),
            Err(error) => Err(cannot_know(&error.to_string())),
        }
    }

    /// How the files of a worktree that is there differ from the last commit.
    pub(super) async fn changes(&self, record: &Record) -> Result<Changes, ErrorBody> {
        Changes::read(&self.git.in_worktree(&record.cwd, &record.git_dir())).await
    }

    /// What would be lost with what git keeps for a worktree, whether its folder is there or not.
    pub(super) async fn lost_with(&self, record: &Record) -> Result<Option<String>, ErrorBody> {
        let git_dir = record.git_dir();
        if !git_dir.exists() {
            return Ok(None);
        }
        let under_way = UNDER_WAY
            .iter()
            .find(|(file, _)| git_dir.join(file).exists());
        if let Some((_, what)) = under_way {
            return Ok(Some(format!(
                "{what} is under way in it; finish or abort that"
            )));
        }
        if has_entries(&git_dir.join("modules")) {
            let found = "repositories of submodules were cloned for it; push what is in them, and \
                         remove them with `git submodule deinit` and from its git folder";
            return Ok(Some(found.to_owned()));
        }
        let place = self.git.in_worktree(&record.common, &git_dir);
        let own = place.text(&[
            "for-each-ref",
            "--count=1",
            "--format=%(refname)",
            "refs/worktree",
            "refs/rewritten",
        ]);
        let own = own.await.map_err(|error| failed(&error))?;
        if !own.is_empty() {
            return Ok(Some(format!(
                "{own:?} exists in it alone; keep it elsewhere"
            )));
        }
        if record.look() == Standing::Gone && git_dir.join("index").exists() {
            let staged = staged(&place).await?;
            if staged > 0 {
                return Ok(Some(format!(
                    "its folder is gone, but what was staged in it is in no commit (files: {staged}); \
                     `git worktree prune` gives that up"
                )));
            }
        }
        let on = place.find(&["symbolic-ref", "--quiet", "HEAD"]).await;
        if on.map_err(|error| failed(&error))?.is_some() {
            return Ok(None);
        }
        let loose = place.text(&[
            "rev-list",
            "--max-count=1",
            "HEAD",
            "--not",
            "--branches",
            "--tags",
            "--remotes",
            "--",
        ]);
        let loose = loose.await.map_err(|error| failed(&error))?;
        Ok((!loose.is_empty()).then(|| {
            format!(
                "the commit {:.12} in it is on no branch; make one for it",
                loose
            )
        }))
    }
}

/// How many files an index holds otherwise than the last commit, whatever lies in the worktree.
async fn staged(place: &Place<'_>) -> Result<usize, ErrorBody> {
    let status = place.work(&[
        "status",
        "--porcelain=v1",
        "-z",
        "--no-renames",
        "--untracked-files=no",
        "--ignore-submodules=dirty",
    ]);
    let status = status.await.map_err(|error| failed(&error))?;
    let lines = status.split(|byte| *byte == 0);
    Ok(lines
        .filter(|line| line.len() > 3 && line[0] != b' ')
        .count())
}

fn cannot_know(error: &str) -> ErrorBody {
    let message = format!("it cannot be known what the worktree holds: {error}");
    refuse(ErrorCode::InternalError, message)
}

/// How files differ from the last commit.
#[derive(Debug, Default)]
pub(super) struct Changes {
    changed: Vec<String>,
    /// Of those, tracked files that are only missing.
    missing: usize,
    untracked: Vec<String>,
    ignored: Vec<String>,
}

impl Changes {
    async fn read(place: &Place<'_>) -> Result<Self, ErrorBody> {
        let status = place.work(&[
            "status",
            "--porcelain=v1",
            "-z",
            "--no-renames",
            "--untracked-files=normal",
            "--ignored=traditional",
            // Those that are cloned are found as repositories of their own.
            "--ignore-submodules=dirty",
        ]);
        let status = status.await.map_err(|error| failed(&error))?;
        let mut changes = Self::default();
        for line in status
            .split(|byte| *byte == 0)
            .filter(|line| line.len() > 3)
        {
            let path = String::from_utf8_lossy(&line[3..]).into_owned();
            match &line[..2] {
                b"??" => changes.untracked.push(path),
                b"!!" => changes.ignored.push(path),
                how => {
                    changes.missing += usize::from(how == b" D");
                    changes.changed.push(path);
                }
            }
        }
        Ok(changes)
    }

    pub(super) fn is_clean(&self) -> bool {
        self.only_missing() && self.missing == 0
    }

    /// Nothing but files that are not there any more.
    fn only_missing(&self) -> bool {
        self.changed.len() == self.missing && self.untracked.is_empty() && self.ignored.is_empty()
    }

    pub(super) fn in_words(&self) -> String {
        let sorts = [
            ("changed", &self.changed),
            ("untracked", &self.untracked),
            ("ignored", &self.ignored),
        ];
        let there = sorts.iter().filter(|(_, paths)| !paths.is_empty());
        let counts: Vec<_> = there
            .map(|(sort, paths)| format!("{} {sort}", paths.len()))
            .collect();
        let all = sorts.iter().flat_map(|(_, paths)| paths.iter());
        let mut names: Vec<_> = all.clone().take(NAMED).cloned().collect();
        let more = all.count().saturating_sub(names.len());
        if more > 0 {
            names.push(format!("{more} more"));
        }
        format!(
            "it holds files that are in no commit ({}): {}; commit, move or remove them",
            counts.join(", "),
            names.join(", ")
        )
    }
}

/// What the list of changes says nothing of: a file that git was told to take for unchanged, or to
/// be without though it is there, and files in the place of a submodule that was not cloned.
async fn overlooked(place: &Place<'_>, root: &Path) -> Result<Option<String>, ErrorBody> {
    let files = place.work(&["ls-files", "-v", "--stage", "-z"]).await;
    let files = files.map_err(|error| failed(&error))?;
    let root = root.to_owned();
    // There may be a million to look at.
    let look = move || {
        files.split(|byte| *byte == 0).find_map(|line| {
            let tab = line.iter().position(|byte| *byte == b'\t')?;
            let (about, name) = (&line[..tab], &line[tab + 1..]);
            let path = root.join(OsStr::from_bytes(name));
            let shown = String::from_utf8_lossy(name);
            let there = || fs::symlink_metadata(&path).is_ok();
            if about[0].is_ascii_lowercase() || (about[0] == b'S' && there()) {
                return Some(format!(
                    "git was told not to look at {shown:?}, which may have changed; undo that with \
                     `git update-index --no-assume-unchanged --no-skip-worktree`"
                ));
            }
            // One that was cloned is found as a repository of its own.
            let submodule = about[1..].starts_with(b" 160000 ");
            let filled = submodule && has_entries(&path) && !path.join(".git").exists();
            filled.then(|| {
                format!(
                    "it holds files in {shown:?}, the place of a submodule, where git does not \
                     look; move or remove them"
                )
            })
        })
    };
    let looked = tokio::task::spawn_blocking(look).await;
    looked.map_err(|error| cannot_know(&error.to_string()))
}

/// A repository below a worktree's root. Asked only when git knows all files there, so that there
/// are no more folders than tracked ones.
fn nested(root: &Path) -> Result<Option<PathBuf>, String> {
    let deadline = Instant::now() + WALK;
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        if Instant::now() > deadline {
            return Err(format!("looking through it took longer than {WALK:?}"));
        }
        let unreadable = |error: std::io::Error| format!("a folder cannot be read: {error}");
        for entry in fs::read_dir(&folder).map_err(unreadable)? {
            let entry = entry.map_err(unreadable)?;
            let git = entry.file_name().eq_ignore_ascii_case(".git");
            if git && folder != root {
                let inside = folder.strip_prefix(root).unwrap_or(&folder);
                return Ok(Some(inside.to_owned()));
            }
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                folders.push(entry.path());
            }
        }
    }
    Ok(None)
}

fn has_entries(folder: &Path) -> bool {
    fs::read_dir(folder).is_ok_and(|mut entries| entries.next().is_some())
}
