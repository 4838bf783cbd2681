//! Puts questions to the person at the terminal.

use std::sync::Arc;

use shard_core::agent::AgentHandle;
use shard_transports::Outbox;
use tokio::sync::mpsc;

use super::super::show::{PICK, Question, Questions, Terminal};

/// Asks one question after another, and sends the answers to the agent.
pub(super) struct Asker {
    agent: AgentHandle,
    screen: Arc<Outbox>,
    terminal: Terminal,
    open: Questions,
}

impl Asker {
    pub(super) fn new(agent: AgentHandle, screen: Arc<Outbox>) -> anyhow::Result<Self> {
        Ok(Self {
            agent,
            screen,
            terminal: Terminal::open()?,
            open: Questions::default(),
        })
    }

    pub(super) async fn run(mut self, mut questions: mpsc::Receiver<Question>) {
        loop {
            tokio::select! {
                biased; // a question that is closed takes no answer
                question = questions.recv() => match question {
                    Some(question) => if self.open.take(question) {
                        self.put();
                    },
                    None => return,
                },
                line = self.terminal.line(), if !self.open.is_empty() => self.answer(line).await,
            }
        }
    }

    /// Shows the question that is first. What was typed before it could be read is no answer to it.
    fn put(&mut self) {
        if let Some(question) = self.open.first() {
            self.terminal.forget();
            self.show(question.text());
        }
    }

    fn show(&self, text: String) {
        _ = self.screen.push(text);
    }

    /// Answers with a line, or at the end of the input with a refusal.
    async fn answer(&mut self, line: Option<String>) {
        let Some(question) = self.open.first() else {
            return;
        };
        let answered = question.id().clone();
        let Some(command) = self.open.answer(line.as_deref()) else {
            return self.show(PICK.to_owned());
        };
        if line.is_none() {
            self.show("\n".to_owned()); // no line end was typed
        }
        _ = self.agent.request(command).await;
        // Whatever came of it, the question is over: that it is closed may still be on its way.
        if self.open.close(&answered) {
            self.put();
        }
    }
}
