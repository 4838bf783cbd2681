//! Pages of a session's messages.

use std::ops::ControlFlow;

use shard_types::{EntryId, Message, SessionEntry};

use crate::index::Order;
use crate::{Reader, SessionError};

/// How much of a session one page carries, in bytes of JSON, unless a single message is larger.
const PAGE_BYTES: usize = 4 << 20;

/// A part of a session's messages.
#[derive(Debug, Clone, PartialEq)]
pub struct Page {
    /// Oldest first, pictures included. One row each; results are messages of the user.
    pub messages: Vec<Message>,
    /// There are older ones.
    pub has_more: bool,
}

impl Reader {
    /// The last `limit` messages, or the last ones before an entry; fewer if they are large. Only
    /// these are parsed.
    ///
    /// # Errors
    /// When the session cannot be read; `None` when it has no message of the id `before`.
    pub fn page(
        &self,
        before: Option<&EntryId>,
        limit: usize,
    ) -> Result<Option<Page>, SessionError> {
        let end = match before {
            None => Some(self.index().len()),
            Some(id) => self.index().find(id),
        };
        let Some(end) = end else {
            return Ok(None);
        };
        let (mut messages, mut room, mut has_more) = (Vec::new(), PAGE_BYTES, false);
        self.visit(0..end, Order::Backward, |_, entry| {
            let Some(message) = SessionEntry::message(&entry) else {
                return ControlFlow::Continue(());
            };
            let size = serde_json::to_vec(&message).map_or(0, |json| json.len());
            has_more = messages.len() == limit || (size > room && !messages.is_empty());
            if has_more {
                return ControlFlow::Break(());
            }
            room = room.saturating_sub(size);
            messages.push(message);
            ControlFlow::Continue(())
        })?;
        messages.reverse();
        Ok(Some(Page { messages, has_more }))
    }
}
