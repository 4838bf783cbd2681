//! What a list of sessions shows of one.

use std::path::Path;

use shard_types::{ContentBlock, EntryBody, EntryId, MessageDetails, Role, SessionId};

use crate::index::parse;
use crate::lines::Lines;
use crate::load::{failed, open};
use crate::row::{Head, Kind};
use crate::{Header, SessionError};

/// Longest title, in characters.
const TITLE: usize = 80;

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

/// Reads through a session without keeping it. Of each row the head is looked at and no more;
/// lines that have none are passed over.
///
/// # Errors
/// When it cannot be read, or has no header.
pub fn summarize(path: &Path) -> Result<Summary, SessionError> {
    let file = open(path)?;
    let mut lines = Lines::from(&file, 0);
    let first = lines.next().map_err(|source| failed(path, source))?;
    let read = Header::with_source(first.map_or(&[], |line| line.bytes));
    let (header, source) = read.map_err(|reason| SessionError::Corrupt {
        path: path.to_owned(),
        reason,
    })?;
    let mut summary = Summary {
        forked_from: source.map(|source| (source.session_id, source.entry_id)),
        updated_at: header.created_at,
        header,
        title: None,
        message_count: 0,
    };
    let mut before = Vec::new();
    while let Some(line) = lines.next().map_err(|source| failed(path, source))? {
        if let Some(head) = Head::read(line.bytes, &mut before) {
            summary.take(&head, line.bytes);
        }
    }
    Ok(summary)
}

impl Summary {
    fn take(&mut self, head: &Head, line: &[u8]) {
        self.updated_at = head.timestamp;
        if head.kind != Kind::Message {
            return;
        }
        self.message_count += 1;
        if self.title.is_none()
            && let Some(entry) = parse(line)
            && let EntryBody::Message(details) = &entry.body
        {
            self.title = title(details);
        }
    }
}

fn title(details: &MessageDetails) -> Option<String> {
    if details.role != Role::User {
        return None;
    }
    let text = details.content.iter().find_map(|block| match block {
        ContentBlock::Text { text } => Some(text.as_str()),
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
