//! Which folders are Shard's own: its configuration and its state. The gate asks before they are
//! written, and commands are confined to what lies outside of them; both go by what is said here.

use std::path::{Path, PathBuf};

use crate::paths::real;

/// Shard's own folders.
#[derive(Debug, Default)]
pub(crate) struct OwnFolders {
    /// Links resolved.
    folders: Vec<PathBuf>,
    /// Where managed worktrees are: the one part of the state that agents work in.
    worktrees: PathBuf,
}

impl OwnFolders {
    /// Shard's configuration and state.
    pub(crate) fn new(config_dir: &Path, state_home: &Path) -> Self {
        let state_home = real(state_home);
        Self {
            worktrees: state_home.join("worktrees"),
            folders: vec![real(config_dir), state_home],
        }
    }

    /// All of them.
    pub(crate) fn all(&self) -> &[PathBuf] {
        &self.folders
    }

    /// Whether a path lies in one of them. An agent in a managed worktree works in it as anywhere;
    /// one that was started elsewhere in there does not.
    pub(crate) fn hold(&self, real: &Path, cwd: &Path) -> bool {
        let at_work =
            cwd.starts_with(&self.worktrees) && cwd != self.worktrees && real.starts_with(cwd);
        !at_work && self.folders.iter().any(|folder| real.starts_with(folder))
    }

    /// Whether one of them is this folder or lies below it.
    pub(crate) fn lie_below(&self, real: &Path) -> bool {
        self.folders.iter().any(|folder| folder.starts_with(real))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_worktree_that_an_agent_works_in_is_not_shards_own() {
        let own = OwnFolders::new(Path::new("/c/shard"), Path::new("/s/shard"));
        let check = |real: &str, cwd: &str, want: bool| {
            let held = own.hold(Path::new(real), Path::new(cwd));
            assert_eq!(held, want, "{real} from {cwd}");
        };
        check("/c/shard/config.json", "/w", true);
        check("/s/shard", "/w", true);
        check("/c/shardling", "/w", false);
        check("/s/shard/worktrees/a/x", "/s/shard/worktrees/a", false);
        check("/s/shard/worktrees/b/x", "/s/shard/worktrees/a", true);
        check("/s/shard/worktrees/a/x", "/w", true);
        check("/s/shard/worktrees/a", "/s/shard/worktrees", true);
        check("/s/shard/rules/a.json", "/s/shard", true);
        assert!(own.lie_below(Path::new("/")) && own.lie_below(Path::new("/s/shard")));
        assert!(!own.lie_below(Path::new("/s/shard/rules")));
    }
}
