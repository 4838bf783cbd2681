//! The durable store of enrolled browsers: `security-v1.json`.
//!
//! It holds hashes and metadata, never a credential, a token or a ticket. A file that cannot be
//! read, or that a newer Shard wrote, is an error with the file's name: to replace it would put
//! out every browser in silence, or undo what the newer version knows.

use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use serde::{Deserialize, Serialize};
use shard_types::PrincipalId;
use thiserror::Error;

use super::credential;
use crate::state_file;

/// The version of the file that this build reads and writes.
const VERSION: u64 = 1;

/// Largest store that is read, in bytes. A hundred browsers, which is all, take a tenth of it.
const MAX_BYTES: u64 = 1 << 20;

/// Why the store could not be read or written.
#[derive(Debug, Error)]
pub enum StoreError {
    /// Its folder cannot be made or kept to its owner.
    #[error("cannot prepare the folder {}: {source}", path.display())]
    Folder {
        /// The folder.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The file is there and cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The file is not what this program wrote.
    #[error(
        "{} is damaged ({damage}): restore it from a backup, or move it away and enroll the browsers again",
        path.display()
    )]
    Corrupt {
        /// The file.
        path: PathBuf,
        /// Where, never with what stands there.
        damage: String,
    },
    /// A newer version of Shard wrote the file.
    #[error(
        "{} has version {found}, this shard knows version {VERSION}: use the newer shard, or move the file away and enroll the browsers again",
        path.display()
    )]
    Newer {
        /// The file.
        path: PathBuf,
        /// The version it has.
        found: u64,
    },
    /// The file could not be written.
    #[error("cannot write {}: {source}: free some space or check the folder's permissions", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

/// One enrolled browser as it is kept.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct StoredPrincipal {
    pub(super) principal_id: PrincipalId,
    pub(super) created_at: u64,
    pub(super) last_seen_at: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) user_agent: Option<String>,
    pub(super) cookie_hash: String,
    pub(super) client_secret_hash: String,
}

#[derive(Serialize, Deserialize)]
struct Contents {
    version: u64,
    principals: Vec<StoredPrincipal>,
}

/// Read first and alone, so that a newer file is called newer and not damaged.
#[derive(Deserialize)]
struct VersionOnly {
    version: u64,
}

/// The file. Only blocking threads come here.
pub(super) struct Store {
    path: PathBuf,
    /// Held while the file is written: two writers at once could leave the older state in place.
    writing: Mutex<()>,
}

impl Store {
    /// Opens the store; an absent file is an empty one.
    pub(super) fn open(path: &Path) -> Result<(Self, Vec<StoredPrincipal>), StoreError> {
        let store = Self {
            path: path.to_owned(),
            writing: Mutex::new(()),
        };
        store.prepare_folder()?;
        store.sweep();
        let principals = store.read()?;
        Ok((store, principals))
    }

    /// Writes what `snapshot` gives once no other writer is at it.
    pub(super) fn save(
        &self,
        snapshot: impl FnOnce() -> Vec<StoredPrincipal>,
    ) -> Result<(), StoreError> {
        let _turn = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        let contents = Contents {
            version: VERSION,
            principals: snapshot(),
        };
        let write = || {
            let mut bytes = serde_json::to_vec_pretty(&contents)?;
            bytes.push(b'\n');
            state_file::replace(&self.path, &bytes)
        };
        write().map_err(|source| StoreError::Write {
            path: self.path.clone(),
            source,
        })
    }

    fn folder(&self) -> &Path {
        match self.path.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder,
            _ => Path::new("."),
        }
    }

    fn prepare_folder(&self) -> Result<(), StoreError> {
        let folder = self.folder();
        let prepare = || {
            state_file::make_folder(folder)?;
            restrict(folder, 0o700)
        };
        prepare().map_err(|source| StoreError::Folder {
            path: folder.to_owned(),
            source,
        })
    }

    /// Removes what a writer left that was killed. Nobody misses it, so nothing comes of a failure.
    fn sweep(&self) {
        let entries = fs::read_dir(self.folder()).into_iter().flatten().flatten();
        let left = entries.filter(|e| {
            e.file_name()
                .to_string_lossy()
                .starts_with(state_file::TEMPORARY)
        });
        left.for_each(|entry| _ = fs::remove_file(entry.path()));
    }

    fn read(&self) -> Result<Vec<StoredPrincipal>, StoreError> {
        let unreadable = |source| StoreError::Read {
            path: self.path.clone(),
            source,
        };
        let bytes = match state_file::read(&self.path, MAX_BYTES) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(unreadable(error)),
        };
        restrict(&self.path, 0o600).map_err(unreadable)?;
        let parsed: VersionOnly = self.parse(&bytes)?;
        if parsed.version > VERSION {
            return Err(StoreError::Newer {
                path: self.path.clone(),
                found: parsed.version,
            });
        }
        if parsed.version < VERSION {
            return Err(self.corrupt(format!("there is no version {}", parsed.version)));
        }
        let contents: Contents = self.parse(&bytes)?;
        for principal in &contents.principals {
            let hashes = [&principal.cookie_hash, &principal.client_secret_hash];
            if !hashes.into_iter().all(|hash| credential::is_hash(hash)) {
                let id = &principal.principal_id;
                return Err(self.corrupt(format!("{id} has a malformed hash")));
            }
        }
        Ok(contents.principals)
    }

    fn parse<T: for<'de> Deserialize<'de>>(&self, bytes: &[u8]) -> Result<T, StoreError> {
        // Only the place: the parser's own words may quote what stands there.
        serde_json::from_slice(bytes)
            .map_err(|e| self.corrupt(format!("line {}, column {}", e.line(), e.column())))
    }

    fn corrupt(&self, damage: String) -> StoreError {
        StoreError::Corrupt {
            path: self.path.clone(),
            damage,
        }
    }
}

/// Takes away what a looser umask, a copy or a restored backup has given to others.
fn restrict(path: &Path, mode: u32) -> io::Result<()> {
    let now = fs::metadata(path)?.permissions().mode();
    if now & 0o077 == 0 {
        return Ok(());
    }
    fs::set_permissions(path, Permissions::from_mode(mode))
}

#[cfg(test)]
mod tests;
