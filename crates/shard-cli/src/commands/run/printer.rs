//! What a run looks like.

use std::sync::{Arc, Mutex, PoisonError};

use serde_json::Value;
use shard_contracts::{BoxFuture, EventSubscriber};
use shard_core::gate::visible;
use shard_transports::Outbox;
use shard_types::event::{
    AgentEvent, DeltaKind, PermissionRequest, ToolCall, ToolResult, TurnEndReason, UiRequest,
};
use shard_types::{EntryId, RequestId, Role, ToolResultContent};
use tokio::sync::{mpsc, watch};

/// How stdout is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Style {
    /// For the model's words.
    Text,
    /// For raw events.
    Json,
}

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

/// A question, or the end of one.
pub(super) enum Question {
    Permission(Box<PermissionRequest>),
    Dialog(Box<UiRequest>),
    Closed(RequestId),
}

/// Turns events into output. Called by the session, so it only fills outboxes.
pub(super) struct Printer {
    style: Style,
    out: Arc<Outbox>,
    err: Arc<Outbox>,
    questions: mpsc::Sender<Question>,
    progress: watch::Sender<Progress>,
    /// Whether the last character on stdout ended a line. Only the session prints; the lock is for
    /// the type's sake.
    at_line_start: Mutex<bool>,
}

/// How much of a call's arguments is shown, in characters.
const SUMMARY: usize = 120;

impl Printer {
    pub(super) fn new(
        style: Style,
        out: Arc<Outbox>,
        err: Arc<Outbox>,
        questions: mpsc::Sender<Question>,
    ) -> Self {
        let progress = watch::Sender::new(Progress::default());
        Self {
            style,
            out,
            err,
            questions,
            progress,
            at_line_start: Mutex::new(true),
        }
    }

    pub(super) fn progress(&self) -> watch::Receiver<Progress> {
        self.progress.subscribe()
    }

    /// Ends the line on stdout, if it is not ended.
    pub(super) fn end_line(&self) {
        let mut at_start = self
            .at_line_start
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if !std::mem::replace(&mut *at_start, true) {
            _ = self.out.push("\n".to_owned());
        }
    }

    fn words(&self, text: &str) {
        let mut at_start = self
            .at_line_start
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let text = harmless(text);
        if !text.is_empty() {
            *at_start = text.ends_with('\n');
        }
        // A model's words must not move the cursor of a terminal either, or read as they are not.
        _ = self.out.push(text);
    }

    fn note(&self, line: &str) {
        self.end_line();
        _ = self.err.push_line(line.to_owned());
    }

    fn text(&self, event: &AgentEvent) {
        match event {
            AgentEvent::MessageDelta(delta) if delta.kind == DeltaKind::Text => {
                self.words(delta.text_delta.as_deref().unwrap_or_default());
            }
            AgentEvent::MessageComplete(_) => self.end_line(),
            AgentEvent::ToolCall(call) => self.note(&format!("· {}", summary(call))),
            AgentEvent::ToolResult(result) => {
                if let Some(line) = failure(result) {
                    self.note(&line);
                }
            }
            AgentEvent::Status(status) => {
                if let Some(detail) = &status.detail {
                    self.note(&format!("shard: {}", visible(detail)));
                }
            }
            _ => {}
        }
    }

    fn ask(&self, question: Question) {
        // Nobody receives where nobody can answer.
        _ = self.questions.try_send(question);
    }
}

impl EventSubscriber for Printer {
    fn event(&self, event: &AgentEvent) {
        match self.style {
            Style::Json => match serde_json::to_string(event) {
                Ok(line) => _ = self.out.push_line(line),
                Err(error) => tracing::error!(%error, "an event cannot be printed"),
            },
            Style::Text => self.text(event),
        }
        match event {
            AgentEvent::Error(error) => self.note(&format!("shard: {}", visible(&error.message))),
            AgentEvent::TurnStart(_) | AgentEvent::MessageComplete(_) | AgentEvent::TurnEnd(_) => {
                self.progress.send_modify(|progress| progress.follow(event));
            }
            AgentEvent::PermissionRequest(request) => {
                self.ask(Question::Permission(Box::new(request.clone())))
            }
            AgentEvent::UiRequest(request) => self.ask(Question::Dialog(Box::new(request.clone()))),
            AgentEvent::PermissionResolved(resolved) => {
                self.ask(Question::Closed(resolved.request_id.clone()))
            }
            AgentEvent::UiResolved(resolved) => {
                self.ask(Question::Closed(resolved.request_id.clone()))
            }
            _ => {}
        }
    }

    fn ready(&self) -> BoxFuture<'_, ()> {
        Box::pin(self.out.ready())
    }
}

/// A call on one line.
fn summary(call: &ToolCall) -> String {
    let text = |key: &str| call.args.get(key).and_then(Value::as_str);
    let main = ["command", "path", "pattern", "question"]
        .iter()
        .find_map(|key| text(key));
    let line = visible(&main.unwrap_or_default().replace('\n', " ⏎ "));
    let mut shown: String = line.chars().take(SUMMARY).collect();
    if shown.len() < line.len() {
        shown.push('…');
    }
    format!("{} {shown}", call.name)
}

/// What is worth a line about a result: the model reads the rest.
fn failure(result: &ToolResult) -> Option<String> {
    let message = match &result.content {
        ToolResultContent::Error { message } => {
            visible(message.lines().next_back().unwrap_or_default())
        }
        _ => {
            return result
                .exit_code
                .filter(|code| *code != 0)
                .map(|code| format!("  exit code {code}"));
        }
    };
    Some(format!("  {message}"))
}

/// Text without anything that a terminal acts on, but for line ends and tabs, and without what
/// hides or reorders words.
fn harmless(text: &str) -> String {
    text.chars().filter(|c| is_harmless(*c)).collect()
}

/// An answer is prose in any language: of what is marked in a question, what writing needs stays.
fn is_harmless(c: char) -> bool {
    match c {
        '\n' | '\t' | ' '..='~' => true,
        '\u{2028}' | '\u{2029}' => false, // other line ends
        '\u{200c}' | '\u{200d}' | '\u{2800}' | '\u{fe00}'..='\u{fe0f}' => true, // letters, emoji, Braille
        _ if c.is_control() => false,
        _ if c.is_whitespace() => true,
        _ => visible(c.encode_utf8(&mut [0; 4])).starts_with(c),
    }
}

#[cfg(test)]
mod tests {
    use super::harmless;

    #[test]
    fn nothing_in_an_answer_hides_or_reorders() {
        let nasty = "a\u{1b}b\u{202e}c\u{2066}d\u{200b}e\u{feff}f\u{200f}g\u{e0041}h\u{9b}i\u{2029}j\r\u{7f}";
        assert_eq!(harmless(nasty), "abcdefghij");
    }

    #[test]
    fn writing_stays_as_it_is() {
        let words = "let x = 1;\n\tgrün\u{a0}漢字\u{3000}می\u{200c}خواهم שלום 👩\u{200d}💻 ❤\u{fe0f} ⠁\u{2800}";
        assert_eq!(harmless(words), words);
    }
}
