//! What waits to be written to one peer.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use bytes::Bytes;
use tokio::sync::Notify;

/// Above this a turn waits for its reader, in bytes, or above half the bound where that is less:
/// answers to commands still find room.
const HIGH_WATER: usize = 256 * 1024;

/// Largest batch that is written at once, in bytes, unless one text is larger.
const BATCH: usize = 64 * 1024;

/// How many texts over the bound may wait beside what counts.
const LARGE: usize = 2;

/// What may wait of [`Outbox::push_state`], counted by itself: this many times the bound.
const STATES: usize = 8;

/// More waits than a peer may leave unread; the connection ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the reader is too slow: {limit} bytes wait already")]
pub struct OutboxFull {
    limit: usize,
}

/// A queue of texts, bounded in bytes. Filling it never blocks; one writer empties it, either a
/// thread of its own ([`take`](Self::take)) or a task ([`batch`](Self::batch)). Texts are shared,
/// so that the same one can wait for many peers.
///
/// The lock is held for moments only, by the event loop to append and by the writer to take.
#[derive(Debug)]
pub struct Outbox {
    limit: usize,
    state: Mutex<State>,
    /// For threads; waking one is a call of the system, so it is done only where one sleeps.
    filled: Condvar,
    /// For a task.
    arrived: Notify,
    emptied: Notify,
    ended: Notify,
}

#[derive(Debug, Default)]
struct State {
    texts: VecDeque<(Bytes, Sort)>,
    /// Of all texts.
    bytes: usize,
    /// Of those that are held against the bound.
    counted: usize,
    /// How many texts are over the bound by themselves.
    large: usize,
    /// Of those that say how things stand.
    states: usize,
    /// A batch is being written.
    writing: bool,
    closed: bool,
    /// More waited than the peer may leave unread.
    overrun: bool,
    /// Threads that sleep until something changes.
    sleeping: usize,
}

/// What a text is held against.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sort {
    Usual,
    Large,
    State,
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
            arrived: Notify::new(),
            emptied: Notify::new(),
            ended: Notify::new(),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Appends a text as it stands. After the end nothing is taken.
    ///
    /// # Errors
    /// [`OutboxFull`], and the queue is closed.
    pub fn push(&self, text: impl Into<Bytes>) -> Result<(), OutboxFull> {
        let text = text.into();
        let large = text.len() > self.limit;
        self.append(text, if large { Sort::Large } else { Sort::Usual })
    }

    /// Appends a text that says how things stand, after which the peer needs nothing that came
    /// before. Whoever comes back to many agents gets many of them at once, however fast it reads,
    /// so they have a bound of their own: eight times the other.
    ///
    /// # Errors
    /// As [`push`](Self::push).
    pub fn push_state(&self, text: impl Into<Bytes>) -> Result<(), OutboxFull> {
        self.append(text.into(), Sort::State)
    }

    fn append(&self, text: Bytes, sort: Sort) -> Result<(), OutboxFull> {
        let mut state = self.state();
        if state.closed {
            return Ok(());
        }
        let full = match sort {
            Sort::Usual => state.counted + text.len() > self.limit,
            Sort::Large => state.large >= LARGE,
            // One is let through, however large.
            Sort::State => state.states > 0 && state.states + text.len() > STATES * self.limit,
        };
        if full {
            state.overrun = true;
            self.end(state);
            return Err(OutboxFull { limit: self.limit });
        }
        state.bytes += text.len();
        match sort {
            Sort::Usual => state.counted += text.len(),
            Sort::Large => state.large += 1,
            Sort::State => state.states += text.len(),
        }
        state.texts.push_back((text, sort));
        self.wake(state);
        Ok(())
    }

    /// Takes nothing more, and tells whoever waits.
    fn end(&self, mut state: MutexGuard<'_, State>) {
        state.closed = true;
        self.wake(state);
        self.emptied.notify_waiters();
        self.ended.notify_waiters();
    }

    /// Tells whoever writes that something has changed.
    fn wake(&self, state: MutexGuard<'_, State>) {
        let sleeping = state.sleeping > 0;
        drop(state);
        if sleeping {
            self.filled.notify_all();
        }
        self.arrived.notify_one();
    }

    fn sleep<'a>(
        &self,
        mut state: MutexGuard<'a, State>,
        at_most: Duration,
    ) -> MutexGuard<'a, State> {
        state.sleeping += 1;
        let mut state = self
            .filled
            .wait_timeout(state, at_most)
            .unwrap_or_else(PoisonError::into_inner)
            .0;
        state.sleeping -= 1;
        state
    }

    /// Resolves once little waits, or nothing will be written any more.
    pub async fn ready(&self) {
        loop {
            let emptied = self.emptied.notified();
            {
                let state = self.state();
                if state.closed || state.bytes < HIGH_WATER.min(self.limit / 2) {
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
        if state.sleeping > 0 {
            self.filled.notify_all(); // whoever waits for the end of writing
        }
        while state.texts.is_empty() {
            if state.closed {
                return None;
            }
            state = self.sleep(state, Duration::MAX);
        }
        let batch = state.pop_batch().concat();
        state.writing = true;
        drop(state);
        self.emptied.notify_waiters();
        Some(batch)
    }

    /// Takes the next texts to write, waiting for them; `None` at the end. For one task only.
    /// Cancel safe.
    pub async fn batch(&self) -> Option<Vec<Bytes>> {
        loop {
            let arrived = self.arrived.notified();
            {
                let mut state = self.state();
                if !state.texts.is_empty() {
                    let batch = state.pop_batch();
                    drop(state);
                    self.emptied.notify_waiters();
                    return Some(batch);
                }
                if state.closed {
                    return None;
                }
            }
            arrived.await;
        }
    }

    /// Whether it was closed because the peer was too slow.
    #[must_use]
    pub fn is_overrun(&self) -> bool {
        self.state().overrun
    }

    /// Takes nothing more; what waits may still be written.
    pub fn close(&self) {
        self.end(self.state());
    }

    /// Nothing can be written any more: what waits is dropped.
    pub fn give_up(&self) {
        let mut state = self.state();
        let (overrun, sleeping) = (state.overrun, state.sleeping);
        *state = State {
            overrun,
            sleeping,
            ..State::default()
        };
        self.end(state);
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
        let ended = self.ended.notified();
        if !self.state().closed {
            ended.await;
        }
    }

    /// Takes nothing more, and waits until everything is written, at most as long as given.
    pub fn finish(&self, patience: Duration) {
        let deadline = Instant::now() + patience;
        self.close();
        let mut state = self.state();
        while !state.texts.is_empty() || state.writing {
            let Some(left) = deadline.checked_duration_since(Instant::now()) else {
                return;
            };
            state = self.sleep(state, left);
        }
    }
}

impl State {
    /// The oldest texts, up to a batch; at least one if there is any.
    fn pop_batch(&mut self) -> Vec<Bytes> {
        let (mut batch, mut bytes) = (Vec::new(), 0);
        while let Some((text, sort)) = self
            .texts
            .pop_front_if(|(text, _)| bytes == 0 || bytes + text.len() <= BATCH)
        {
            match sort {
                Sort::Usual => self.counted -= text.len(),
                Sort::Large => self.large -= 1,
                Sort::State => self.states -= text.len(),
            }
            bytes += text.len();
            batch.push(text);
        }
        self.bytes -= bytes;
        batch
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
    fn texts_that_say_how_things_stand_have_a_bound_of_their_own() {
        let outbox = Outbox::new(10);
        for _ in 0..STATES {
            outbox.push_state("x".repeat(10)).unwrap();
        }
        outbox.push("y".repeat(10)).unwrap();
        assert!(outbox.push_state("z").is_err());
        let other = Outbox::new(10);
        other.push_state("x".repeat(1000)).unwrap();
        other.take();
        other.push_state("x".repeat(80)).unwrap();
        assert!(!other.is_overrun());
    }

    #[test]
    fn a_full_queue_holds_a_turn_back_until_it_is_read() {
        let outbox = Outbox::new(1 << 20);
        assert!(poll_once(outbox.ready()).is_ready());
        outbox.push("x".repeat(HIGH_WATER)).unwrap();
        assert!(poll_once(outbox.ready()).is_pending());
        outbox.take();
        assert!(poll_once(outbox.ready()).is_ready());
        let small = Outbox::new(1000);
        small.push("x".repeat(500)).unwrap();
        assert!(poll_once(small.ready()).is_pending());
        outbox.push("x".repeat(HIGH_WATER)).unwrap();
        outbox.give_up();
        assert!(
            poll_once(outbox.ready()).is_ready(),
            "nobody waits for a peer that is gone"
        );
    }
}
