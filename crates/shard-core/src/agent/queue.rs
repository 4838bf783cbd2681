//! Prompts that wait, and the keys of those that were accepted.

use std::collections::VecDeque;
use std::hash::{DefaultHasher, Hash, Hasher};

use shard_types::event::{QueuedKind, QueuedPrompt};
use shard_types::{Checkpoint, EntryId, Image};

/// A prompt that is on disk and not yet delivered.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Accepted {
    pub(super) message_id: EntryId,
    pub(super) kind: QueuedKind,
    pub(super) message: String,
    pub(super) images: Vec<Image>,
    pub(super) request_key: Option<String>,
}

impl Accepted {
    pub(super) fn checkpoint(&self) -> Checkpoint {
        Checkpoint::PromptAccepted {
            message_id: self.message_id.clone(),
            kind: self.kind,
            message: self.message.clone(),
            images: self.images.clone(),
            request_key: self.request_key.clone(),
        }
    }

    /// As `abort` gives it back.
    fn whole(&self) -> QueuedPrompt {
        QueuedPrompt {
            request_key: self.request_key.clone(),
            kind: self.kind,
            message: self.message.clone(),
            images: self.images.clone(),
        }
    }
}

/// How many request keys are remembered.
const KEYS: usize = 200;
/// How many prompts may wait.
const WAITING: usize = 200;
/// How much text may wait, in bytes, unless it is one prompt: clients are shown all of it whenever
/// it changes.
const WAITING_BYTES: usize = 2 * 1024 * 1024;
/// How much base64 of pictures may wait, unless it is one prompt: an abort gives all of it back in
/// one message.
const WAITING_PICTURES: usize = 12 * 1024 * 1024;

/// How much base64 these have.
pub(super) fn picture_bytes(images: &[Image]) -> usize {
    images.iter().map(|image| image.data.len()).sum()
}

fn digest(message: &str, images: &[Image]) -> u64 {
    // Not the randomized hasher: nobody but the sender could gain from a collision.
    let mut hasher = DefaultHasher::new();
    message.hash(&mut hasher);
    for image in images {
        (&image.mime_type, &image.data).hash(&mut hasher);
    }
    hasher.finish()
}

/// What a request key was used for.
struct UsedKey {
    key: String,
    /// Of the text and the pictures, which may be large.
    digest: u64,
    message_id: EntryId,
}

/// What is known of a request key.
pub(super) enum KeyUse {
    New,
    /// The same was accepted before, as this message.
    Repeat(EntryId),
    /// Something else was accepted under the key.
    Other,
}

/// The prompts of a session that wait, in order.
#[derive(Default)]
pub(super) struct Queue {
    waiting: VecDeque<Accepted>,
    keys: VecDeque<UsedKey>,
    /// What clients know to wait.
    told: Vec<EntryId>,
}

impl Queue {
    /// Takes up a prompt that is on disk.
    pub(super) fn push(&mut self, prompt: Accepted) {
        if let Some(key) = &prompt.request_key {
            if self.keys.len() == KEYS {
                self.keys.pop_front();
            }
            self.keys.push_back(UsedKey {
                key: key.clone(),
                digest: digest(&prompt.message, &prompt.images),
                message_id: prompt.message_id.clone(),
            });
        }
        self.waiting.push_back(prompt);
    }

    /// Whether a prompt of this text and these pictures has no room beside what waits.
    pub(super) fn is_full(&self, message: &str, images: &[Image]) -> bool {
        let waiting = self.waiting.iter();
        let (text, pictures) = waiting.fold(
            (message.len(), picture_bytes(images)),
            |(text, pictures), prompt| {
                (
                    text + prompt.message.len(),
                    pictures + picture_bytes(&prompt.images),
                )
            },
        );
        let too_much = text > WAITING_BYTES || pictures > WAITING_PICTURES;
        (too_much && !self.waiting.is_empty()) || self.waiting.len() >= WAITING
    }

    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    pub(super) fn key_use(&self, key: &str, message: &str, images: &[Image]) -> KeyUse {
        match self.keys.iter().find(|used| used.key == key) {
            None => KeyUse::New,
            Some(used) if used.digest == digest(message, images) => {
                KeyUse::Repeat(used.message_id.clone())
            }
            Some(_) => KeyUse::Other,
        }
    }

    /// Whether a prompt was sent with this key.
    pub(super) fn knows_key(&self, key: &str) -> bool {
        self.keys.iter().any(|used| used.key == key)
    }

    /// A prompt was delivered, or will not be: it waits no longer.
    pub(super) fn forget(&mut self, message_id: &EntryId) {
        self.waiting
            .retain(|prompt| prompt.message_id != *message_id);
    }

    /// A prompt was not accepted after all, as its sender was told: whoever sends it again means it.
    pub(super) fn refuse(&mut self, message_id: &EntryId) {
        self.forget(message_id);
        self.keys.retain(|used| used.message_id != *message_id);
    }

    /// The one that the next turn starts with.
    pub(super) fn first(&self) -> Option<Accepted> {
        self.waiting.front().cloned()
    }

    /// The steers, in order.
    pub(super) fn steers(&self) -> Vec<Accepted> {
        self.waiting
            .iter()
            .filter(|prompt| prompt.kind == QueuedKind::Steer)
            .cloned()
            .collect()
    }

    /// All that waits, as clients see it, if they were told something else last.
    pub(super) fn news(&mut self) -> Option<Vec<QueuedPrompt>> {
        let waiting = self.waiting.iter().map(|prompt| &prompt.message_id);
        if waiting.clone().eq(&self.told) {
            return None;
        }
        self.told = waiting.cloned().collect();
        Some(self.shown())
    }

    /// As clients see it, without pictures.
    pub(super) fn shown(&self) -> Vec<QueuedPrompt> {
        self.waiting
            .iter()
            .map(|prompt| QueuedPrompt {
                images: Vec::new(),
                ..prompt.whole()
            })
            .collect()
    }

    /// All that waits, with its ids.
    pub(super) fn all(&self) -> (Vec<EntryId>, Vec<QueuedPrompt>) {
        self.waiting
            .iter()
            .map(|prompt| (prompt.message_id.clone(), prompt.whole()))
            .unzip()
    }
}
