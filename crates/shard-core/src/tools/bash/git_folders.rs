//! What commands may write to of a repository whose git folder lies outside of the working folder.

use std::path::{Path, PathBuf};

use crate::tools::regular_file::read_text;

/// More than a path and what stands before it can have.
const MAX_LINK_BYTES: usize = 8 << 10;

/// The parts of a repository's common folder that hold nothing that git would execute or take
/// settings from. What else is in there, the folder itself included, stays closed: who may make
/// and rename files in a folder can replace any file in it.
const PARTS: [&str; 6] = ["objects", "refs", "logs", "reftable", "rr-cache", "lfs"];

/// A repository outside of the working folder.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct GitFolders {
    /// The folder that all worktrees of the repository share.
    pub(super) common: PathBuf,
    /// What of it commands may write to.
    pub(super) writable: Vec<PathBuf>,
}

/// The repository that a folder belongs to, unless its git folder lies within that folder.
pub(super) fn outside(cwd: &Path) -> Option<GitFolders> {
    let link = cwd
        .ancestors()
        .map(|folder| folder.join(".git"))
        .find(|git| {
            std::fs::symlink_metadata(git).is_ok_and(|kind| kind.is_dir() || kind.is_file())
        })?;
    let (common, own) = if link.is_file() {
        let (common, own) = linked(&link)?;
        (common, Some(own))
    } else {
        (link.canonicalize().ok()?, None)
    };
    if common.starts_with(cwd) || !is_repository(&common) {
        return None;
    }
    // Without it git cannot note what a branch was.
    _ = std::fs::create_dir(common.join("logs"));
    let parts = PARTS
        .iter()
        .map(|part| common.join(part))
        .filter(|part| is_folder(part));
    let writable = parts.chain(own).collect();
    Some(GitFolders { common, writable })
}

/// The common folder and a worktree's own one in it. Whoever wrote the project chose what its
/// `.git` says, so it counts only if the repository says the same: that this is a worktree of it.
fn linked(link: &Path) -> Option<(PathBuf, PathBuf)> {
    let named = |file: &Path, key: &str| {
        let text = read_text(file, MAX_LINK_BYTES).ok()?;
        let path = text.lines().next()?.strip_prefix(key)?.trim().to_owned();
        file.parent()?.join(path).canonicalize().ok()
    };
    let own = named(link, "gitdir:")?;
    let worktrees = own.parent()?;
    let common = worktrees.parent()?.to_owned();
    let agreed = worktrees.file_name()? == "worktrees"
        && named(&own.join("commondir"), "")? == common
        && named(&own.join("gitdir"), "")? == link.canonicalize().ok()?;
    agreed.then_some((common, own))
}

/// As git itself tells one.
fn is_repository(common: &Path) -> bool {
    common.join("HEAD").exists()
        && ["objects", "refs"]
            .iter()
            .all(|part| is_folder(&common.join(part)))
}

fn is_folder(path: &Path) -> bool {
    std::fs::symlink_metadata(path).is_ok_and(|kind| kind.is_dir())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{create_dir_all, write};

    fn repository(git: &Path) {
        for part in ["objects", "refs", "logs", "hooks"] {
            create_dir_all(git.join(part)).unwrap();
        }
        write(git.join("HEAD"), "ref: refs/heads/main\n").unwrap();
    }

    #[test]
    fn a_worktree_opens_what_git_writes_and_neither_hooks_nor_config() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        let (git, tree) = (root.join("main/.git"), root.join("tree"));
        repository(&git);
        let own = git.join("worktrees/tree");
        create_dir_all(&own).unwrap();
        create_dir_all(tree.join("sub")).unwrap();
        write(tree.join(".git"), format!("gitdir: {}\n", own.display())).unwrap();
        write(own.join("commondir"), "../..\n").unwrap();
        write(
            own.join("gitdir"),
            format!("{}\n", tree.join(".git").display()),
        )
        .unwrap();
        let want = ["objects", "refs", "logs", "worktrees/tree"].map(|part| git.join(part));
        for cwd in [tree.clone(), tree.join("sub")] {
            let found = outside(&cwd).unwrap();
            assert_eq!((&found.common, &found.writable[..]), (&git, &want[..]));
        }
        // Another folder that claims to be it.
        let thief = root.join("thief");
        create_dir_all(&thief).unwrap();
        write(thief.join(".git"), format!("gitdir: {}\n", own.display())).unwrap();
        assert_eq!(outside(&thief), None);
        // One that brings its own folder and names the repository as the common one.
        let fake = thief.join("x/worktrees/tree");
        create_dir_all(&fake).unwrap();
        write(thief.join(".git"), "gitdir: x/worktrees/tree\n").unwrap();
        write(fake.join("commondir"), format!("{}\n", git.display())).unwrap();
        write(
            fake.join("gitdir"),
            format!("{}\n", thief.join(".git").display()),
        )
        .unwrap();
        assert_eq!(outside(&thief), None);
    }

    #[test]
    fn a_folder_below_an_ordinary_repository_opens_the_same_parts() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        repository(&root.join(".git"));
        create_dir_all(root.join("sub")).unwrap();
        assert_eq!(outside(&root), None);
        let found = outside(&root.join("sub")).unwrap();
        let want = ["objects", "refs", "logs"].map(|part| root.join(".git").join(part));
        assert_eq!(found.writable, want);
    }
}
