//! What a list of sessions shows of one, and pages of its messages.

use std::borrow::Cow;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

use serde::Deserialize;
use serde_json::value::RawValue;
use shard_types::{
    Checkpoint, EntryBody, EntryId, Message, MessageDetails, Role, SessionEntry, SessionId,
};

use crate::{Header, SessionError, load};

/// Longest title, in characters.
const TITLE: usize = 80;

/// How much of a session one page carries, in bytes of JSON, unless a single message is larger.
const PAGE_BYTES: usize = 4 << 20;

/// One session in a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Summary {
    /// The first line.
    pub header: Header,
    /// The beginning of the first thing that a person said.
    pub title: Option<String>,
    /// How many messages of people and of the model it has.
    pub message_count: u64,
    /// When its last entry was written, in milliseconds since the epoch.
    pub updated_at: u64,
    /// The session and the entry that it was split off from.
    pub forked_from: Option<(SessionId, EntryId)>,
}

/// A row as far as a summary looks at it.
#[derive(Deserialize)]
struct Row<'a> {
    timestamp: u64,
    #[serde(rename = "type", borrow)]
    kind: Cow<'a, str>,
    #[serde(borrow)]
    details: &'a RawValue,
}

/// Reads through a session without keeping it. Lines that cannot be read are passed over.
///
/// # Errors
/// When it cannot be read, or has no header.
pub fn summarize(path: &Path) -> Result<Summary, SessionError> {
    let io = |source| SessionError::Io {
        action: "read",
        path: path.to_owned(),
        source,
    };
    let mut reader = BufReader::with_capacity(1 << 16, File::open(path).map_err(io)?);
    let mut line = Vec::new();
    reader.read_until(b'\n', &mut line).map_err(io)?;
    let corrupt = |reason| SessionError::Corrupt {
        path: path.to_owned(),
        reason,
    };
    let header = Header::read(&line).map_err(corrupt)?;
    let mut summary = Summary {
        forked_from: forked_from(&line),
        updated_at: header.created_at,
        header,
        title: None,
        message_count: 0,
    };
    line.clear();
    while reader.read_until(b'\n', &mut line).map_err(io)? > 0 {
        if let Ok(row) = serde_json::from_slice(&line) {
            summary.take(&row);
        }
        line.clear();
    }
    Ok(summary)
}

impl Summary {
    fn take(&mut self, row: &Row<'_>) {
        self.updated_at = row.timestamp;
        if row.kind != "message" {
            return;
        }
        self.message_count += 1;
        if self.title.is_none() {
            self.title = title(row.details.get());
        }
    }
}

fn title(details: &str) -> Option<String> {
    let details: MessageDetails = serde_json::from_str(details).ok()?;
    if details.role != Role::User {
        return None;
    }
    let text = details.content.iter().find_map(|block| match block {
        shard_types::ContentBlock::Text { text } => Some(text.as_str()),
        _ => None,
    })?;
    let line = text.lines().map(str::trim).find(|line| !line.is_empty())?;
    let shown: String = line
        .chars()
        .filter(|c| !c.is_control())
        .take(TITLE)
        .collect();
    Some(shown).filter(|title| !title.is_empty())
}

fn forked_from(line: &[u8]) -> Option<(SessionId, EntryId)> {
    let entry = SessionEntry::from_json(std::str::from_utf8(line).ok()?).ok()?;
    match entry.body {
        EntryBody::Checkpoint(Checkpoint::Fork {
            source_session_id,
            source_entry_id,
            ..
        }) => Some((source_session_id, source_entry_id)),
        _ => None,
    }
}

/// A part of a session's messages.
#[derive(Debug, Clone, PartialEq)]
pub struct Page {
    /// Oldest first, pictures included. One row each; results are messages of the user.
    pub messages: Vec<Message>,
    /// There are older ones.
    pub has_more: bool,
}

/// The last `limit` messages of a session, or the last ones before an entry; fewer if they are
/// large.
///
/// # Errors
/// When the session cannot be read; `None` when it has no message of the id `before`.
pub fn page(
    path: &Path,
    before: Option<&EntryId>,
    limit: usize,
) -> Result<Option<Page>, SessionError> {
    let entries = load(path)?.entries;
    let mut all: Vec<Message> = entries.iter().filter_map(SessionEntry::message).collect();
    let end = match before {
        None => all.len(),
        Some(id) => match all.iter().position(|message| message.id == *id) {
            Some(at) => at,
            None => return Ok(None),
        },
    };
    let (mut start, mut room) = (end, PAGE_BYTES);
    while start > 0 && end - start < limit {
        let size = serde_json::to_vec(&all[start - 1]).map_or(0, |json| json.len());
        if size > room && start < end {
            break;
        }
        room = room.saturating_sub(size);
        start -= 1;
    }
    all.truncate(end);
    Ok(Some(Page {
        messages: all.split_off(start),
        has_more: start > 0,
    }))
}
