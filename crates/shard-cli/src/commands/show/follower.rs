//! An agent's conversation as it goes on.

use std::sync::Arc;

use shard_core::gate::visible;
use shard_types::event::{AgentEvent, DeltaKind, TurnEndReason};
use shard_types::{Message, Role};

use super::printer::{Printer, Style};
use super::text::word;
use super::transcript::{Seen, transcript};

/// Shows what was said, and then events, without repeating anything.
pub(in crate::commands) struct Follower {
    printer: Arc<Printer>,
    style: Style,
    seen: Seen,
    /// Who spoke last.
    speaker: Option<Role>,
}

impl Follower {
    pub(in crate::commands) fn new(printer: Arc<Printer>, style: Style) -> Self {
        Self {
            printer,
            style,
            seen: Seen::default(),
            speaker: None,
        }
    }

    /// Shows messages, the last of which may still be on its way.
    pub(in crate::commands) fn past(&mut self, messages: &[Message]) {
        self.seen.note(messages);
        let (text, speaker) = written(messages, self.style);
        self.printer.as_it_stands(text);
        self.speaker = speaker;
        if self.style == Style::Json {
            return;
        }
        if let Some(partial) = messages.last().filter(|message| message.partial) {
            self.speaks(Role::Assistant);
            self.printer.words(&partial.text());
        }
    }

    /// Shows an event. What is said on a person's side is shown unless it is this person's.
    pub(in crate::commands) fn show(&mut self, event: &AgentEvent, is_own: bool) {
        if self.seen.has(event) {
            return;
        }
        if self.style == Style::Json {
            return self.printer.show(event);
        }
        match event {
            AgentEvent::MessageComplete(complete) if complete.message.role == Role::User => {
                if !is_own {
                    self.printer.end_line();
                    self.printer
                        .words(&format!("\n{}", transcript([&complete.message]).0));
                }
                self.speaker = Some(Role::User);
                return;
            }
            AgentEvent::MessageDelta(delta) if delta.kind == DeltaKind::Text => {
                self.speaks(Role::Assistant);
            }
            AgentEvent::ToolCall(_) => self.speaks(Role::Assistant),
            _ => {}
        }
        self.printer.show(event);
        if let AgentEvent::TurnEnd(end) = event
            && let Some(why) = unwell(end.reason)
        {
            self.printer.note(&format!("shard: {why}"));
        }
    }

    /// Says who speaks, if somebody else did before.
    fn speaks(&mut self, role: Role) {
        if self.speaker.replace(role) != Some(role) {
            self.printer.end_line();
            self.printer.words("\nagent:\n");
        }
    }
}

/// Messages that are whole, each on a line of its own as JSON or as a person reads them; and who
/// spoke last.
pub(in crate::commands) fn written(messages: &[Message], style: Style) -> (String, Option<Role>) {
    let whole = messages.iter().filter(|message| !message.partial);
    match style {
        Style::Text => transcript(whole),
        Style::Json => {
            let mut lines = String::new();
            for line in whole.flat_map(serde_json::to_string) {
                lines.push_str(&line);
                lines.push('\n');
            }
            (lines, None)
        }
    }
}

/// How a turn ended that did not end well.
pub(in crate::commands) fn unwell(reason: TurnEndReason) -> Option<&'static str> {
    match reason {
        TurnEndReason::Done => None,
        TurnEndReason::Aborted => Some("the turn was stopped"),
        TurnEndReason::Error => Some("the turn failed"),
        TurnEndReason::Limit => Some("the turn ran into a limit"),
    }
}

/// How a question ended that this person did not answer.
pub(in crate::commands) fn answered(event: &AgentEvent) -> Option<String> {
    let (answer, source) = match event {
        AgentEvent::PermissionResolved(it) => {
            let decision = it.decision.as_ref().map(word);
            (decision.or_else(|| it.choice_id.clone()), it.source.clone())
        }
        AgentEvent::UiResolved(it) => (None, it.source.clone()),
        _ => return None,
    };
    let answer = answer.map_or_else(String::new, |answer| format!(": {}", visible(&answer)));
    let how = match source.as_deref() {
        Some("aborted") => "not asked any more, the turn was stopped".to_owned(),
        Some("timeout") => format!("nobody answered in time{answer}"),
        Some("headless") => format!("nobody was there to answer{answer}"),
        Some(source) => format!("answered elsewhere ({}){answer}", visible(source)),
        None => format!("answered elsewhere{answer}"),
    };
    Some(how)
}
