//! A file's new content, in place at once or not at all.
//!
//! The content goes into a temporary file beside the old one, which is then renamed over it. Mode
//! and, where the system lets us, owner stay; other hard links keep the old content, and extended
//! attributes are not taken along. Everything
//! happens relative to the opened folder, so nobody can slip a symlink in on the way. A file that
//! is not writable is left alone although a rename could replace it.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use rustix::fd::{AsFd as _, OwnedFd};
use rustix::fs::{Access, AtFlags, Gid, Mode, OFlags, RenameFlags, Uid};
use rustix::io::Errno;

use super::regular_file::{OpenError, open_folder};
use super::text_file::Identity;

/// Why nothing was written; completes a sentence that starts with the path.
#[derive(Debug, thiserror::Error)]
pub(crate) enum WriteError {
    #[error("was changed by somebody else at the same moment and is left as it is; read it again")]
    Changed,
    #[error("is not writable and is left as it is")]
    ReadOnly,
    #[error("names no file")]
    NoName,
    #[error("cannot be written because its folder {0}")]
    Folder(OpenError),
    #[error("cannot be written and is left as it is: {0}")]
    Io(#[from] io::Error),
}

impl From<Errno> for WriteError {
    fn from(errno: Errno) -> Self {
        Self::Io(errno.into())
    }
}

/// Puts `bytes` at `real`, a resolved path. `old` is the file that stands there, as it was when it
/// was read; without it there must be none.
pub(crate) fn put(real: &Path, bytes: &[u8], old: Option<&Identity>) -> Result<(), WriteError> {
    let (Some(parent), Some(name)) = (real.parent(), real.file_name()) else {
        return Err(WriteError::NoName);
    };
    let folder = make_folder(parent)?;
    if old.is_some() {
        let writable = rustix::fs::accessat(&folder, name, Access::WRITE_OK, AtFlags::EACCESS);
        writable.map_err(|errno| match errno {
            Errno::NOENT => WriteError::Changed,
            _ => WriteError::ReadOnly,
        })?;
    }
    let temporary = Temporary::create(folder, old)?;
    temporary.fill(bytes, old)?;
    temporary.rename(real, name, old)
}

/// A new version that goes away again unless it is renamed.
struct Temporary {
    folder: OwnedFd,
    name: String,
    file: File,
    kept: bool,
}

impl Temporary {
    fn create(folder: OwnedFd, old: Option<&Identity>) -> Result<Self, WriteError> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        // A new file gets what the umask leaves; a new version is nobody else's until it has the
        // old one's mode.
        let mode = Mode::from_raw_mode(if old.is_some() { 0o600 } else { 0o666 });
        let name = format!(".shard-{:016x}.tmp", rand::random::<u64>());
        let file = rustix::fs::openat(&folder, &name, flags | OFlags::NOFOLLOW, mode)?;
        Ok(Self {
            folder,
            name,
            file: File::from(file),
            kept: false,
        })
    }

    fn fill(&self, bytes: &[u8], old: Option<&Identity>) -> Result<(), WriteError> {
        (&self.file).write_all(bytes)?;
        if let Some(old) = old {
            self.take_after(old)?;
        }
        Ok(())
    }

    fn take_after(&self, old: &Identity) -> Result<(), WriteError> {
        let now = Identity::from(&self.file.metadata()?);
        if now.owner != old.owner {
            let (user, group) = (Uid::from_raw(old.owner.0), Gid::from_raw(old.owner.1));
            // Only root may give files away; the content matters more than whose it is.
            let _ = rustix::fs::fchown(&self.file, Some(user), Some(group));
        }
        // After the owner: changing that clears the set-id bits.
        rustix::fs::fchmod(&self.file, Mode::from_raw_mode(old.mode & 0o7777))?;
        Ok(())
    }

    fn rename(
        mut self,
        real: &Path,
        name: &OsStr,
        old: Option<&Identity>,
    ) -> Result<(), WriteError> {
        let folder = self.folder.as_fd();
        match old {
            Some(old) => {
                // As late as possible: what happens between this and the rename goes unnoticed.
                if !is_still(real, old) {
                    return Err(WriteError::Changed);
                }
                rustix::fs::renameat(folder, &self.name, folder, name)?;
            }
            None => rename_new(folder, &self.name, name)?,
        }
        self.kept = true;
        Ok(())
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        if !self.kept {
            let _ = rustix::fs::unlinkat(&self.folder, &self.name, AtFlags::empty());
        }
    }
}

fn is_still(real: &Path, old: &Identity) -> bool {
    std::fs::symlink_metadata(real).is_ok_and(|now| Identity::from(&now) == *old)
}

fn rename_new(
    folder: rustix::fd::BorrowedFd<'_>,
    from: &str,
    to: &OsStr,
) -> Result<(), WriteError> {
    match rustix::fs::renameat_with(folder, from, folder, to, RenameFlags::NOREPLACE) {
        Ok(()) => Ok(()),
        Err(Errno::EXIST) => Err(WriteError::Changed),
        // Not every file system knows the flag.
        Err(Errno::INVAL | Errno::NOSYS) => {
            match rustix::fs::statat(folder, to, AtFlags::SYMLINK_NOFOLLOW) {
                Err(Errno::NOENT) => Ok(rustix::fs::renameat(folder, from, folder, to)?),
                _ => Err(WriteError::Changed),
            }
        }
        Err(errno) => Err(errno.into()),
    }
}

/// Opens a folder, made first where it is missing, one step at a time below what exists.
fn make_folder(path: &Path) -> Result<OwnedFd, WriteError> {
    let mut missing: Vec<PathBuf> = Vec::new();
    let mut at = path;
    let mut folder = loop {
        match (open_folder(at), at.parent(), at.file_name()) {
            (Ok(folder), ..) => break folder,
            (Err(OpenError::Missing), Some(parent), Some(name)) => {
                missing.push(name.into());
                at = parent;
            }
            (Err(error), ..) => return Err(WriteError::Folder(error)),
        }
    };
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    for name in missing.iter().rev() {
        match rustix::fs::mkdirat(&folder, name, Mode::from_raw_mode(0o777)) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(errno) => return Err(errno.into()),
        }
        folder = rustix::fs::openat(&folder, name, flags, Mode::empty())?;
    }
    Ok(folder)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};

    use super::super::text_file::read_whole;
    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let entries = std::fs::read_dir(folder).unwrap();
        let mut names: Vec<_> = entries
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn a_new_version_keeps_the_mode_and_leaves_nothing_else_behind() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().canonicalize().unwrap().join("run.sh");
        std::fs::write(&file, "old").unwrap();
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o4755)).unwrap();
        let old = read_whole(&file).unwrap();
        put(&file, b"new", Some(&old.identity)).unwrap();
        assert_eq!(std::fs::read(&file).unwrap(), b"new");
        assert_eq!(std::fs::metadata(&file).unwrap().mode() & 0o7777, 0o4755);
        assert_eq!(names(dir.path()), ["run.sh"]);
    }

    #[test]
    fn what_changed_meanwhile_is_left_alone() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().canonicalize().unwrap().join("f");
        let made = put(&file, b"first", None);
        assert!(made.is_ok());
        assert!(matches!(
            put(&file, b"second", None),
            Err(WriteError::Changed)
        ));
        let old = read_whole(&file).unwrap();
        std::fs::write(&file, "theirs").unwrap();
        let lost = put(&file, b"mine", Some(&old.identity));
        assert!(matches!(lost, Err(WriteError::Changed)));
        assert_eq!(std::fs::read(&file).unwrap(), b"theirs");
        assert_eq!(names(dir.path()), ["f"]);
    }

    #[test]
    fn folders_are_made_on_the_way() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        put(&root.join("a/b/c.txt"), b"x", None).unwrap();
        assert_eq!(std::fs::read(root.join("a/b/c.txt")).unwrap(), b"x");
        let below_a_file = put(&root.join("a/b/c.txt/d"), b"x", None).unwrap_err();
        let want = "cannot be written because its folder is a file, not a folder";
        assert_eq!(below_a_file.to_string(), want);
    }
}
