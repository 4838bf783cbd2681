//! What has been said so far, as far as the model still reads it: the live window.

use std::collections::HashSet;

use shard_types::event::LiveWindow;
use shard_types::{
    Checkpoint, CompactionDetails, ContentBlock, EntryBody, EntryId, Message, Role, SessionEntry,
    ToolResultContent, Usage,
};

use crate::{compaction, history};

/// How much of a conversation a `sync` carries, in bytes of JSON.
const WINDOW_BYTES: usize = 1024 * 1024;

/// The messages and results since the last compaction, in order, and the summary before them.
#[derive(Default)]
pub(super) struct Conversation {
    entries: Vec<SessionEntry>,
    /// What stands for everything before the entries.
    summary: Option<CompactionDetails>,
    /// How many messages and results stand before the entries.
    before: u64,
    /// The size in tokens of everything that is sent with the first so many entries, as the provider
    /// or the last compaction gave it.
    measured: Option<(u64, usize)>,
    call_ids: HashSet<String>,
    /// Calls of the last message of the model that have no result yet, in order.
    open_calls: Vec<String>,
    started: HashSet<String>,
    /// Of all provider calls.
    usage: Option<Usage>,
}

impl Conversation {
    /// Takes up what is known of messages and results before the first entry: how many there are, and
    /// what the provider calls took.
    pub(super) fn start_from(&mut self, before: u64, usage: Option<Usage>) {
        self.before = before;
        self.usage = usage;
    }

    /// Takes up an entry that is on disk.
    pub(super) fn add(&mut self, entry: SessionEntry) {
        let mut measured = None;
        match &entry.body {
            EntryBody::Message(message) if message.role == Role::Assistant => {
                if let Some(usage) = &message.usage {
                    self.usage.get_or_insert_default().add(usage);
                    measured = usage.context_tokens;
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
                self.open_calls.retain(|id| *id != result.tool_call_id);
            }
            EntryBody::Checkpoint(Checkpoint::ToolStarted { tool_call_id }) => {
                self.started.insert(tool_call_id.clone());
                return;
            }
            EntryBody::Checkpoint(Checkpoint::ResultsShortened { entry_ids }) => {
                return self.shorten(entry_ids);
            }
            EntryBody::Compaction(details) => return self.summarized(details),
            _ => return,
        }
        self.entries.push(entry);
        if let Some(tokens) = measured {
            self.measured = Some((tokens, self.entries.len()));
        }
    }

    /// A summary takes the place of everything before the first entry that it keeps.
    fn summarized(&mut self, details: &CompactionDetails) {
        let first = &details.first_kept_entry_id;
        if let Some(kept) = self.entries.iter().position(|entry| entry.id == *first) {
            self.entries.drain(..kept);
            self.before += kept as u64;
        }
        if let Some(usage) = &mut self.usage {
            usage.context_tokens = Some(details.tokens_after);
        }
        self.measured = Some((details.tokens_after, self.entries.len()));
        self.summary = Some(details.clone());
    }

    /// From now on the model reads the ends of these results only.
    fn shorten(&mut self, ids: &[EntryId]) {
        let mut saved = 0;
        for (index, entry) in (self.before..).zip(&mut self.entries) {
            if !ids.contains(&entry.id) {
                continue;
            }
            let size = compaction::estimate(entry);
            if let EntryBody::ToolResult(result) = &mut entry.body
                && !matches!(result.content, ToolResultContent::Error { .. })
            {
                let ends = compaction::shorten(&result.content.to_text(), index);
                result.content = ToolResultContent::text(ends);
            }
            saved += size.saturating_sub(compaction::estimate(entry));
        }
        if let Some((tokens, _)) = &mut self.measured {
            *tokens = tokens.saturating_sub(saved);
        }
    }

    /// The messages and results that the model reads, oldest first.
    pub(super) fn entries(&self) -> &[SessionEntry] {
        &self.entries
    }

    /// What stands for everything before them.
    pub(super) fn summary(&self) -> Option<&CompactionDetails> {
        self.summary.as_ref()
    }

    /// How many messages and results of the session stand before them.
    pub(super) fn before(&self) -> u64 {
        self.before
    }

    /// The size in tokens of a request with this history: as the provider said last, with an
    /// estimate of what came since; else an estimate of all, to which `fixed` gives what is sent
    /// besides.
    pub(super) fn tokens(&self, fixed: impl FnOnce() -> u64) -> u64 {
        let (known, rest) = match self.measured {
            Some((tokens, entries)) => (tokens, self.entries.get(entries..).unwrap_or_default()),
            None => (fixed(), &self.entries[..]),
        };
        known.saturating_add(rest.iter().map(compaction::estimate).sum())
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
        history::assemble(&self.entries, self.summary.is_some())
    }

    /// What the model said last.
    pub(super) fn last_message(&self) -> Option<Message> {
        let mut said = self.entries.iter().rev().filter_map(shown);
        said.find(|message| message.role == Role::Assistant)
    }

    /// The newest messages up to a bound, and `draft` after them.
    pub(super) fn window(&self, draft: Option<Message>) -> LiveWindow {
        let mut messages: Vec<Message> = Vec::new();
        let mut room = WINDOW_BYTES;
        let mut has_more = self.before > 0;
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
            compaction_index: self.summary.as_ref().map(|summary| summary.index),
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
