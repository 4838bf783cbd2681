//! Opening regular files and folders, and nothing else.
//!
//! A FIFO or a device is refused without being opened: opening one can block for good or act on
//! hardware. Paths given here are resolved ones, so a symlink on the way means that somebody put
//! it there since, and the open fails.
//!
//! Nothing of procfs is opened, whatever name led there: the environment of this process holds
//! keys, and so may that of another agent. Files that only tell about the machine are refused
//! along with the rest; a command, which cannot look into these processes, can read them.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;

use rustix::fd::OwnedFd;
use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags};
use rustix::io::Errno;

/// Why something could not be opened; completes a sentence that starts with the path.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// Nothing stands there.
    #[error("does not exist")]
    Missing,
    /// A folder where a file was wanted.
    #[error("is a folder")]
    Folder,
    /// A file where a folder was wanted.
    #[error("is a file, not a folder")]
    NoFolder,
    /// A FIFO, a socket or a device.
    #[error("is {0}, and only regular files and folders can be used")]
    Special(&'static str),
    /// More than a tool takes, in MiB.
    #[error("has more than {0} MiB, too much for this tool; use a command")]
    TooLarge(usize),
    /// More than the reader takes, in bytes.
    #[error("has more than {0} bytes")]
    TooLong(usize),
    /// Bytes that are no text.
    #[error("is no text in UTF-8")]
    NoText,
    /// A part of procfs.
    #[error(
        "lies in /proc, which tools for files do not open; for facts about the system use bash"
    )]
    Procfs,
    /// A symlink was put into the path.
    #[error("changed where it leads just now; try again")]
    Swapped,
    /// What the system says.
    #[error("cannot be opened: {0}")]
    Io(io::Error),
}

impl From<Errno> for OpenError {
    fn from(errno: Errno) -> Self {
        match errno {
            Errno::NOENT | Errno::NOTDIR => Self::Missing,
            Errno::LOOP => Self::Swapped,
            _ => Self::Io(errno.into()),
        }
    }
}

impl From<io::Error> for OpenError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

/// Opens a regular file for reading.
///
/// # Errors
/// [`OpenError`].
pub fn open_file(real: &Path) -> Result<File, OpenError> {
    regular(kind(real)?)?;
    let file = File::from(open(real, OFlags::empty())?);
    // What was looked at a moment ago need not be what was opened.
    regular(FileType::from_raw_mode(rustix::fs::fstat(&file)?.st_mode))?;
    no_procfs(&file)?;
    Ok(file)
}

/// Reads a text of at most `limit` bytes, wherever links lead.
///
/// # Errors
/// [`OpenError`].
pub fn read_text(path: &Path, limit: usize) -> Result<String, OpenError> {
    let bytes = read_start(path, limit)?;
    if bytes.len() > limit {
        return Err(OpenError::TooLong(limit));
    }
    String::from_utf8(bytes).map_err(|_| OpenError::NoText)
}

/// Reads a file, wherever links lead, up to one byte more than `limit`; by that a longer one is
/// recognized.
///
/// # Errors
/// [`OpenError`].
pub fn read_start(path: &Path, limit: usize) -> Result<Vec<u8>, OpenError> {
    let real = path.canonicalize().map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => OpenError::Missing,
        _ => OpenError::Io(error),
    })?;
    let mut bytes = Vec::new();
    open_file(&real)?
        .take(limit as u64 + 1)
        .read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Opens a folder.
///
/// # Errors
/// [`OpenError`].
pub fn open_folder(real: &Path) -> Result<OwnedFd, OpenError> {
    match kind(real)? {
        FileType::Directory => open_listed_folder(real),
        FileType::RegularFile => Err(OpenError::NoFolder),
        other => Err(special(other)),
    }
}

/// Opens what was listed as a folder a moment ago; what is none by now fails.
///
/// # Errors
/// [`OpenError`].
pub fn open_listed_folder(real: &Path) -> Result<OwnedFd, OpenError> {
    let folder = open(real, OFlags::DIRECTORY)?;
    no_procfs(&folder)?;
    Ok(folder)
}

/// What stands at a path, a symlink not followed.
///
/// # Errors
/// [`OpenError`].
pub fn kind(real: &Path) -> Result<FileType, OpenError> {
    let stat = rustix::fs::statat(CWD, real, AtFlags::SYMLINK_NOFOLLOW)?;
    Ok(FileType::from_raw_mode(stat.st_mode))
}

/// Lets only regular files through.
///
/// # Errors
/// [`OpenError`].
pub fn regular(kind: FileType) -> Result<(), OpenError> {
    match kind {
        FileType::RegularFile => Ok(()),
        FileType::Directory => Err(OpenError::Folder),
        other => Err(special(other)),
    }
}

/// Whether the folder at a path is one of procfs.
///
/// # Errors
/// What the system says.
#[cfg(target_os = "linux")]
pub fn in_procfs(folder: &Path) -> io::Result<bool> {
    Ok(rustix::fs::statfs(folder)?.f_type == rustix::fs::PROC_SUPER_MAGIC)
}

/// Asks what was opened: a name can be made to say anything.
#[cfg(target_os = "linux")]
fn no_procfs(opened: impl rustix::fd::AsFd) -> Result<(), OpenError> {
    match rustix::fs::fstatfs(opened)?.f_type == rustix::fs::PROC_SUPER_MAGIC {
        true => Err(OpenError::Procfs),
        false => Ok(()),
    }
}

#[cfg(not(target_os = "linux"))]
pub fn in_procfs(_: &Path) -> io::Result<bool> {
    Ok(false)
}

#[cfg(not(target_os = "linux"))]
fn no_procfs(_: impl rustix::fd::AsFd) -> Result<(), OpenError> {
    Ok(())
}

fn special(kind: FileType) -> OpenError {
    OpenError::Special(match kind {
        FileType::Symlink => return OpenError::Swapped,
        FileType::Fifo => "a FIFO",
        FileType::Socket => "a socket",
        FileType::CharacterDevice | FileType::BlockDevice => "a device",
        _ => "of an unknown kind",
    })
}

fn open(real: &Path, more: OFlags) -> Result<OwnedFd, Errno> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC | OFlags::NOCTTY | more;
    #[cfg(target_os = "linux")]
    {
        use rustix::fs::ResolveFlags;
        match rustix::fs::openat2(CWD, real, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS) {
            // Old kernels and some container filters lack the call.
            Err(Errno::NOSYS | Errno::PERM) => {}
            done => return done,
        }
    }
    rustix::fs::open(real, flags | OFlags::NOFOLLOW, Mode::empty())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;
    use std::path::PathBuf;

    use super::*;

    #[test]
    fn only_regular_files_and_folders_are_opened() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        std::fs::write(root.join("file"), "x").unwrap();
        std::fs::create_dir(root.join("folder")).unwrap();
        std::fs::write(root.join("folder/below"), "x").unwrap();
        symlink("folder", root.join("link")).unwrap();
        rustix::fs::mkfifoat(CWD, root.join("fifo"), Mode::RWXU).unwrap();
        let file = |path: &str| match open_file(&root.join(path)) {
            Ok(_) => "opened".to_owned(),
            Err(error) => error.to_string(),
        };
        assert_eq!(file("file"), "opened");
        assert_eq!(file("folder"), "is a folder");
        assert_eq!(file("missing"), "does not exist");
        assert_eq!(
            file("fifo"),
            "is a FIFO, and only regular files and folders can be used"
        );
        assert_eq!(file("link"), "changed where it leads just now; try again");
        let device = open_file(Path::new("/dev/null")).unwrap_err().to_string();
        assert_eq!(
            device,
            "is a device, and only regular files and folders can be used"
        );
        assert!(open_folder(&root.join("folder")).is_ok());
        let no_folder = open_folder(&root.join("file")).unwrap_err().to_string();
        assert_eq!(no_folder, "is a file, not a folder");
    }

    #[test]
    fn a_text_is_read_through_links_and_within_bounds() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path();
        std::fs::write(root.join("text"), "12345").unwrap();
        std::fs::write(root.join("bytes"), [0xff]).unwrap();
        symlink("text", root.join("link")).unwrap();
        symlink("/dev/zero", root.join("endless")).unwrap();
        rustix::fs::mkfifoat(CWD, root.join("fifo"), Mode::RWXU).unwrap();
        let read = |name: &str, limit| {
            read_text(&root.join(name), limit).map_err(|error| error.to_string())
        };
        assert_eq!(read("link", 5).unwrap(), "12345");
        assert_eq!(read("text", 4).unwrap_err(), "has more than 4 bytes");
        assert_eq!(read("bytes", 5).unwrap_err(), "is no text in UTF-8");
        assert_eq!(read("missing", 5).unwrap_err(), "does not exist");
        assert!(read("fifo", 5).unwrap_err().starts_with("is a FIFO"));
        assert!(read("endless", 5).unwrap_err().starts_with("is a device"));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn nothing_of_procfs_is_opened() {
        let dir = tempfile::tempdir().unwrap();
        let link = dir.path().join("innocent.txt");
        symlink("/proc/self/environ", &link).unwrap();
        let own = PathBuf::from(format!("/proc/{}", std::process::id()));
        let refused = |error| matches!(error, OpenError::Procfs);
        for file in ["environ", "mem", "maps", "task"].map(|name| own.join(name)) {
            let error = match file.is_dir() {
                true => open_folder(&file).unwrap_err(),
                false => open_file(&file).unwrap_err(),
            };
            assert!(refused(error), "{}", file.display());
        }
        assert!(refused(open_folder(Path::new("/proc")).unwrap_err()));
        assert!(refused(open_file(Path::new("/proc/uptime")).unwrap_err()));
        assert!(refused(read_text(&link, 1 << 20).unwrap_err()));
        assert!(open_folder(Path::new("/sys")).is_ok());
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_link_put_into_the_middle_of_a_path_is_not_followed() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        std::fs::create_dir(root.join("folder")).unwrap();
        std::fs::write(root.join("folder/below"), "x").unwrap();
        symlink("folder", root.join("link")).unwrap();
        let error = open_file(&root.join("link/below")).unwrap_err();
        assert!(matches!(error, OpenError::Swapped), "{error}");
    }
}
