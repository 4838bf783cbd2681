//! Follows the events of a run.

use std::sync::Arc;

use shard_contracts::{BoxFuture, EventSubscriber};
use shard_types::event::{AgentEvent, TurnEndReason};
use shard_types::{EntryId, Role};
use tokio::sync::{mpsc, watch};

use super::super::show::{Printer, Question};

/// Where the run stands.
#[derive(Debug, Default)]
pub(super) struct Progress {
    running: bool,
    /// The prompts that the current turn has taken up.
    taken: Vec<EntryId>,
    /// Those of earlier turns, with the turn's end.
    ended: Vec<(EntryId, TurnEndReason)>,
}

impl Progress {
    /// Whether the turn that took up an accepted prompt ended well; `None` before it ends. A prompt
    /// that is left behind did not do well: it was given back, or could not be written down.
    ///
    /// The session starts the next turn in the step that ends the last one, and it shares its
    /// thread with whoever looks: nothing is seen between the two.
    pub(super) fn ended_well(&self, prompt: &EntryId) -> Option<bool> {
        match self.ended.iter().find(|(id, _)| id == prompt) {
            Some((_, reason)) => Some(*reason == TurnEndReason::Done),
            None if self.running => None,
            None => Some(false),
        }
    }

    fn follow(&mut self, event: &AgentEvent) {
        match event {
            AgentEvent::TurnStart(_) => self.running = true,
            AgentEvent::MessageComplete(complete) if complete.message.role == Role::User => {
                self.taken.push(complete.message_id.clone());
            }
            AgentEvent::TurnEnd(end) => {
                self.running = false;
                let taken = self.taken.drain(..);
                self.ended.extend(taken.map(|prompt| (prompt, end.reason)));
            }
            _ => {}
        }
    }
}

/// Shows events, hands on questions, and notes where the run stands. Called by the session, so it
/// never waits.
pub(super) struct Watcher {
    printer: Arc<Printer>,
    questions: mpsc::Sender<Question>,
    progress: watch::Sender<Progress>,
}

impl Watcher {
    pub(super) fn new(printer: Arc<Printer>, questions: mpsc::Sender<Question>) -> Self {
        Self {
            printer,
            questions,
            progress: watch::Sender::new(Progress::default()),
        }
    }

    pub(super) fn progress(&self) -> watch::Receiver<Progress> {
        self.progress.subscribe()
    }
}

impl EventSubscriber for Watcher {
    fn event(&self, event: &AgentEvent) {
        self.printer.show(event);
        match event {
            AgentEvent::TurnStart(_) | AgentEvent::MessageComplete(_) | AgentEvent::TurnEnd(_) => {
                self.progress.send_modify(|progress| progress.follow(event));
            }
            _ => {}
        }
        if let Some(question) = Question::of(event) {
            // Nobody receives where nobody can answer.
            _ = self.questions.try_send(question);
        }
    }

    fn ready(&self) -> BoxFuture<'_, ()> {
        Box::pin(self.printer.ready())
    }
}
