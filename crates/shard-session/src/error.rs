//! What can go wrong with a session.

use std::io;
use std::path::PathBuf;

use shard_types::{EntryId, ErrorCode, SessionId};

/// Why a session could not be opened, read or written.
#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    /// There is no such session.
    #[error("there is no session {0}; `--continue` opens the latest one of this folder")]
    NotFound(SessionId),
    /// There is no session of this folder.
    #[error("there is no earlier session of {0} to continue; leave out --continue to start one")]
    NoneToContinue(PathBuf),
    /// The session has no such message or result.
    #[error(
        "the session has no message or result {0}; name the id of one that it shows, of another kind of row there is no fork"
    )]
    NoEntry(EntryId),
    /// Another process writes the session.
    #[error(
        "the session {path} is in use by another process; end that one first, or start a session of its own"
    )]
    InUse {
        /// The file.
        path: PathBuf,
    },
    /// The file's first line is not the header of a session.
    #[error("the session {path} cannot be restored: {reason}. The file is left as it is")]
    Corrupt {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// Reading or writing failed.
    #[error("cannot {action} the session {path}: {source}")]
    Io {
        /// What was tried.
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
}

impl SessionError {
    /// The code on the wire.
    #[must_use]
    pub fn code(&self) -> ErrorCode {
        match self {
            Self::NotFound(_) | Self::NoneToContinue(_) | Self::NoEntry(_) => ErrorCode::NotFound,
            Self::InUse { .. } => ErrorCode::Conflict,
            Self::Corrupt { .. } => ErrorCode::SessionCorrupt,
            Self::Io { .. } => ErrorCode::InternalError,
        }
    }
}
