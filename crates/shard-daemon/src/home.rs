//! The daemon's own files: the lock that makes it the only one, its socket, and `daemon.json`.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::net::SocketAddr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio::net::UnixListener;

use crate::digest::sha256_hex;
use crate::state_file;

/// Longest path of a socket that every system takes, in bytes.
const MAX_SOCKET_PATH: usize = 100;

/// Largest `daemon.json` that is read, in bytes.
const MAX_FILE: u64 = 1 << 16;

/// How often it is looked who has the lock.
const HOLDER_TRIES: usize = 50;

const HOLDER_PAUSE: Duration = Duration::from_millis(10);

/// `daemon.json`: how local programs find the daemon.
#[derive(Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DaemonFile {
    /// The daemon's process; for people. Whether it lives is told by its socket.
    pub pid: u32,
    /// The unix socket.
    pub socket_path: PathBuf,
    /// The port of the listener.
    pub http_port: u16,
    /// Reads `/metrics`, and nothing else.
    pub token: String,
}

impl std::fmt::Debug for DaemonFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("DaemonFile")
            .field("pid", &self.pid)
            .field("http_port", &self.http_port)
            .finish_non_exhaustive()
    }
}

impl DaemonFile {
    /// Where it stands.
    #[must_use]
    pub fn path(state_home: &Path) -> PathBuf {
        state_home.join("daemon.json")
    }

    /// Reads it.
    ///
    /// # Errors
    /// When there is none, or it cannot be read.
    pub fn read(state_home: &Path) -> io::Result<Self> {
        let bytes = state_file::read(&Self::path(state_home), MAX_FILE)?;
        Ok(serde_json::from_slice(&bytes)?)
    }

    pub(crate) fn write(&self, state_home: &Path) -> io::Result<()> {
        state_file::replace(&Self::path(state_home), &serde_json::to_vec_pretty(self)?)
    }
}

/// Why a daemon cannot start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// Another daemon serves this home.
    #[error("a daemon (pid {pid}) serves {home} already; `shard shutdown` ends it")]
    Taken {
        /// Its process.
        pid: String,
        /// The state home.
        home: PathBuf,
    },
    /// The port is taken, or the address is not this machine's.
    #[error(
        "cannot listen on {address}: {source}; take another port with --port, or 0 for any, and with --web-host an address of this machine"
    )]
    Listen {
        /// Where.
        address: SocketAddr,
        /// What the system says.
        source: io::Error,
    },
    /// No socket can be there.
    #[error(
        "cannot listen on {path}: the path is too long for a socket; set XDG_RUNTIME_DIR, or SHARD_HOME to a shorter path"
    )]
    LongPath {
        /// Where it was to be.
        path: PathBuf,
    },
    /// A socket that a service manager opened cannot be used.
    #[error("the {kind} socket that the service manager opened cannot be used: {source}")]
    Inherited {
        /// `unix` or `TCP`.
        kind: &'static str,
        /// What is wrong with it.
        source: io::Error,
    },
    /// A file or folder is in the way.
    #[error("cannot {action} {path}: {source}")]
    Files {
        /// What was tried.
        action: &'static str,
        /// On what.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// The store of enrolled browsers cannot be used.
    #[error(transparent)]
    Security(#[from] crate::security::StoreError),
}

impl StartError {
    pub(crate) fn files(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Files {
            action,
            path,
            source,
        }
    }
}

/// Held for as long as the daemon lives. The system lets go of it however the daemon ends, so a
/// file that a dead one left means nothing.
#[derive(Debug)]
pub(crate) struct Lock {
    _file: File,
}

impl Lock {
    /// Makes this process the only daemon of a state home.
    pub(crate) fn take(state_home: &Path) -> Result<Self, StartError> {
        state_file::make_folder(state_home)
            .map_err(StartError::files("make the folder", state_home))?;
        let path = state_home.join("daemon.lock");
        let failed = || StartError::files("lock", &path);
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .open(&path)
            .map_err(failed())?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(StartError::Taken {
                    pid: holder(&mut file),
                    home: state_home.to_owned(),
                });
            }
            Err(TryLockError::Error(error)) => return Err(failed()(error)),
        }
        let note = file
            .set_len(0)
            .and_then(|()| writeln!(file, "{}", std::process::id()));
        note.map_err(failed())?;
        Ok(Self { _file: file })
    }
}

/// The process that has the lock. It may just have got it, and not have written its number yet.
fn holder(file: &mut File) -> String {
    for _ in 0..HOLDER_TRIES {
        let mut pid = String::new();
        let read = file.rewind().and_then(|()| file.read_to_string(&mut pid));
        if read.is_ok() && pid.ends_with('\n') {
            return pid.trim().to_owned();
        }
        std::thread::sleep(HOLDER_PAUSE);
    }
    "unknown".to_owned()
}

/// Where the socket goes: into the state home, or, where its path would be too long for a socket,
/// into a folder of the user's session.
pub(crate) fn socket_path(state_home: &Path, runtime_dir: Option<&Path>) -> PathBuf {
    let usual = state_home.join("daemon.sock");
    match runtime_dir {
        Some(folder) if usual.as_os_str().len() > MAX_SOCKET_PATH => {
            // Two homes have two sockets.
            let digest = sha256_hex(state_home.as_os_str().as_bytes());
            folder.join("shard").join(format!("{}.sock", &digest[..16]))
        }
        _ => usual,
    }
}

/// Listens on a socket that only its owner can open, in the place of one that a dead daemon left.
/// It appears under its name when its mode is right, not before.
pub(crate) fn listen(path: &Path) -> Result<UnixListener, StartError> {
    let failed = || StartError::files("listen on", path);
    let fresh = path.with_extension("new");
    let prepared = || {
        if let Some(folder) = path.parent() {
            state_file::make_folder(folder)?;
        }
        match fs::remove_file(&fresh) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let listener = UnixListener::bind(&fresh)?;
        fs::set_permissions(&fresh, fs::Permissions::from_mode(0o600))?;
        fs::rename(&fresh, path)?;
        Ok(listener)
    };
    prepared().map_err(|error| match error.kind() {
        // What the standard library says of a path that does not fit into the call.
        io::ErrorKind::InvalidInput => StartError::LongPath {
            path: path.to_owned(),
        },
        _ => failed()(error),
    })
}

/// Takes away what tells of a daemon that is ending; the socket only if it is its own.
pub(crate) fn remove(state_home: &Path, socket: Option<&Path>) {
    let file = DaemonFile::path(state_home);
    for path in socket.into_iter().chain([&*file]) {
        if let Err(error) = fs::remove_file(path) {
            tracing::debug!(path = %path.display(), %error, "could not be removed");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_path_moves_to_the_session_s_folder() {
        let short = Path::new("/home/a/.shard");
        let long = PathBuf::from(format!("/home/{}/.shard", "x".repeat(100)));
        let runtime = Some(Path::new("/run/user/1000"));
        assert_eq!(socket_path(short, runtime), short.join("daemon.sock"));
        let moved = socket_path(&long, runtime);
        assert!(moved.starts_with("/run/user/1000/shard"), "{moved:?}");
        assert_ne!(moved, socket_path(&long.join("b"), runtime));
        assert_eq!(socket_path(&long, None), long.join("daemon.sock"));
    }

    #[tokio::test]
    async fn a_path_that_fits_nowhere_is_told_with_a_way_out() {
        let home = tempfile::tempdir().unwrap();
        let long = home.path().join("x".repeat(100)).join("daemon.sock");
        let error = listen(&long).unwrap_err().to_string();
        assert!(error.contains("set XDG_RUNTIME_DIR"), "{error}");
    }

    #[test]
    fn whoever_has_just_got_the_lock_is_waited_for() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("daemon.lock");
        let mut held = File::create(&path).unwrap();
        held.try_lock().unwrap();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                std::thread::sleep(Duration::from_millis(50));
                held.write_all(b"4711\n").unwrap();
            });
            let error = Lock::take(home.path()).unwrap_err().to_string();
            assert!(error.contains("pid 4711"), "{error}");
        });
    }

    #[test]
    fn a_second_lock_names_the_first_one() {
        let home = tempfile::tempdir().unwrap();
        let _held = Lock::take(home.path()).unwrap();
        let error = Lock::take(home.path()).unwrap_err().to_string();
        let pid = format!("pid {}", std::process::id());
        assert!(error.contains(&pid), "{error}");
    }
}
