//! Questions of an agent: how they are put, and what a typed line answers.

use std::collections::VecDeque;

use shard_core::gate::visible;
use shard_protocol::{AgentCommand, PermissionResponse, UiResponse};
use shard_types::event::{
    AgentEvent, PendingQuestion, PermissionRequest, UiKind, UiRequest, UiValue,
};
use shard_types::{ChoiceIntent, PermissionDecision, RequestId};

/// A question, or the end of one.
pub(in crate::commands) enum Question {
    Permission(Box<PermissionRequest>),
    Dialog(Box<UiRequest>),
    Closed(RequestId),
}

impl Question {
    /// The question that an event is about.
    pub(in crate::commands) fn of(event: &AgentEvent) -> Option<Self> {
        Some(match event {
            AgentEvent::PermissionRequest(it) => Self::Permission(Box::new(it.clone())),
            AgentEvent::UiRequest(it) => Self::Dialog(Box::new(it.clone())),
            AgentEvent::PermissionResolved(it) => Self::Closed(it.request_id.clone()),
            AgentEvent::UiResolved(it) => Self::Closed(it.request_id.clone()),
            _ => return None,
        })
    }

    /// A question that was open before.
    pub(in crate::commands) fn pending(question: PendingQuestion) -> Self {
        match question {
            PendingQuestion::PermissionRequest(it) => Self::Permission(Box::new(it)),
            PendingQuestion::UiRequest(it) => Self::Dialog(Box::new(it)),
        }
    }

    pub(in crate::commands) fn id(&self) -> &RequestId {
        match self {
            Self::Permission(request) => &request.request_id,
            Self::Dialog(request) => &request.request_id,
            Self::Closed(id) => id,
        }
    }

    /// What a person is asked.
    pub(in crate::commands) fn text(&self) -> String {
        match self {
            Self::Permission(request) => permission_text(request),
            Self::Dialog(request) => dialog_text(request),
            Self::Closed(_) => String::new(),
        }
    }
}

/// The questions that are open, in the order in which they came.
#[derive(Default)]
pub(in crate::commands) struct Questions(VecDeque<Question>);

impl Questions {
    pub(in crate::commands) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The one that is put to the person.
    pub(in crate::commands) fn first(&self) -> Option<&Question> {
        self.0.front()
    }

    /// Takes in what an event says. Whether another question is first now.
    pub(in crate::commands) fn take(&mut self, question: Question) -> bool {
        if let Question::Closed(id) = &question {
            return self.close(id);
        }
        if self.0.iter().any(|open| open.id() == question.id()) {
            return false;
        }
        self.0.push_back(question);
        self.0.len() == 1
    }

    /// Forgets a question. Whether it was first.
    pub(in crate::commands) fn close(&mut self, closed: &RequestId) -> bool {
        let was_first = self.first().is_some_and(|question| question.id() == closed);
        self.0.retain(|question| question.id() != closed);
        was_first
    }

    /// What a line answers to the first question, and the end of the input (`None`) refuses;
    /// nothing if the line is none of the answers.
    pub(in crate::commands) fn answer(&self, line: Option<&str>) -> Option<AgentCommand> {
        let line = line.map(str::trim);
        match (self.first()?, line) {
            (Question::Permission(request), Some(line)) => permission_answer(request, line),
            (Question::Permission(request), None) => Some(permission_refusal(request)),
            (Question::Dialog(request), Some(line)) => dialog_answer(request, line),
            (Question::Dialog(request), None) => Some(dialog_response(request, None)),
            (Question::Closed(_), _) => None,
        }
    }
}

/// Said when a line is no answer.
pub(in crate::commands) const PICK: &str = "Please pick one of the answers above: ";

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
        if let Some(description) = &choice.description {
            text.push_str(&format!("      {description}\n"));
        }
    }
    text.push_str("Your answer: ");
    text
}

/// A choice is picked by its key or its number; `y` and `n` mean what they always do.
fn permission_answer(request: &PermissionRequest, line: &str) -> Option<AgentCommand> {
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
    Some(choose(request, &choice.id))
}

fn permission_refusal(request: &PermissionRequest) -> AgentCommand {
    let mut choices = request.choices.iter();
    match choices.find(|choice| choice.intent == ChoiceIntent::Deny) {
        Some(choice) => choose(request, &choice.id),
        None => PermissionResponse {
            request_id: request.request_id.clone(),
            choice_id: None,
            decision: Some(PermissionDecision::Deny),
            reason: None,
            source: source(),
        }
        .into(),
    }
}

fn choose(request: &PermissionRequest, choice_id: &str) -> AgentCommand {
    PermissionResponse {
        request_id: request.request_id.clone(),
        choice_id: Some(choice_id.to_owned()),
        decision: None,
        reason: None,
        source: source(),
    }
    .into()
}

/// Who answers.
fn source() -> Option<String> {
    Some("terminal".to_owned())
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

fn dialog_answer(request: &UiRequest, line: &str) -> Option<AgentCommand> {
    let option = |word: &str| match word.trim().parse::<usize>() {
        Ok(number) => request.options.get(number.checked_sub(1)?),
        Err(_) => request
            .options
            .iter()
            .find(|option| option.as_str() == word.trim()),
    };
    let value = match request.kind {
        UiKind::Select if request.multiple => {
            let picked: Option<Vec<_>> = line.split(',').map(|it| option(it).cloned()).collect();
            UiValue::Many(picked?)
        }
        UiKind::Select => UiValue::One(option(line)?.clone()),
        UiKind::Confirm => match line.to_lowercase().as_str() {
            "y" | "yes" => UiValue::One("yes".to_owned()),
            "n" | "no" => UiValue::One("no".to_owned()),
            _ => return None,
        },
        UiKind::Input | UiKind::Editor | UiKind::Notify => UiValue::One(line.to_owned()),
    };
    Some(dialog_response(request, Some(value)))
}

fn dialog_response(request: &UiRequest, value: Option<UiValue>) -> AgentCommand {
    UiResponse {
        request_id: request.request_id.clone(),
        value,
        source: source(),
    }
    .into()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn event(kind: &str, body: &Value) -> AgentEvent {
        AgentEvent::parse(kind, &body.to_string()).unwrap().unwrap()
    }

    fn select(id: &str) -> Question {
        let body = json!({ "request_id": id, "kind": "select", "options": ["red", "green"] });
        Question::of(&event("ui_request", &body)).unwrap()
    }

    #[test]
    fn one_question_is_put_after_the_other() {
        let mut questions = Questions::default();
        assert!(questions.take(select("req-1")), "the first one is put");
        assert!(!questions.take(select("req-2")), "the second one waits");
        assert!(!questions.take(select("req-1")), "a repeated one is known");
        let closed = event(
            "ui_resolved",
            &json!({ "request_id": "req-1", "value": null }),
        );
        let closed = Question::of(&closed).unwrap();
        assert!(questions.take(closed), "the second one is put now");
        assert_eq!(questions.first().unwrap().id().as_str(), "req-2");
    }

    #[test]
    fn only_what_was_offered_is_an_answer() {
        let mut questions = Questions::default();
        let body = json!({
            "request_id": "req-1", "tool_name": "bash", "input": {}, "prompt": "Run it?", "options": [],
            "choices": [
                { "id": "once", "label": "Once", "accelerator": "a", "intent": "allow" },
                { "id": "no", "label": "No", "intent": "deny" },
            ],
        });
        questions.take(Question::of(&event("permission_request", &body)).unwrap());
        let chosen = |line: Option<&str>| match questions.answer(line) {
            Some(AgentCommand::PermissionResponse(it)) => it.choice_id,
            _ => None,
        };
        for (line, choice) in [(" a ", "once"), ("y", "once"), ("2", "no"), ("no", "no")] {
            assert_eq!(chosen(Some(line)).as_deref(), Some(choice), "{line}");
        }
        assert_eq!(
            chosen(None).as_deref(),
            Some("no"),
            "the end of the input refuses"
        );
        assert_eq!(questions.answer(Some("maybe")), None);
    }
}
