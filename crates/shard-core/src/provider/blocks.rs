//! The blocks of an answer as they open, and the ids of its tool calls.

use std::collections::HashSet;

use shard_contracts::ProviderEvent;
use shard_types::{ContentBlock, Message};

#[derive(Clone, Copy, PartialEq, Eq)]
enum Open {
    Text,
    Thinking,
    Call,
}

/// Numbers blocks in the order in which they open.
#[derive(Default)]
pub(super) struct Blocks {
    count: u32,
    open: Option<Open>,
    /// Blank text that no block was opened for: most often nothing follows it.
    held: String,
}

impl Blocks {
    fn start(&mut self, kind: Open) -> u32 {
        self.open = Some(kind);
        self.count += 1;
        self.count - 1
    }

    fn current(&mut self, kind: Open) -> u32 {
        if self.open == Some(kind) {
            self.count - 1
        } else {
            self.start(kind)
        }
    }

    /// The next text or thought opens a block of its own.
    pub(super) fn close(&mut self) {
        self.open = None;
        self.held.clear();
    }

    /// Appends text. A block opens at the first text that is not blank.
    pub(super) fn text(&mut self, delta: &str, out: &mut Vec<ProviderEvent>) {
        if self.open != Some(Open::Text) && delta.trim().is_empty() {
            self.held.push_str(delta);
            return;
        }
        if delta.is_empty() {
            return;
        }
        let block = self.current(Open::Text);
        let delta = std::mem::take(&mut self.held) + delta;
        out.push(ProviderEvent::Text { block, delta });
    }

    /// Appends a thought.
    pub(super) fn thinking(&mut self, delta: &str, out: &mut Vec<ProviderEvent>) {
        if !delta.is_empty() {
            let block = self.current(Open::Thinking);
            out.push(ProviderEvent::Thinking {
                block,
                delta: delta.to_owned(),
            });
        }
    }

    /// Opens a thinking block even without a text: its signature may be all there is.
    pub(super) fn open_thinking(&mut self, text: &str, out: &mut Vec<ProviderEvent>) -> u32 {
        let block = self.start(Open::Thinking);
        out.push(ProviderEvent::Thinking {
            block,
            delta: text.to_owned(),
        });
        block
    }

    /// Signs the thinking block.
    pub(super) fn sign(&mut self, signature: &str, out: &mut Vec<ProviderEvent>) {
        if !signature.is_empty() {
            let block = self.current(Open::Thinking);
            out.push(ProviderEvent::Signature {
                block,
                signature: signature.to_owned(),
            });
        }
    }

    /// Opens a tool call.
    pub(super) fn call(&mut self, id: String, name: &str, out: &mut Vec<ProviderEvent>) -> u32 {
        let block = self.start(Open::Call);
        out.push(ProviderEvent::ToolCall {
            block,
            id,
            name: name.to_owned(),
        });
        block
    }
}

/// Ids of tool calls that are taken in this conversation.
#[derive(Default)]
pub(super) struct CallIds(HashSet<String>);

impl CallIds {
    /// The ids of a history. Some servers count from zero in every answer.
    pub(super) fn of(messages: &[Message]) -> Self {
        let blocks = messages.iter().flat_map(|message| &message.content);
        let ids = blocks.filter_map(|block| match block {
            ContentBlock::ToolCall { id, .. } => Some(id.clone()),
            _ => None,
        });
        Self(ids.collect())
    }

    /// The sent id where there is one and it is free, else a new one.
    pub(super) fn claim(&mut self, sent: Option<&str>) -> String {
        let sent = sent
            .map(str::to_owned)
            .filter(|id| !id.is_empty() && !self.0.contains(id));
        let id = sent.unwrap_or_else(|| format!("call-{:032x}", rand::random::<u128>()));
        self.0.insert(id.clone());
        id
    }
}
