//! The writer of a session.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Seek, SeekFrom, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

use shard_types::{EntryBody, EntryId, SessionEntry, time};

use crate::index::{Index, Row};
use crate::load::{self, Loaded};
use crate::row::{Key, Kind};
use crate::{Header, SessionError};

/// The one writer of a session. Holds the file's lock for as long as it lives.
#[derive(Debug)]
pub struct SessionFile {
    path: PathBuf,
    file: Arc<File>,
    /// Ends with the row that the next one follows on.
    index: Arc<Index>,
    /// Where the next row starts.
    length: u64,
    /// Part of a row could not be taken back; the next one must not be glued to it.
    torn: bool,
    fresh: Arc<AtomicBool>,
}

impl SessionFile {
    /// Starts a session, making its folder (0700) and its file (0600).
    ///
    /// # Errors
    /// When the file exists already, or cannot be made.
    pub fn create(path: &Path, header: &Header) -> Result<Self, SessionError> {
        let folder = path.parent().unwrap_or(Path::new("."));
        let io = |action| {
            move |source| SessionError::Io {
                action,
                path: path.to_owned(),
                source,
            }
        };
        std::fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(folder)
            .map_err(io("make the folder of"))?;
        let mut options = OpenOptions::new();
        options.read(true).append(true).create_new(true).mode(0o600);
        let file = options.open(path).map_err(io("create"))?;
        lock(&file, path)?;
        let mut session = Self {
            path: path.to_owned(),
            file: Arc::new(file),
            index: Arc::default(),
            length: 0,
            torn: false,
            fresh: Arc::new(AtomicBool::new(true)),
        };
        if let Err(error) = session.append(EntryBody::Checkpoint(header.clone().into())) {
            // A session without a header could never be opened again.
            _ = std::fs::remove_file(path);
            return Err(error);
        }
        Ok(session)
    }

    /// Takes up a session, and reads what it holds. A torn last line is ended with a newline, so
    /// that what follows stands on lines of its own; it is never removed.
    ///
    /// # Errors
    /// [`SessionError::InUse`] while another process writes it, [`SessionError::Corrupt`] when it
    /// has no header.
    pub fn open(path: &Path) -> Result<(Self, Loaded), SessionError> {
        let io = |action| {
            move |source| SessionError::Io {
                action,
                path: path.to_owned(),
                source,
            }
        };
        let mut file = OpenOptions::new()
            .read(true)
            .append(true)
            .open(path)
            .map_err(io("open"))?;
        lock(&file, path)?;
        let loaded = load::read(&file, path)?;
        let length = file.seek(SeekFrom::End(0)).map_err(io("read"))?;
        let session = Self {
            path: path.to_owned(),
            file: Arc::new(file),
            index: Arc::clone(&loaded.index),
            length,
            torn: loaded.torn,
            fresh: Arc::new(AtomicBool::new(false)),
        };
        Ok((session, loaded))
    }

    /// Where each row stands, up to the last one.
    #[must_use]
    pub fn index(&self) -> &Index {
        &self.index
    }

    /// Where the session stands.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Appends a row under an id of its own.
    ///
    /// # Errors
    /// As [`append_as`](Self::append_as).
    pub fn append(&mut self, body: EntryBody) -> Result<SessionEntry, SessionError> {
        self.append_as(EntryId::generate(), body)
    }

    /// Appends a row under a given id. When it returns, the row outlives this process.
    ///
    /// # Errors
    /// When the row could not be written whole, for instance on a full disk. What had been
    /// written of it is taken back, and the session is as it was.
    pub fn append_as(
        &mut self,
        id: EntryId,
        body: EntryBody,
    ) -> Result<SessionEntry, SessionError> {
        let entry = SessionEntry {
            id,
            parent_id: self.index.head().and_then(|row| row.key.id()),
            timestamp: time::now_ms(),
            body,
        };
        let mut line =
            serde_json::to_vec(&entry).map_err(|error| self.failed("write to", error.into()))?;
        let length = u32::try_from(line.len())
            .map_err(|_| self.failed("write to", io::ErrorKind::FileTooLarge.into()))?;
        line.push(b'\n');
        let offset = self.write(&line)?;
        Arc::make_mut(&mut self.index).push(Row {
            offset,
            length,
            kind: Kind::of(&entry.body),
            key: Key::of(&entry.id),
        });
        Ok(entry)
    }

    /// A handle that makes what is written so far survive a power cut, from any thread.
    #[must_use]
    pub fn syncer(&self) -> Syncer {
        Syncer {
            path: self.path.clone(),
            file: Arc::clone(&self.file),
            fresh: Arc::clone(&self.fresh),
        }
    }

    /// Gives the offset at which the bytes stand.
    fn write(&mut self, bytes: &[u8]) -> Result<u64, SessionError> {
        if self.torn {
            self.end_torn_row()?;
        }
        self.check_place()?;
        match (&*self.file).write_all(bytes) {
            Ok(()) => {
                let offset = self.length;
                self.length += bytes.len() as u64;
                Ok(offset)
            }
            Err(error) => {
                // Half a row would be damage.
                self.torn = self.file.set_len(self.length).is_err();
                Err(self.failed("write to", error))
            }
        }
    }

    /// Whoever deletes, replaces or cuts the file behind its writer's back makes every further row
    /// one that nobody will find; better said than acknowledged.
    fn check_place(&self) -> Result<(), SessionError> {
        let metadata = self.file.metadata();
        let metadata = metadata.map_err(|error| self.failed("write to", error))?;
        let problem = if metadata.nlink() == 0 {
            "it was deleted or replaced by another program"
        } else if metadata.len() != self.length {
            "it was changed by another program"
        } else {
            return Ok(());
        };
        Err(self.failed("write to", io::Error::other(problem)))
    }

    /// Ends what is left of a row, so that it costs itself alone.
    fn end_torn_row(&mut self) -> Result<(), SessionError> {
        let ended = (&*self.file)
            .write_all(b"\n")
            .and_then(|()| self.file.metadata());
        self.length = ended.map_err(|error| self.failed("write to", error))?.len();
        self.torn = false;
        Ok(())
    }

    fn failed(&self, action: &'static str, source: io::Error) -> SessionError {
        SessionError::Io {
            action,
            path: self.path.clone(),
            source,
        }
    }
}

impl Drop for SessionFile {
    /// Gives the lock up at once: a process that was just forked for a command would otherwise
    /// hold it, through its copy of the descriptor, until it executes.
    fn drop(&mut self) {
        _ = self.file.unlock();
    }
}

/// How long a lock is waited for. A writer that was killed while it started a process lives on in that
/// one, lock and all, until it has let go of what it does not need.
const PATIENCE: Duration = Duration::from_secs(1);

/// Between two looks at a lock.
const NEXT_LOOK: Duration = Duration::from_millis(10);

fn lock(file: &File, path: &Path) -> Result<(), SessionError> {
    let begun = Instant::now();
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(()),
            Err(TryLockError::WouldBlock) if begun.elapsed() < PATIENCE => sleep(NEXT_LOOK),
            Err(TryLockError::WouldBlock) => {
                return Err(SessionError::InUse {
                    path: path.to_owned(),
                });
            }
            Err(TryLockError::Error(source)) => {
                return Err(SessionError::Io {
                    action: "lock",
                    path: path.to_owned(),
                    source,
                });
            }
        }
    }
}

/// Makes names in a folder survive a power cut.
pub(crate) fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

/// Brings a session's rows to the disk itself. Blocking, so not for an event loop.
#[derive(Debug, Clone)]
pub struct Syncer {
    path: PathBuf,
    file: Arc<File>,
    fresh: Arc<AtomicBool>,
}

impl Syncer {
    /// Waits until everything that was appended before the call is on the disk; for a new file,
    /// its name in the folder too.
    ///
    /// # Errors
    /// When the disk says so.
    pub fn sync(&self) -> Result<(), SessionError> {
        let failed = |source| SessionError::Io {
            action: "sync",
            path: self.path.clone(),
            source,
        };
        self.file.sync_data().map_err(failed)?;
        if self.fresh.load(Ordering::Acquire) {
            let folder = self.path.parent().unwrap_or(Path::new("."));
            sync_folder(folder).map_err(failed)?;
            self.fresh.store(false, Ordering::Release);
        }
        Ok(())
    }
}
