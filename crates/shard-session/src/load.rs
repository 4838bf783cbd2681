//! Reading a session, whatever has happened to it.

use std::collections::HashMap;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

use shard_types::{Checkpoint, EntryBody, EntryId, SessionEntry, SessionId};

use crate::SessionError;

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

/// The version of the file format that this build writes and reads.
const VERSION: u32 = 1;

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
    /// Reads the first line of a session or of a fork.
    ///
    /// # Errors
    /// What is wrong with it.
    pub(crate) fn read(line: &[u8]) -> Result<Self, String> {
        let text = std::str::from_utf8(line).map_err(|_| "its first line is no text".to_owned())?;
        let entry = SessionEntry::from_json(text)
            .map_err(|_| "its first line is no session header".to_owned())?;
        let EntryBody::Checkpoint(
            Checkpoint::Session {
                version,
                session_id,
                cwd,
                created_at,
            }
            | Checkpoint::Fork {
                version,
                session_id,
                cwd,
                created_at,
                ..
            },
        ) = entry.body
        else {
            return Err("its first line is no session header".to_owned());
        };
        if version != VERSION {
            return Err(format!(
                "it has version {version} of the format, and this build reads version {VERSION}"
            ));
        }
        Ok(Self {
            session_id,
            cwd,
            created_at,
        })
    }
}

/// A line that could not be read. It stays in the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Damage {
    /// Its number, from 1.
    pub line: u64,
}

/// What a session holds.
#[derive(Debug, Clone, PartialEq)]
pub struct Loaded {
    /// The first line.
    pub header: Header,
    /// The entries of the chain that ends with the last one, oldest first, the header's included.
    pub entries: Vec<SessionEntry>,
    /// Lines that were skipped.
    pub damage: Vec<Damage>,
    /// The last line has no end: the machine went down while it was written.
    pub(crate) torn: bool,
}

/// Reads a session without becoming its writer.
///
/// # Errors
/// When it cannot be read, or has no header.
pub fn load(path: &Path) -> Result<Loaded, SessionError> {
    let file = File::open(path).map_err(|source| SessionError::Io {
        action: "open",
        path: path.to_owned(),
        source,
    })?;
    read(&file, path)
}

pub(crate) fn read(file: &File, path: &Path) -> Result<Loaded, SessionError> {
    let io = |source| SessionError::Io {
        action: "read",
        path: path.to_owned(),
        source,
    };
    let mut reader = BufReader::with_capacity(1 << 16, file);
    let mut rows = Rows::default();
    let (mut line, mut number, mut torn, mut header) = (Vec::new(), 0, false, None);
    while reader.read_until(b'\n', &mut line).map_err(io)? > 0 {
        number += 1;
        torn = line.last() != Some(&b'\n');
        if header.is_none() {
            let read = Header::read(&line);
            let corrupt = |reason| SessionError::Corrupt {
                path: path.to_owned(),
                reason,
            };
            header = Some(read.map_err(corrupt)?);
        }
        rows.take(number, &line);
        line.clear();
    }
    let header = header.ok_or_else(|| SessionError::Corrupt {
        path: path.to_owned(),
        reason: "it is empty".to_owned(),
    })?;
    Ok(Loaded {
        header,
        damage: std::mem::take(&mut rows.damage),
        entries: rows.chain(),
        torn,
    })
}

/// The rows of a file in its order, and where the damage was.
#[derive(Default)]
struct Rows {
    entries: Vec<SessionEntry>,
    /// For each entry, whether damaged lines stand right before it.
    after_damage: Vec<bool>,
    damage: Vec<Damage>,
    damaged: bool,
}

impl Rows {
    fn take(&mut self, number: u64, line: &[u8]) {
        if line.iter().all(u8::is_ascii_whitespace) {
            return;
        }
        let entry = std::str::from_utf8(line)
            .ok()
            .and_then(|text| SessionEntry::from_json(text).ok());
        match entry {
            Some(entry) => {
                self.entries.push(entry);
                self.after_damage.push(std::mem::take(&mut self.damaged));
            }
            None => {
                self.damage.push(Damage { line: number });
                self.damaged = true;
            }
        }
    }

    /// Walks from the last entry to the first. Where a parent is lost to damage, the walk goes on
    /// with the entry before the damage; entries on no way to the head are left out.
    fn chain(self) -> Vec<SessionEntry> {
        let places: HashMap<&EntryId, usize> = self
            .entries
            .iter()
            .enumerate()
            .map(|(place, entry)| (&entry.id, place))
            .collect();
        let mut on_chain = vec![false; self.entries.len()];
        let mut next = self.entries.len().checked_sub(1);
        while let Some(place) = next {
            on_chain[place] = true;
            let parent = self.entries[place].parent_id.as_ref();
            next = match parent.and_then(|id| places.get(id)) {
                Some(&parent) if parent < place => Some(parent),
                // Lost, or a loop: only damage explains it, so the file's order is the best guess.
                _ if parent.is_some() || self.after_damage[place] => place.checked_sub(1),
                _ => None,
            };
        }
        on_chain[0] = true; // the header names the session, whatever the chain looks like
        let kept = self
            .entries
            .into_iter()
            .zip(on_chain)
            .filter(|(_, kept)| *kept);
        kept.map(|(entry, _)| entry).collect()
    }
}
