//! Questions that are open, and what becomes of them when nobody is there.
//!
//! The question itself belongs to the agent's process, and so does who won. Here is only when the
//! headless policy speaks: at once where nobody is there, after a while where everybody left.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use shard_types::{PermissionDecision, RequestId};
use tokio::time::Instant;

use super::Agent;
use crate::client::ClientId;

/// What answers a question that nobody answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fallback {
    /// This decision.
    Decide(PermissionDecision),
    /// The dialog is closed.
    Close,
    /// It waits for a person, however long.
    Wait,
}

#[derive(Debug, Clone)]
pub(super) struct OpenAsk {
    pub(super) id: RequestId,
    pub(super) sort: Sort,
    pub(super) fallback: Fallback,
    /// As its agent's clients heard it.
    line: Bytes,
    /// The ancestors whose clients were asked too.
    told: Vec<Arc<Agent>>,
    deadline: Option<Instant>,
}

/// What sort of question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sort {
    Permission,
    Dialog,
}

/// All questions that are open.
#[derive(Debug, Default)]
pub(super) struct Asks(Vec<OpenAsk>);

impl OpenAsk {
    /// Tells the ancestors' clients that were asked how it ended.
    pub(super) fn settle(&self, line: &Bytes, but: &[ClientId]) {
        for ancestor in &self.told {
            ancestor.audience().settle(&self.id, line, but);
        }
    }
}

impl Asks {
    /// A question, with the event that told of it.
    pub(super) fn open(&mut self, id: RequestId, sort: Sort, fallback: Fallback, line: Bytes) {
        self.0.push(OpenAsk {
            id,
            sort,
            fallback,
            line,
            told: Vec::new(),
            deadline: None,
        });
    }

    pub(super) fn close(&mut self, id: &RequestId) -> Option<OpenAsk> {
        let at = self.0.iter().position(|ask| ask.id == *id)?;
        Some(self.0.remove(at))
    }

    /// How many are open.
    pub(super) fn count(&self) -> usize {
        self.0.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Puts all to the clients of an ancestor that were not put to them yet.
    pub(super) fn tell(&mut self, ancestor: &Arc<Agent>, but: &[ClientId]) {
        for ask in &mut self.0 {
            if !ask.told.iter().any(|told| told.id == ancestor.id) {
                ancestor.audience().put(&ask.id, &ask.line, but);
                ask.told.push(Arc::clone(ancestor));
            }
        }
    }

    /// All of them, because the process that asked is gone.
    pub(super) fn close_all(&mut self) -> Vec<OpenAsk> {
        std::mem::take(&mut self.0)
    }

    /// Somebody came or left: while one is there nothing times out.
    pub(super) fn responders_changed(&mut self, somebody: bool, now: Instant, patience: Duration) {
        for ask in &mut self.0 {
            ask.deadline = match ask.deadline {
                _ if somebody || ask.fallback == Fallback::Wait => None,
                Some(deadline) => Some(deadline),
                None => Some(now + patience),
            };
        }
    }

    /// Whether one of them is answered by a person or not soon, where somebody is there or not.
    pub(super) fn wait_for_a_person(&self, somebody: bool) -> bool {
        let waits =
            |ask: &OpenAsk| somebody || ask.fallback == Fallback::Wait || ask.deadline.is_some();
        self.0.iter().any(waits)
    }

    pub(super) fn next_deadline(&self) -> Option<Instant> {
        self.0.iter().filter_map(|ask| ask.deadline).min()
    }

    /// Those whose time is up, once: from here on they wait until the process says that they are
    /// closed.
    pub(super) fn expired(&mut self, now: Instant) -> Vec<(RequestId, Sort, Fallback)> {
        let due = |ask: &&mut OpenAsk| ask.deadline.is_some_and(|deadline| deadline <= now);
        let expired = self.0.iter_mut().filter(due).map(|ask| {
            ask.deadline = None;
            let fallback = std::mem::replace(&mut ask.fallback, Fallback::Wait);
            (ask.id.clone(), ask.sort, fallback)
        });
        expired.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINUTE: Duration = Duration::from_secs(60);

    fn id(number: u8) -> RequestId {
        format!("req-{number}").parse().unwrap()
    }

    #[test]
    fn time_runs_only_while_nobody_is_there() {
        let (mut asks, now) = (Asks::default(), Instant::now());
        let deny = Fallback::Decide(PermissionDecision::Deny);
        asks.open(id(1), Sort::Permission, deny, Bytes::new());
        asks.open(id(2), Sort::Dialog, Fallback::Wait, Bytes::new());
        assert!(asks.wait_for_a_person(false), "the second one does");
        asks.responders_changed(true, now, MINUTE);
        assert_eq!(asks.next_deadline(), None);
        asks.responders_changed(false, now, MINUTE);
        assert_eq!(asks.next_deadline(), Some(now + MINUTE));
        // That another observer leaves changes nothing.
        asks.responders_changed(false, now + MINUTE / 2, MINUTE);
        assert_eq!(asks.next_deadline(), Some(now + MINUTE));
        asks.responders_changed(true, now + MINUTE / 2, MINUTE);
        assert!(asks.expired(now + MINUTE).is_empty());
        asks.responders_changed(false, now + MINUTE, MINUTE);
        assert!(asks.expired(now + MINUTE).is_empty());
        let expired = asks.expired(now + 2 * MINUTE);
        assert_eq!(expired, [(id(1), Sort::Permission, deny)]);
        assert!(asks.expired(now + 3 * MINUTE).is_empty(), "once");
        assert_eq!(asks.close_all().len(), 2, "until the process says so");
        asks.open(id(3), Sort::Permission, deny, Bytes::new());
        assert!(asks.wait_for_a_person(true) && !asks.wait_for_a_person(false));
        asks.responders_changed(false, now, MINUTE);
        assert!(asks.wait_for_a_person(false), "everybody has just left");
    }
}
