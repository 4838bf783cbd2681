//! What an agent's work looks like.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use shard_core::gate::visible;
use shard_transports::Outbox;
use shard_types::event::{AgentEvent, DeltaKind};

use super::text::{allowance, failure, harmless, picture, summary};

/// How stdout is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::commands) enum Style {
    /// For the model's words.
    Text,
    /// For raw events.
    Json,
}

/// Turns events into output. It only fills outboxes, and never waits.
pub(in crate::commands) struct Printer {
    style: Style,
    out: Arc<Outbox>,
    err: Arc<Outbox>,
    /// Whether the last character on stdout ended a line. Only one task prints; the lock is for
    /// the type's sake.
    at_line_start: Mutex<bool>,
}

impl Printer {
    pub(in crate::commands) fn new(style: Style, out: Arc<Outbox>, err: Arc<Outbox>) -> Self {
        Self {
            style,
            out,
            err,
            at_line_start: Mutex::new(true),
        }
    }

    fn at_line_start(&self) -> MutexGuard<'_, bool> {
        self.at_line_start
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Shows an event.
    pub(in crate::commands) fn show(&self, event: &AgentEvent) {
        match self.style {
            Style::Json => match serde_json::to_string(event) {
                Ok(line) => _ = self.out.push_line(line),
                Err(error) => tracing::error!(%error, "an event cannot be printed"),
            },
            Style::Text => self.text(event),
        }
        match event {
            AgentEvent::Error(error) => self.note(&format!("shard: {}", visible(&error.message))),
            AgentEvent::ResourcesChanged(news) => {
                for path in &news.changed {
                    self.note(&format!("shard: changed: {}", visible(path)));
                }
                for diagnostic in &news.diagnostics {
                    self.note(&format!("shard: {}", visible(diagnostic)));
                }
            }
            _ => {}
        }
    }

    /// Ends the line on stdout, if it is not ended.
    pub(in crate::commands) fn end_line(&self) {
        if !std::mem::replace(&mut *self.at_line_start(), true) {
            _ = self.out.push("\n".to_owned());
        }
    }

    /// The person ended the line by typing.
    pub(in crate::commands) fn line_was_typed(&self) {
        *self.at_line_start() = true;
    }

    /// Shows words of the model. They must not move the cursor of a terminal, or read as they are
    /// not.
    pub(in crate::commands) fn words(&self, text: &str) {
        let text = harmless(text);
        if !text.is_empty() {
            *self.at_line_start() = text.ends_with('\n');
        }
        _ = self.out.push(text);
    }

    /// Says something about the work, on a line of its own.
    pub(in crate::commands) fn note(&self, line: &str) {
        self.end_line();
        _ = self.err.push_line(line.to_owned());
    }

    /// Prints whole lines that are harmless. In one piece, however many: only what comes live may
    /// be too much for a slow reader.
    pub(in crate::commands) fn as_it_stands(&self, lines: String) {
        _ = self.out.push(lines);
    }

    /// Resolves once little waits to be read.
    pub(in crate::commands) async fn ready(&self) {
        self.out.ready().await;
    }

    fn text(&self, event: &AgentEvent) {
        match event {
            AgentEvent::MessageDelta(delta) if delta.kind == DeltaKind::Text => {
                self.words(delta.text_delta.as_deref().unwrap_or_default());
            }
            AgentEvent::MessageComplete(_) => self.end_line(),
            AgentEvent::ToolCall(call) => {
                let by = call.allowed_by.as_ref().and_then(allowance);
                let by = by.map_or_else(String::new, |by| format!("  ({by})"));
                self.note(&format!("· {}{by}", summary(&call.name, &call.args)));
            }
            AgentEvent::ToolResult(result) => {
                if let Some(line) = failure(result) {
                    self.note(&line);
                }
                for image in &result.images {
                    self.note(&format!("  {}", picture(&image.data, &image.mime_type)));
                }
            }
            AgentEvent::Compaction(compaction) => self.note(&format!(
                "shard: earlier words became a summary ({} tokens before, {} now); nothing is lost",
                compaction.tokens_before, compaction.tokens_after
            )),
            AgentEvent::Status(status) => {
                if let Some(detail) = &status.detail {
                    self.note(&format!("shard: {}", visible(detail)));
                }
            }
            _ => {}
        }
    }
}
