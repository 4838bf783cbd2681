//! The session file as the session's task uses it.

use std::path::Path;
use std::time::Duration;

use shard_session::{SessionError, SessionFile, Syncer};
use shard_types::{Checkpoint, EntryBody, EntryId, SessionEntry};
use tokio::time::Instant;
use tokio_util::task::TaskTracker;

/// Longest time that a row may wait for the disk.
const SYNC_EVERY: Duration = Duration::from_secs(1);

/// Appends rows, and knows when the disk is behind.
pub(super) struct Store {
    file: SessionFile,
    /// When the oldest row that is not synced must be.
    due: Option<Instant>,
    /// Syncs under way; each keeps the file open.
    syncing: TaskTracker,
}

impl Store {
    pub(super) fn new(file: SessionFile) -> Self {
        Self {
            file,
            due: None,
            syncing: TaskTracker::new(),
        }
    }

    pub(super) fn path(&self) -> &Path {
        self.file.path()
    }

    pub(super) fn append(&mut self, body: EntryBody) -> Result<SessionEntry, SessionError> {
        self.append_as(EntryId::generate(), body)
    }

    pub(super) fn append_as(
        &mut self,
        id: EntryId,
        body: EntryBody,
    ) -> Result<SessionEntry, SessionError> {
        let entry = self.file.append_as(id, body)?;
        self.due.get_or_insert_with(|| Instant::now() + SYNC_EVERY);
        Ok(entry)
    }

    pub(super) fn checkpoint(
        &mut self,
        checkpoint: Checkpoint,
    ) -> Result<SessionEntry, SessionError> {
        self.append(EntryBody::Checkpoint(checkpoint))
    }

    pub(super) fn sync_due(&self) -> Option<Instant> {
        self.due
    }

    /// Starts to sync everything that is written, away from the event loop.
    pub(super) fn sync(&mut self) -> tokio::task::JoinHandle<Result<(), SessionError>> {
        self.due = None;
        let syncer: Syncer = self.file.syncer();
        self.syncing.spawn_blocking(move || syncer.sync())
    }

    /// Brings everything to the disk and lets go of the file: when this returns, another may open it.
    pub(super) async fn close(mut self) {
        if let Ok(Err(error)) = self.sync().await {
            tracing::error!(%error, "the session is not safe against a power cut");
        }
        self.syncing.close();
        self.syncing.wait().await;
    }

    /// Starts to sync if anything is behind; a failure is logged, as nobody waits for it.
    pub(super) fn sync_in_background(&mut self) {
        if self.due.is_some() {
            let syncing = self.sync();
            tokio::spawn(async move {
                if let Ok(Err(error)) = syncing.await {
                    tracing::error!(%error, "the session is not safe against a power cut");
                }
            });
        }
    }
}
