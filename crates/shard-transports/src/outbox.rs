//! What waits to be written to one peer.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::Notify;

/// Above this a turn waits for its reader, in bytes. Well below the bound, so that answers to
/// commands still find room.
const HIGH_WATER: usize = 256 * 1024;

/// Largest batch that is written at once, in bytes, unless one text is larger.
const BATCH: usize = 64 * 1024;

/// How many texts over the bound may wait beside what counts: one message, and one `sync`.
const LARGE: usize = 2;

/// More waits than a peer may leave unread; the connection ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the reader is too slow: {limit} bytes wait already")]
pub struct OutboxFull {
    limit: usize,
}

/// A queue of texts, bounded in bytes. Filling it never blocks; a writer empties it from a thread
/// of its own.
///
/// The lock is held for moments only, by the event loop to append and by the writer to take.
#[derive(Debug)]
pub struct Outbox {
    limit: usize,
    state: Mutex<State>,
    filled: Condvar,
    emptied: Notify,
}

#[derive(Debug, Default)]
struct State {
    texts: VecDeque<String>,
    /// Of all texts.
    bytes: usize,
    /// Of those within the bound: what is held against it.
    counted: usize,
    /// How many texts are over the bound by themselves.
    large: usize,
    /// A batch is being written.
    writing: bool,
    closed: bool,
}

impl Outbox {
    /// An empty queue that takes at most `limit` bytes. A text that is larger by itself does not
    /// count, so that a large message costs nobody the connection; only two of them may wait.
    #[must_use]
    pub fn new(limit: usize) -> Self {
        Self {
            limit,
            state: Mutex::default(),
            filled: Condvar::new(),
            emptied: Notify::new(),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Appends a text as it stands. After the end nothing is taken.
    ///
    /// # Errors
    /// [`OutboxFull`], and the queue is closed.
    pub fn push(&self, text: String) -> Result<(), OutboxFull> {
        let mut state = self.state();
        if state.closed {
            return Ok(());
        }
        let large = text.len() > self.limit;
        let full = if large {
            state.large >= LARGE
        } else {
            state.counted + text.len() > self.limit
        };
        if full {
            state.closed = true;
            drop(state);
            self.filled.notify_all();
            self.emptied.notify_waiters();
            return Err(OutboxFull { limit: self.limit });
        }
        state.bytes += text.len();
        if large {
            state.large += 1;
        } else {
            state.counted += text.len();
        }
        state.texts.push_back(text);
        drop(state);
        self.filled.notify_all();
        Ok(())
    }

    /// Resolves once little waits, or nothing will be written any more.
    pub async fn ready(&self) {
        loop {
            let emptied = self.emptied.notified();
            {
                let state = self.state();
                if state.closed || state.bytes < HIGH_WATER {
                    return;
                }
            }
            emptied.await;
        }
    }

    /// Takes the next bytes to write, waiting for them; `None` at the end.
    pub(crate) fn take(&self) -> Option<Vec<u8>> {
        let mut state = self.state();
        state.writing = false;
        self.filled.notify_all(); // whoever waits for the end of writing
        while state.texts.is_empty() {
            if state.closed {
                return None;
            }
            state = self
                .filled
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
        }
        let mut batch = Vec::new();
        while let Some(text) = state
            .texts
            .pop_front_if(|text| batch.is_empty() || batch.len() + text.len() <= BATCH)
        {
            if text.len() > self.limit {
                state.large -= 1;
            } else {
                state.counted -= text.len();
            }
            batch.extend_from_slice(text.as_bytes());
        }
        state.bytes -= batch.len();
        state.writing = true;
        drop(state);
        self.emptied.notify_waiters();
        Some(batch)
    }

    /// Nothing can be written any more: what waits is dropped.
    pub(crate) fn give_up(&self) {
        let mut state = self.state();
        *state = State {
            closed: true,
            ..State::default()
        };
        drop(state);
        self.filled.notify_all();
        self.emptied.notify_waiters();
    }

    /// Appends a line, given without its line ending.
    ///
    /// # Errors
    /// As [`push`](Self::push).
    pub fn push_line(&self, mut line: String) -> Result<(), OutboxFull> {
        line.push('\n');
        self.push(line)
    }

    /// Resolves once nothing more is taken: the peer is gone, or too slow.
    pub async fn closed(&self) {
        loop {
            let emptied = self.emptied.notified();
            if self.state().closed {
                return;
            }
            emptied.await;
        }
    }

    /// Takes nothing more, and waits until everything is written, at most as long as given.
    pub fn finish(&self, patience: Duration) {
        let deadline = Instant::now() + patience;
        let mut state = self.state();
        state.closed = true;
        self.filled.notify_all();
        while !state.texts.is_empty() || state.writing {
            let Some(left) = deadline.checked_duration_since(Instant::now()) else {
                return;
            };
            state = self
                .filled
                .wait_timeout(state, left)
                .unwrap_or_else(PoisonError::into_inner)
                .0;
        }
    }
}

#[cfg(test)]
mod tests {
    use futures::poll_once;

    use super::*;

    mod futures {
        use std::future::Future;
        use std::pin::pin;
        use std::task::{Context, Poll, Waker};

        pub(super) fn poll_once(future: impl Future<Output = ()>) -> Poll<()> {
            pin!(future).poll(&mut Context::from_waker(Waker::noop()))
        }
    }

    #[test]
    fn lines_come_out_in_order_and_in_batches() {
        let outbox = Outbox::new(1000);
        for line in ["one", "two"] {
            outbox.push_line(line.to_owned()).unwrap();
        }
        assert_eq!(outbox.take(), Some(b"one\ntwo\n".to_vec()));
        outbox.push_line("three".to_owned()).unwrap();
        assert_eq!(outbox.take(), Some(b"three\n".to_vec()));
        outbox.finish(Duration::ZERO);
        assert_eq!(outbox.take(), None);
    }

    #[test]
    fn the_bound_counts_bytes_and_ends_the_connection() {
        let outbox = Outbox::new(10);
        outbox.push("x".repeat(10)).unwrap();
        assert!(outbox.push("y".to_owned()).is_err());
        outbox.push("z".to_owned()).unwrap();
        assert_eq!(outbox.take(), Some("x".repeat(10).into_bytes()));
        assert_eq!(
            outbox.take(),
            None,
            "what came after the end is not written"
        );
    }

    #[test]
    fn a_text_over_the_bound_is_let_through_whatever_waits() {
        let outbox = Outbox::new(10);
        let large = || "x".repeat(50);
        for text in ["small".to_owned(), large(), "four".to_owned(), large()] {
            outbox.push(text).unwrap();
        }
        assert!(outbox.push(large()).is_err(), "but only so many");
        let mut all = Vec::new();
        while let Some(batch) = outbox.take() {
            all.extend(batch);
        }
        assert_eq!(all, format!("small{}four{}", large(), large()).into_bytes());
    }

    #[test]
    fn a_full_queue_holds_a_turn_back_until_it_is_read() {
        let outbox = Outbox::new(1 << 20);
        assert!(poll_once(outbox.ready()).is_ready());
        outbox.push("x".repeat(HIGH_WATER)).unwrap();
        assert!(poll_once(outbox.ready()).is_pending());
        outbox.take();
        assert!(poll_once(outbox.ready()).is_ready());
        outbox.push("x".repeat(HIGH_WATER)).unwrap();
        outbox.give_up();
        assert!(
            poll_once(outbox.ready()).is_ready(),
            "nobody waits for a peer that is gone"
        );
    }
}
