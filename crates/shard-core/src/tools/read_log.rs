//! What one agent has read, so that it never overwrites a change that came after. A file that it
//! has never read may be overwritten; the result then says what it was in place of.
//!
//! Files are compared by content, not by time: a `touch` changes nothing that matters, and a
//! change within one tick of the clock does.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hasher as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The content of a file at one moment, in short.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Fingerprint {
    hash: u64,
    bytes: u64,
}

impl Fingerprint {
    /// Of content in memory.
    pub(crate) fn of(bytes: &[u8]) -> Self {
        let mut printer = Fingerprinter::default();
        printer.add(bytes);
        printer.finish()
    }
}

/// Makes a [`Fingerprint`] of content that comes in pieces; how it is cut does not matter.
#[derive(Default)]
pub(crate) struct Fingerprinter {
    hasher: DefaultHasher,
    bytes: u64,
}

impl Fingerprinter {
    /// The next piece.
    pub(crate) fn add(&mut self, bytes: &[u8]) {
        self.hasher.write(bytes);
        self.bytes += bytes.len() as u64;
    }

    /// How much there was so far.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The fingerprint of all pieces.
    pub(crate) fn finish(&self) -> Fingerprint {
        Fingerprint {
            hash: self.hasher.finish(),
            bytes: self.bytes,
        }
    }
}

/// What an agent knows of a file's present content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Knowledge {
    /// It never read the file.
    Unread,
    /// It read, or wrote, exactly this.
    Current,
    /// It read something else: the file was changed since.
    Stale,
}

/// The files that one agent has read or written, by their real path.
#[derive(Default)]
pub struct ReadLog {
    seen: Mutex<HashMap<PathBuf, Fingerprint>>,
    changing: Mutex<()>,
}

impl ReadLog {
    /// An agent that has read nothing yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The agent knows this content of the file now.
    pub(crate) fn record(&self, real: &Path, content: Fingerprint) {
        self.seen().insert(real.to_owned(), content);
    }

    /// The agent changed a part of the file. Only when it knew the rest does it know the result:
    /// otherwise a later full write could lose what somebody else put there.
    pub(crate) fn changed(&self, real: &Path, before: Fingerprint, after: Fingerprint) {
        if self.knowledge(real, before) == Knowledge::Current {
            self.record(real, after);
        }
    }

    /// What the agent knows of a file that now holds `content`.
    pub(crate) fn knowledge(&self, real: &Path, content: Fingerprint) -> Knowledge {
        match self.seen().get(real) {
            None => Knowledge::Unread,
            Some(known) if *known == content => Knowledge::Current,
            Some(_) => Knowledge::Stale,
        }
    }

    /// Held from reading a file until its new version is in place, so that two calls of one turn
    /// never both start from the same old version.
    pub(crate) fn one_change_at_a_time(&self) -> MutexGuard<'_, ()> {
        self.changing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn seen(&self) -> MutexGuard<'_, HashMap<PathBuf, Fingerprint>> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_fingerprint_does_not_depend_on_the_pieces(raw: Vec<u8>, at: prop::sample::Index) {
            let (start, rest) = raw.split_at(at.index(raw.len() + 1));
            let mut printer = Fingerprinter::default();
            printer.add(start);
            printer.add(rest);
            prop_assert_eq!(printer.finish(), Fingerprint::of(&raw));
        }
    }

    #[test]
    fn an_edit_of_what_somebody_else_changed_leaves_the_agent_behind() {
        let log = ReadLog::new();
        let (file, print) = (Path::new("/f"), Fingerprint::of);
        assert_eq!(log.knowledge(file, print(b"1")), Knowledge::Unread);
        log.record(file, print(b"1"));
        log.changed(file, print(b"1"), print(b"2"));
        assert_eq!(log.knowledge(file, print(b"2")), Knowledge::Current);
        log.changed(file, print(b"theirs"), print(b"theirs and mine"));
        assert_eq!(
            log.knowledge(file, print(b"theirs and mine")),
            Knowledge::Stale
        );
    }
}
