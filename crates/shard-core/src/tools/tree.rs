//! Walking a folder as git sees it, in the order of the paths.
//!
//! Hidden files belong to it, `.git` does not. Symlinks are not followed and procfs is passed by,
//! so a walk stays below the folder that the gate judged. Ignore files count outside of a
//! repository too: a folder need not be under git yet.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, Dir, FileType};
use tokio_util::sync::CancellationToken;

use super::ignored::{Ignored, Names, UserFiles};
use super::regular_file::{OpenError, open_listed_folder};

/// All that is below a folder. It ends early when the turn is aborted.
pub(crate) struct Tree {
    folders: Vec<Open>,
    /// The folder to go into next.
    next: Option<PathBuf>,
    ignored: Ignored,
    cancel: CancellationToken,
}

/// Something that was found.
#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) path: PathBuf,
    pub(crate) kind: FileType,
}

struct Open {
    folder: PathBuf,
    left: std::vec::IntoIter<(OsString, FileType)>,
    /// How deep the patterns were before.
    depth: usize,
}

impl Tree {
    /// What is below `root`, a resolved path.
    pub(crate) fn of(root: &Path, cancel: CancellationToken) -> Self {
        Self {
            folders: Vec::new(),
            next: Some(root.to_owned()),
            ignored: Ignored::above(root, &UserFiles::of_environment(), cancel.clone()),
            cancel,
        }
    }

    /// What should be said about the walk.
    pub(crate) fn note(&self) -> Option<String> {
        self.ignored.note()
    }

    fn enter(&mut self, folder: PathBuf) -> Result<(), OpenError> {
        let opened = open_listed_folder(&folder)?;
        let mut listed = Vec::new();
        let mut names = Names::default();
        for entry in Dir::read_from(&opened)? {
            if self.cancel.is_cancelled() {
                return Ok(());
            }
            let entry = entry?;
            let name = entry.file_name();
            names.see(name.to_bytes());
            if matches!(name.to_bytes(), b"." | b".." | b".git") {
                continue;
            }
            // Not every file system tells the kind along with the name.
            let kind = match entry.file_type() {
                FileType::Unknown => rustix::fs::statat(&opened, name, AtFlags::SYMLINK_NOFOLLOW)
                    .map_or(FileType::Unknown, |stat| {
                        FileType::from_raw_mode(stat.st_mode)
                    }),
                told => told,
            };
            listed.push((OsString::from_vec(name.to_bytes().to_owned()), kind));
        }
        listed.sort_unstable_by(|a, b| a.0.cmp(&b.0));
        let depth = self.ignored.enter(&folder, names);
        self.folders.push(Open {
            folder,
            left: listed.into_iter(),
            depth,
        });
        Ok(())
    }
}

impl Iterator for Tree {
    type Item = Result<Entry, OpenError>;

    fn next(&mut self) -> Option<Self::Item> {
        if let Some(folder) = self.next.take() {
            match self.enter(folder) {
                Ok(()) | Err(OpenError::Procfs) => {}
                Err(error) => return Some(Err(error)),
            }
        }
        while !self.cancel.is_cancelled() {
            let open = self.folders.last_mut()?;
            let Some((name, kind)) = open.left.next() else {
                self.ignored.leave(open.depth);
                self.folders.pop();
                continue;
            };
            let path = open.folder.join(name);
            let is_folder = kind == FileType::Directory;
            if self.ignored.leaves_out(&path, is_folder) {
                continue;
            }
            if is_folder {
                self.next = Some(path.clone());
            }
            return Some(Ok(Entry { path, kind }));
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;

    #[cfg(target_os = "linux")]
    #[test]
    fn a_walk_stays_out_of_procfs() {
        let walked = |root: &str| Tree::of(Path::new(root), CancellationToken::new()).count();
        assert_eq!(walked("/proc"), 0);
        assert_eq!(walked(&format!("/proc/{}/task", std::process::id())), 0);
    }

    #[test]
    fn an_abort_ends_a_walk_that_finds_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        for nth in 0..20_000 {
            std::fs::File::create(root.join(format!("{nth}.left-out"))).unwrap();
        }
        std::fs::write(root.join(".ignore"), "*.left-out\n*a*b\n").unwrap();
        let cancel = CancellationToken::new();
        let mut tree = Tree::of(&root, cancel.clone());
        assert_eq!(tree.next().unwrap().unwrap().path, root.join(".ignore"));
        cancel.cancel();
        let started = Instant::now();
        assert!(tree.next().is_none());
        assert!(started.elapsed() < Duration::from_millis(100));
    }
}
