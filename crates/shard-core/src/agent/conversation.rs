//! What has been said so far, in memory.

use std::collections::HashSet;

use shard_types::event::LiveWindow;
use shard_types::{ContentBlock, EntryBody, Message, Role, SessionEntry, Usage};

use crate::history;

/// How much of a conversation a `sync` carries, in bytes of JSON.
const WINDOW_BYTES: usize = 1024 * 1024;

/// The messages and results of a session, in order.
#[derive(Default)]
pub(super) struct Conversation {
    entries: Vec<SessionEntry>,
    call_ids: HashSet<String>,
    /// Calls of the last message of the model that have no result yet, in order.
    open_calls: Vec<String>,
    started: HashSet<String>,
    /// Of all provider calls.
    usage: Option<Usage>,
}

impl Conversation {
    /// Takes up what the provider calls took whose answers are not among the entries.
    pub(super) fn start_from(&mut self, usage: Option<Usage>) {
        self.usage = usage;
    }

    /// Takes up an entry that is on disk.
    pub(super) fn add(&mut self, entry: SessionEntry) {
        match &entry.body {
            EntryBody::Message(message) if message.role == Role::Assistant => {
                if let Some(usage) = &message.usage {
                    self.usage.get_or_insert_default().add(usage);
                }
                let ids = message.content.iter().filter_map(|block| match block {
                    ContentBlock::ToolCall { id, .. } => Some(id.clone()),
                    _ => None,
                });
                self.open_calls = ids.collect();
                self.call_ids.extend(self.open_calls.iter().cloned());
                self.started.clear();
            }
            EntryBody::Message(_) => {}
            EntryBody::ToolResult(result) => {
                self.open_calls.retain(|id| *id != result.tool_call_id)
            }
            EntryBody::Checkpoint(shard_types::Checkpoint::ToolStarted { tool_call_id }) => {
                self.started.insert(tool_call_id.clone());
                return;
            }
            _ => return,
        }
        self.entries.push(entry);
    }

    /// Calls that still need a result, and whether each had started.
    pub(super) fn open_calls(&self) -> Vec<(String, bool)> {
        self.open_calls
            .iter()
            .map(|id| (id.clone(), self.started.contains(id)))
            .collect()
    }

    /// Whether this call still needs a result.
    pub(super) fn is_open(&self, id: &str) -> bool {
        self.open_calls.iter().any(|open| open == id)
    }

    /// Whether a call of this id was ever made.
    pub(super) fn knows_call(&self, id: &str) -> bool {
        self.call_ids.contains(id)
    }

    /// What the provider calls took whose answers are kept.
    pub(super) fn usage(&self) -> Option<Usage> {
        self.usage.clone()
    }

    /// The history for a provider.
    pub(super) fn history(&self) -> Vec<Message> {
        history::assemble(&self.entries)
    }

    /// What the model said last.
    pub(super) fn last_message(&self) -> Option<Message> {
        let said = self.entries.iter().rev().filter_map(shown);
        said.into_iter()
            .find(|message| message.role == Role::Assistant)
    }

    /// The newest messages up to a bound, and `draft` after them.
    pub(super) fn window(&self, draft: Option<Message>) -> LiveWindow {
        let mut messages: Vec<Message> = Vec::new();
        let mut room = WINDOW_BYTES;
        let mut has_more = false;
        for message in draft
            .into_iter()
            .chain(self.entries.iter().rev().filter_map(shown))
        {
            let size = serde_json::to_vec(&message).map_or(0, |json| json.len());
            if size > room && !messages.is_empty() {
                has_more = true;
                break;
            }
            room = room.saturating_sub(size);
            messages.push(message);
        }
        messages.reverse();
        LiveWindow {
            messages,
            compaction_index: None,
            has_more,
        }
    }
}

/// An entry as a `sync` shows it. Pictures are left out.
fn shown(entry: &SessionEntry) -> Option<Message> {
    let mut message = entry.message()?;
    message.content.iter_mut().for_each(leave_picture_out);
    Some(message)
}

fn leave_picture_out(block: &mut ContentBlock) {
    if let ContentBlock::Image { data, omitted, .. } = block {
        data.clear();
        *omitted = true;
    }
}
