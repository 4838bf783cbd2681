//! Files whose writing a person always confirms, whatever allows it: by changing them an agent
//! could give itself permission, or have code run outside of any question.

use std::path::{Component, Path, PathBuf};

use crate::own_folders::OwnFolders;
use crate::tools::regular_file::read_text;

/// The places.
#[derive(Debug)]
pub(super) struct Protected {
    own: OwnFolders,
}

impl Protected {
    /// Shard's own folders, and what is protected in every place.
    pub(super) fn new(own: OwnFolders) -> Self {
        Self { own }
    }

    /// Shard's own folders.
    pub(super) fn own(&self) -> &OwnFolders {
        &self.own
    }

    /// Whether writing a path always asks.
    pub(super) fn covers(&self, real: &Path, cwd: &Path) -> bool {
        // Above its own folder an agent cannot help what the folders are called.
        let part = real.strip_prefix(cwd).unwrap_or(real);
        self.own.hold(real, cwd) || in_shard_folder(part) || in_git_folder(real) || {
            let git = linked_git_folders(cwd);
            git.iter().chain(&led_to_by_links(cwd)).any(|folder| {
                real.strip_prefix(folder)
                    .is_ok_and(|rest| guarded_by_git(&names(rest)))
            })
        }
    }
}

fn names(path: &Path) -> Vec<String> {
    path.components()
        .filter_map(|part| match part {
            // Some file systems do not tell upper from lower case.
            Component::Normal(name) => Some(name.to_string_lossy().to_lowercase()),
            _ => None,
        })
        .collect()
}

fn in_shard_folder(path: &Path) -> bool {
    names(path).iter().any(|name| name == ".shard")
}

/// `.git/hooks` and `.git/config`, those of submodules and worktrees, and a `.git` file itself,
/// which says where both are. A bare repository may hold worktrees, so the last folder counts that
/// could be git's.
fn in_git_folder(path: &Path) -> bool {
    let names = names(path);
    let git = |name: &String| name.ends_with(".git");
    names.last().is_some_and(|name| name == ".git")
        || (0..names.len())
            .rev()
            .any(|at| git(&names[at]) && guarded_by_git(&names[at + 1..]))
}

/// Whether git takes programs or settings from what a path names, as seen from a git folder.
fn guarded_by_git(rest: &[String]) -> bool {
    let guarded = |name: &String| {
        matches!(
            name.as_str(),
            "hooks" | "config" | "config.worktree" | "config.lock" | "commondir"
        )
    };
    match rest {
        // Names of submodules may hold slashes, and submodules hold submodules.
        [folder, _, below @ ..] if folder == "modules" => below.iter().any(guarded),
        [folder, _, name, ..] if folder == "worktrees" => guarded(name),
        [name, ..] => guarded(name),
        [] => false,
    }
}

/// More than a path and what stands before it can have.
const MAX_LINK_BYTES: usize = 8 << 10;

/// The repository's folders when `.git` is a file that names them.
fn linked_git_folders(cwd: &Path) -> Vec<PathBuf> {
    let named = |folder: &Path, file: &str, key: &str| {
        // Whoever wrote the project chose what stands there.
        let text = read_text(&folder.join(file), MAX_LINK_BYTES).ok()?;
        let path = text.lines().next()?.strip_prefix(key)?.trim().to_owned();
        crate::paths::resolve(folder, &path).ok()
    };
    let Some(own) = cwd
        .ancestors()
        .find_map(|folder| named(folder, ".git", "gitdir:"))
    else {
        return Vec::new();
    };
    let common = named(&own, "commondir", "");
    std::iter::once(own).chain(common).collect()
}

/// Where `.git` leads when it is a symbolic link to a folder.
fn led_to_by_links(cwd: &Path) -> Vec<PathBuf> {
    let own = cwd.ancestors().map(|folder| folder.join(".git"));
    let links = own.filter(|git| git.is_symlink() && git.is_dir());
    links.filter_map(|git| git.canonicalize().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn guard(config_dir: &Path, state_home: &Path) -> Protected {
        Protected::new(OwnFolders::new(config_dir, state_home))
    }

    #[test]
    fn what_could_give_permission_is_protected() {
        let guard = guard(Path::new("/c/shard"), Path::new("/s/shard"));
        let check = |real: &str, cwd: &str, want: bool| {
            assert_eq!(
                guard.covers(Path::new(real), Path::new(cwd)),
                want,
                "{real} from {cwd}"
            );
        };
        check("/c/shard/config.json", "/w", true);
        check("/c/shard/agents/x.md", "/w", true);
        check("/c/shardling", "/w", false);
        check("/s/shard/rules/a.json", "/w", true);
        check("/s/shard/sessions/x.grants.json", "/w", true);
        check("/s/shard/config.json", "/s", true);
        check(
            "/s/shard/worktrees/a/src/x.rs",
            "/s/shard/worktrees/a",
            false,
        );
        check(
            "/s/shard/worktrees/b/src/x.rs",
            "/s/shard/worktrees/a",
            true,
        );
        check("/w/.shard/rules/x.json", "/w", true);
        check("/w/sub/.shard/x", "/w", true);
        check("/h/.shard/trees/a/x", "/h/.shard/trees/a", false);
        check("/h/.shard/trees/b/x", "/h/.shard/trees/a", true);
        check("/w/.git/hooks/pre-commit", "/w", true);
        check("/w/.git/config", "/w", true);
        check("/w/.GIT/Config", "/w", true);
        check("/other/.git/config", "/w", true);
        check("/w/.git/modules/m/hooks/x", "/w", true);
        check("/w/.git", "/w", true);
        check("/w/bare.git/hooks/x", "/w", true);
        check("/w/.git/modules/a/b/config", "/w", true);
        check("/w/.git/modules/a/modules/b/config", "/w", true);
        check("/w/.git/modules/hooks", "/w", false);
        check("/w/.git/worktrees/t/config.worktree", "/w", true);
        check("/w/.git/refs/heads/config", "/w", false);
        check("/srv/p.git/config", "/srv/p.git/main", true);
        check("/srv/p.git/hooks/x", "/srv/p.git/main", true);
        check("/srv/p.git/main/.git", "/srv/p.git/main", true);
        check("/srv/p.git/main/sub/.git/config", "/srv/p.git/main", true);
        check(
            "/srv/p.git/main/src/config/app.rs",
            "/srv/p.git/main",
            false,
        );
        check("/srv/p.git/main/hooks/x", "/srv/p.git/main", false);
        check("/w/.git/index", "/w", false);
        check("/w/.gitignore", "/w", false);
        check("/w/hooks/x", "/w", false);
        check("/w/src/config", "/w", false);
    }

    #[test]
    fn what_is_no_file_is_not_waited_for() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        let mode = rustix::fs::Mode::RWXU;
        rustix::fs::mkfifoat(rustix::fs::CWD, root.join(".git"), mode).unwrap();
        let guard = guard(Path::new("/c"), Path::new("/s"));
        assert!(!guard.covers(&root.join("x"), &root));
        std::fs::remove_file(root.join(".git")).unwrap();
        std::os::unix::fs::symlink("/dev/zero", root.join(".git")).unwrap();
        assert!(!guard.covers(&root.join("x"), &root));
    }

    #[test]
    fn a_git_folder_behind_a_symbolic_link_is_protected() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        std::fs::create_dir_all(root.join("store/hooks")).unwrap();
        std::fs::create_dir_all(root.join("sub")).unwrap();
        std::os::unix::fs::symlink("store", root.join(".git")).unwrap();
        let guard = guard(Path::new("/c"), Path::new("/s"));
        for cwd in [root.clone(), root.join("sub")] {
            assert!(guard.covers(&root.join("store/hooks/pre-commit"), &cwd));
            assert!(guard.covers(&root.join("store/config"), &cwd));
            assert!(!guard.covers(&root.join("store/objects/x"), &cwd));
            assert!(!guard.covers(&root.join("sub/hooks/x"), &cwd));
        }
        let real = crate::paths::resolve(&root, ".git/hooks/x").unwrap();
        assert!(guard.covers(&real, &root));
    }

    #[test]
    fn a_linked_repository_is_protected_where_it_is() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        let (tree, store) = (root.join("tree"), root.join("store"));
        std::fs::create_dir_all(store.join("worktrees/tree")).unwrap();
        std::fs::create_dir_all(&tree).unwrap();
        std::fs::write(tree.join(".git"), "gitdir: ../store/worktrees/tree\n").unwrap();
        std::fs::write(store.join("worktrees/tree/commondir"), "../..\n").unwrap();
        let guard = guard(Path::new("/c"), Path::new("/s"));
        assert!(guard.covers(&store.join("hooks/post-checkout"), &tree));
        assert!(guard.covers(&store.join("worktrees/tree/config.worktree"), &tree));
        assert!(!guard.covers(&store.join("objects/x"), &tree));
        assert!(!guard.covers(&tree.join("hooks/x"), &tree));
    }
}
