//! Puts questions to the person at the terminal.

use std::collections::VecDeque;
use std::sync::Arc;

use serde_json::{Value, json};
use shard_core::agent::AgentHandle;
use shard_core::gate::visible;
use shard_protocol::AgentCommand;
use shard_transports::Outbox;
use shard_types::event::{PermissionRequest, UiKind, UiRequest};
use shard_types::{ChoiceIntent, RequestId};
use tokio::sync::mpsc;

use super::printer::Question;
use super::terminal::Terminal;

/// Asks one question after another, and sends the answers to the agent.
pub(super) struct Asker {
    agent: AgentHandle,
    screen: Arc<Outbox>,
    terminal: Terminal,
    open: VecDeque<Question>,
}

impl Asker {
    pub(super) fn new(agent: AgentHandle, screen: Arc<Outbox>) -> anyhow::Result<Self> {
        Ok(Self {
            agent,
            screen,
            terminal: Terminal::open()?,
            open: VecDeque::new(),
        })
    }

    pub(super) async fn run(mut self, mut questions: mpsc::Receiver<Question>) {
        loop {
            tokio::select! {
                biased; // a question that is closed takes no answer
                question = questions.recv() => match question {
                    Some(Question::Closed(id)) => self.close(&id),
                    Some(question) => self.add(question),
                    None => return,
                },
                line = self.terminal.line(), if !self.open.is_empty() => self.answer(line).await,
            }
        }
    }

    fn add(&mut self, question: Question) {
        self.open.push_back(question);
        if self.open.len() == 1 {
            self.put();
        }
    }

    fn close(&mut self, closed: &RequestId) {
        let was_shown = self
            .open
            .front()
            .is_some_and(|question| id(question) == Some(closed));
        self.open.retain(|question| id(question) != Some(closed));
        if was_shown {
            self.put();
        }
    }

    /// Shows the question that is first. What was typed before it could be read is no answer to it.
    fn put(&mut self) {
        let Some(question) = self.open.front() else {
            return;
        };
        let text = match question {
            Question::Permission(request) => permission_text(request),
            Question::Dialog(request) => dialog_text(request),
            Question::Closed(_) => return,
        };
        self.terminal.forget();
        self.show(text);
    }

    fn show(&self, text: String) {
        _ = self.screen.push(text);
    }

    /// Answers with a line, or at the end of the input with a refusal.
    async fn answer(&mut self, line: Option<String>) {
        let line = line.as_deref().map(str::trim);
        let Some(question) = self.open.front() else {
            return;
        };
        let command = match (question, line) {
            (Question::Permission(request), Some(line)) => permission_answer(request, line),
            (Question::Permission(request), None) => Some(permission_refusal(request)),
            (Question::Dialog(request), Some(line)) => dialog_answer(request, line),
            (Question::Dialog(request), None) => Some(dialog_response(request, Value::Null)),
            (Question::Closed(_), _) => None,
        };
        let Some((kind, body)) = command else {
            self.show("Please pick one of the answers above: ".to_owned());
            return;
        };
        if line.is_none() {
            self.show("\n".to_owned()); // no line end was typed
        }
        let answered = id(question).cloned();
        if let Some(Ok(command)) = AgentCommand::parse(kind, &body.to_string()) {
            _ = self.agent.request(command).await;
        }
        // Whatever came of it, the question is over: that it is closed may still be on its way.
        if let Some(answered) = answered {
            self.close(&answered);
        }
    }
}

fn id(question: &Question) -> Option<&RequestId> {
    match question {
        Question::Permission(request) => Some(&request.request_id),
        Question::Dialog(request) => Some(&request.request_id),
        Question::Closed(_) => None,
    }
}

fn permission_text(request: &PermissionRequest) -> String {
    let mut text = format!("\n{}\n", request.prompt);
    for detail in &request.details {
        let label = detail
            .label
            .as_deref()
            .map_or_else(String::new, |label| format!("{label}: "));
        text.push_str(&format!(
            "  {label}{}\n",
            detail.value.replace('\n', "\n  ")
        ));
    }
    for (number, choice) in request.choices.iter().enumerate() {
        let key = choice
            .accelerator
            .clone()
            .unwrap_or_else(|| (number + 1).to_string());
        text.push_str(&format!("  [{key}] {}\n", choice.label));
    }
    text.push_str("Your answer: ");
    text
}

/// A choice is picked by its key or its number; `y` and `n` mean what they always do.
fn permission_answer(request: &PermissionRequest, line: &str) -> Option<(&'static str, Value)> {
    let intent = match line.to_lowercase().as_str() {
        "y" | "yes" => Some(ChoiceIntent::Allow),
        "n" | "no" => Some(ChoiceIntent::Deny),
        _ => None,
    };
    let number = line.parse::<usize>().ok();
    let picked = request.choices.iter().enumerate().find(|(at, choice)| {
        choice.accelerator.as_deref() == Some(line)
            || number == Some(at + 1)
            || intent == Some(choice.intent)
    });
    let (_, choice) = picked?;
    Some(permission_response(request, "choice_id", &choice.id))
}

fn permission_refusal(request: &PermissionRequest) -> (&'static str, Value) {
    let mut choices = request.choices.iter();
    match choices.find(|choice| choice.intent == ChoiceIntent::Deny) {
        Some(choice) => permission_response(request, "choice_id", &choice.id),
        None => permission_response(request, "decision", "deny"),
    }
}

fn permission_response(
    request: &PermissionRequest,
    key: &str,
    answer: &str,
) -> (&'static str, Value) {
    let body = json!({ "request_id": request.request_id, key: answer, "source": "terminal" });
    ("permission_response", body)
}

fn dialog_text(request: &UiRequest) -> String {
    let mut text = String::from("\n");
    for line in request.title.iter().chain(&request.message) {
        text.push_str(&format!("{}\n", visible(line)));
    }
    for (number, option) in request.options.iter().enumerate() {
        text.push_str(&format!("  [{}] {}\n", number + 1, visible(option)));
    }
    text.push_str(match request.kind {
        UiKind::Confirm => "yes or no: ",
        UiKind::Select if request.multiple => "Numbers, separated by commas: ",
        UiKind::Select => "Number: ",
        UiKind::Input | UiKind::Editor | UiKind::Notify => "> ",
    });
    text
}

fn dialog_answer(request: &UiRequest, line: &str) -> Option<(&'static str, Value)> {
    let option = |word: &str| match word.trim().parse::<usize>() {
        Ok(number) => request.options.get(number.checked_sub(1)?),
        Err(_) => request
            .options
            .iter()
            .find(|option| option.as_str() == word.trim()),
    };
    let value = match request.kind {
        UiKind::Select if request.multiple => {
            let picked: Option<Vec<_>> = line.split(',').map(option).collect();
            json!(picked?)
        }
        UiKind::Select => json!(option(line)?),
        UiKind::Confirm => match line.to_lowercase().as_str() {
            "y" | "yes" => json!("yes"),
            "n" | "no" => json!("no"),
            _ => return None,
        },
        UiKind::Input | UiKind::Editor | UiKind::Notify => json!(line),
    };
    Some(dialog_response(request, value))
}

fn dialog_response(request: &UiRequest, value: Value) -> (&'static str, Value) {
    let body = json!({ "request_id": request.request_id, "value": value, "source": "terminal" });
    ("ui_response", body)
}
