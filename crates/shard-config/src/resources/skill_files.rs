//! The names of the files that come with a skill. What is in them is not looked at.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use super::Skill;

/// The folders of a skill that hold files for its text.
const FOLDERS: [&str; 3] = ["assets", "references", "scripts"];

/// How deep folders are looked into.
const LEVELS: usize = 8;

/// How many names are given.
const NAMES: usize = 256;

/// How many entries are looked at.
const LOOKED_AT: usize = 4096;

impl Skill {
    /// Names of its files below its folder, sorted; and whether there are more than are given.
    /// Links are followed, and each folder is entered once.
    #[must_use]
    pub fn files(&self) -> (Vec<String>, bool) {
        let mut walk = Walk {
            root: &self.folder,
            within: self.within.as_deref(),
            entered: HashSet::new(),
            names: Vec::new(),
            left: LOOKED_AT,
        };
        for name in FOLDERS {
            walk.enter(&self.folder.join(name), 1);
        }
        let Walk {
            mut names, left, ..
        } = walk;
        names.sort_unstable();
        let more = left == 0 || names.len() > NAMES;
        names.truncate(NAMES);
        (names, more)
    }
}

struct Walk<'a> {
    root: &'a Path,
    /// What links must not lead out of.
    within: Option<&'a Path>,
    entered: HashSet<PathBuf>,
    names: Vec<String>,
    /// How many entries may still be looked at.
    left: usize,
}

impl Walk<'_> {
    fn enter(&mut self, folder: &Path, level: usize) {
        // Links that lead nowhere, or around, are passed over.
        let Some(real) = self.real(folder) else {
            return;
        };
        if !self.entered.insert(real) {
            return;
        }
        let Ok(entries) = std::fs::read_dir(folder) else {
            return;
        };
        let mut paths: Vec<_> = entries
            .flatten()
            .map(|entry| entry.path())
            .take(self.left)
            .collect();
        self.left -= paths.len();
        paths.sort_unstable();
        for path in paths {
            let Some(real) = self.real(&path) else {
                continue;
            };
            if real.is_dir() {
                if level < LEVELS {
                    self.enter(&path, level + 1);
                }
            } else if real.is_file()
                && let Ok(name) = path.strip_prefix(self.root)
            {
                self.names.push(super::one_line(&name.to_string_lossy()));
            }
        }
    }

    fn real(&self, path: &Path) -> Option<PathBuf> {
        let real = path.canonicalize().ok()?;
        let inside = self.within.is_none_or(|within| real.starts_with(within));
        inside.then_some(real)
    }
}
