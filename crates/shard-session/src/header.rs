//! The first line of a session.

use std::io::{BufRead, BufReader, Read};
use std::path::Path;

use shard_types::{Checkpoint, EntryBody, EntryId, SessionEntry, SessionId};

use crate::SessionError;
use crate::load::{failed, open};

/// What the first line says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Header {
    /// The session.
    pub session_id: SessionId,
    /// The folder that it works in.
    pub cwd: String,
    /// Milliseconds since the epoch.
    pub created_at: u64,
}

/// What a fork was split off from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Source {
    pub(crate) session_id: SessionId,
    pub(crate) entry_id: EntryId,
    /// The number of the fork's first message or result, there and here.
    pub(crate) first_index: usize,
}

/// What the first line of a session, or of a fork, says.
pub(crate) type FirstLine = (Header, Option<Source>);

/// The version of the file format that this build writes and reads.
pub(crate) const VERSION: u32 = 1;

impl From<Header> for Checkpoint {
    fn from(header: Header) -> Self {
        let Header {
            session_id,
            cwd,
            created_at,
        } = header;
        Self::Session {
            version: VERSION,
            session_id,
            cwd,
            created_at,
        }
    }
}

impl Header {
    /// Reads the first line of a session, or of a fork with what that was split off from.
    ///
    /// # Errors
    /// What is wrong with it.
    pub(crate) fn with_source(line: &[u8]) -> Result<(Self, Option<Source>), String> {
        let text = std::str::from_utf8(line).map_err(|_| "its first line is no text".to_owned())?;
        let entry = SessionEntry::from_json(text)
            .map_err(|_| "its first line is no session header".to_owned())?;
        let (version, header, source) = match entry.body {
            EntryBody::Checkpoint(Checkpoint::Session {
                version,
                session_id,
                cwd,
                created_at,
            }) => (version, (session_id, cwd, created_at), None),
            EntryBody::Checkpoint(Checkpoint::Fork {
                version,
                session_id,
                cwd,
                created_at,
                source_session_id,
                source_entry_id,
                first_index,
                ..
            }) => {
                let source = Source {
                    session_id: source_session_id,
                    entry_id: source_entry_id,
                    first_index: usize::try_from(first_index.unwrap_or(0)).unwrap_or(usize::MAX),
                };
                (version, (session_id, cwd, created_at), Some(source))
            }
            _ => return Err("its first line is no session header".to_owned()),
        };
        if version != VERSION {
            return Err(format!(
                "it has version {version} of the format, and this build reads version {VERSION}"
            ));
        }
        let (session_id, cwd, created_at) = header;
        let header = Self {
            session_id,
            cwd,
            created_at,
        };
        Ok((header, source))
    }

    /// Reads the first line of a file, and no more of it.
    ///
    /// # Errors
    /// When it cannot be read, or is no header.
    pub fn of_file(path: &Path) -> Result<Self, SessionError> {
        Self::with_source_of_file(path).map(|(header, _)| header)
    }

    pub(crate) fn with_source_of_file(path: &Path) -> Result<(Self, Option<Source>), SessionError> {
        let line = first_line(path)?;
        Self::with_source(&line).map_err(|reason| SessionError::Corrupt {
            path: path.to_owned(),
            reason,
        })
    }
}

/// The first line of a file, as far as a header may reach.
pub(crate) fn first_line(path: &Path) -> Result<Vec<u8>, SessionError> {
    /// Longest header that is looked at, in bytes.
    const LONGEST: u64 = 64 * 1024;
    let mut line = Vec::new();
    BufReader::new(open(path)?.take(LONGEST))
        .read_until(b'\n', &mut line)
        .map_err(|source| failed(path, source))?;
    Ok(line)
}
