//! From the places that commands may write to, to what the kernel is told.
//!
//! The kernel's rules only open: a place opens with all below it. Where one of Shard's own folders
//! lies below a place, the entries of that place are opened one by one instead, without it.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Shard's own folders, links resolved.
#[derive(Debug, Default)]
pub(super) struct Closed {
    folders: Vec<PathBuf>,
    /// Where managed worktrees are: the one part of the state that agents work in.
    worktrees: PathBuf,
}

impl Closed {
    pub(super) fn new(config_dir: &Path, state_home: &Path) -> Self {
        let real = |path: &Path| {
            crate::paths::resolve(Path::new("/"), &path.to_string_lossy())
                .unwrap_or_else(|_| path.to_owned())
        };
        let state_home = real(state_home);
        Self {
            worktrees: state_home.join("worktrees"),
            folders: vec![real(config_dir), state_home],
        }
    }

    fn holds(&self, place: &Path) -> bool {
        let at_work = place.starts_with(&self.worktrees) && place != self.worktrees;
        !at_work && self.folders.iter().any(|folder| place.starts_with(folder))
    }

    fn is_below(&self, place: &Path) -> bool {
        self.folders.iter().any(|folder| folder.starts_with(place))
    }

    /// Adds what may be opened of a place to `opened`.
    fn open(&self, place: &Path, opened: &mut Vec<Opened>) {
        if self.holds(place) {
            return;
        }
        if !self.is_below(place) {
            opened.extend(Opened::look(place));
            return;
        }
        for entry in std::fs::read_dir(place).into_iter().flatten().flatten() {
            // A link leads elsewhere, and would open that.
            if entry.file_type().is_ok_and(|kind| !kind.is_symlink()) {
                self.open(&entry.path(), opened);
            }
        }
    }
}

/// A place as it was found; another one at the same path is another one.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Opened {
    pub(super) path: PathBuf,
    device: u64,
    inode: u64,
}

impl Opened {
    fn look(path: &Path) -> Option<Self> {
        let found = std::fs::symlink_metadata(path).ok()?;
        Some(Self {
            path: path.to_owned(),
            device: found.dev(),
            inode: found.ino(),
        })
    }
}

/// What can be opened of these places now.
pub(super) fn opened<'a>(
    places: impl IntoIterator<Item = &'a PathBuf>,
    closed: &Closed,
) -> Vec<Opened> {
    let mut opened = Vec::new();
    for place in places {
        closed.open(place, &mut opened);
    }
    opened
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(places: &[&Path], closed: &Closed) -> Vec<PathBuf> {
        let places: Vec<PathBuf> = places.iter().map(|place| place.to_path_buf()).collect();
        let mut paths: Vec<_> = opened(&places, closed)
            .into_iter()
            .map(|opened| opened.path)
            .collect();
        paths.sort_unstable();
        paths
    }

    #[test]
    fn around_what_is_closed_the_rest_is_opened_one_by_one() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        for folder in [
            "work",
            ".config/shard",
            ".config/other",
            ".shard/worktrees/a",
        ] {
            std::fs::create_dir_all(root.join(folder)).unwrap();
        }
        std::fs::write(root.join("file"), "").unwrap();
        std::os::unix::fs::symlink("/etc", root.join("link")).unwrap();
        let closed = Closed::new(&root.join(".config/shard"), &root.join(".shard"));
        let at = |path: &str| root.join(path);
        assert_eq!(
            paths(&[&root], &closed),
            [".config/other", "file", "work"].map(at)
        );
        assert_eq!(paths(&[&at("work"), &at("gone")], &closed), [at("work")]);
        assert_eq!(
            paths(&[&at(".shard/worktrees/a")], &closed),
            [at(".shard/worktrees/a")]
        );
        for own in [".shard", ".shard/worktrees", ".config/shard"] {
            assert!(paths(&[&at(own)], &closed).is_empty(), "{own}");
        }
    }
}
