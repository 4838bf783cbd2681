//! Questions: how they are opened, answered and closed.

use std::time::Duration;

use serde_json::{Map, Value};
use shard_contracts::{Ask, Dialog};
use shard_protocol::{Answered, PermissionResponse, UiResponse};
use shard_types::event::{
    PermissionRequest, PermissionResolved, UiKind, UiRequest, UiResolved, UiValue,
};
use shard_types::{ChoiceIntent, ErrorCode, HeadlessPolicy, PermissionDecision, RequestId};
use tokio::sync::oneshot;
use tokio::time::Instant;

use super::asks::PendingKind;
use super::commands::{Outcome, data, refuse};
use super::handle::{Answer, AnsweredBy};
use super::session::{AgentSession, RunningTurn};
use super::settings::Responder;
use crate::gate::{visible, visible_text};

impl AgentSession {
    pub(super) fn open_ask(
        &mut self,
        tool: String,
        input: Map<String, Value>,
        ask: Ask,
        answer: oneshot::Sender<Answer>,
    ) {
        let fallback = match self.settings.headless_policy {
            HeadlessPolicy::AllowIfRuleMatches if ask.covered.is_some() => {
                PermissionDecision::Allow
            }
            _ => PermissionDecision::Deny,
        };
        let queue = self.settings.headless_policy == HeadlessPolicy::Queue;
        let supervised = self.settings.responder == Responder::Supervisor;
        if self.turn.as_ref().is_none_or(RunningTurn::is_cancelled) {
            _ = answer.send(Answer {
                decision: PermissionDecision::Deny,
                choice_id: None,
                reason: None,
                by: AnsweredBy::Aborted,
            });
            return;
        }
        if self.settings.responder == Responder::Nobody && !queue {
            _ = answer.send(Answer {
                decision: fallback,
                choice_id: None,
                reason: None,
                by: AnsweredBy::Headless,
            });
            return;
        }
        let request = PermissionRequest {
            request_id: RequestId::generate(),
            tool_name: tool,
            input: Value::Object(input),
            prompt: ask.prompt,
            options: ask.options,
            details: ask.details,
            choices: ask.choices,
            headless_decision: None,
        };
        self.publish(PermissionRequest {
            headless_decision: (supervised && !queue).then_some(fallback),
            ..request.clone()
        });
        let timeout = self.ask_timeout();
        self.asks.open(
            PendingKind::Permission {
                request,
                fallback,
                answer,
            },
            timeout,
        );
        self.update_status();
    }

    pub(super) fn open_dialog(&mut self, dialog: Dialog, answer: oneshot::Sender<Option<UiValue>>) {
        let notice = dialog.kind == UiKind::Notify;
        let queue = self.settings.headless_policy == HeadlessPolicy::Queue;
        let nobody = self.settings.responder == Responder::Nobody && !queue;
        let over = self.turn.as_ref().is_some_and(RunningTurn::is_cancelled);
        // Whoever asked may be gone by now.
        if !notice && (nobody || over || answer.is_closed()) {
            _ = answer.send(None);
            return;
        }
        let request = UiRequest {
            request_id: RequestId::generate(),
            kind: dialog.kind,
            // A question must show what it is: no character of it may hide or move another.
            title: dialog.title.as_deref().map(visible),
            message: dialog.message.as_deref().map(visible_text),
            options: dialog
                .options
                .iter()
                .map(|option| visible(option))
                .collect(),
            multiple: dialog.multiple,
            placeholder: dialog.placeholder.as_deref().map(visible),
            prefill: dialog.prefill,
            notify_type: dialog.notify_type,
        };
        self.publish(request.clone());
        if notice {
            return;
        }
        let timeout = self.ask_timeout();
        self.asks.open(PendingKind::Ui { request, answer }, timeout);
        self.update_status();
    }

    /// How long a question waits; a supervisor keeps time itself.
    fn ask_timeout(&self) -> Option<Duration> {
        let waits = self.settings.headless_policy == HeadlessPolicy::Queue
            || self.settings.responder == Responder::Supervisor;
        (!waits).then_some(self.settings.ask_timeout)
    }

    pub(super) fn asks_expired(&mut self) {
        let expired = self.asks.close_expired(Instant::now());
        expired
            .into_iter()
            .for_each(|ask| self.resolve_without_answer(ask, AnsweredBy::Timeout));
        self.update_status();
    }

    /// Closes every question because the turn ends.
    pub(super) fn close_asks(&mut self) {
        let open = self.asks.close_all();
        open.into_iter()
            .for_each(|ask| self.resolve_without_answer(ask, AnsweredBy::Aborted));
    }

    fn resolve_without_answer(&mut self, ask: PendingKind, by: AnsweredBy) {
        let source = by.source();
        match ask {
            PendingKind::Permission {
                request,
                fallback,
                answer,
            } => {
                let decision = match by {
                    AnsweredBy::Timeout => fallback,
                    _ => PermissionDecision::Deny,
                };
                self.publish(PermissionResolved {
                    request_id: request.request_id,
                    decision: Some(decision),
                    choice_id: None,
                    source,
                });
                _ = answer.send(Answer {
                    decision,
                    choice_id: None,
                    reason: None,
                    by,
                });
            }
            PendingKind::Ui { request, answer } => {
                self.publish(UiResolved {
                    request_id: request.request_id,
                    value: None,
                    source,
                });
                _ = answer.send(None);
            }
        }
    }

    pub(super) fn answer_permission(&mut self, response: PermissionResponse) -> Outcome {
        let PermissionResponse {
            request_id,
            choice_id,
            decision,
            reason,
            source,
        } = response;
        let Some(PendingKind::Permission { request, .. }) = self.asks.get(&request_id) else {
            return data(Answered { late: true });
        };
        let decision = match (&choice_id, decision) {
            (None, Some(decision)) if request.options.contains(&decision) => decision,
            (None, Some(_)) => {
                return Err(refuse(
                    ErrorCode::InvalidRequest,
                    "this request does not offer that decision; the options are in the request",
                ));
            }
            (Some(id), None) => match request.choices.iter().find(|choice| choice.id == *id) {
                Some(choice) => decision_of(choice.intent),
                None => {
                    return Err(refuse(
                        ErrorCode::InvalidRequest,
                        "there is no such choice; the choices are in the request",
                    ));
                }
            },
            _ => {
                let message = "give either `choice_id` or `decision`";
                return Err(refuse(ErrorCode::InvalidRequest, message));
            }
        };
        if let Some(PendingKind::Permission { answer, .. }) = self.asks.close(&request_id) {
            let shown = choice_id.is_none().then_some(decision);
            self.publish(PermissionResolved {
                request_id,
                decision: shown,
                choice_id: choice_id.clone(),
                source: source.clone(),
            });
            self.update_status();
            let by = self.answered_by(source);
            _ = answer.send(Answer {
                decision,
                choice_id,
                reason,
                by,
            });
        }
        data(Answered::default())
    }

    /// Who answered. A supervisor says truly that nobody was there; others only name themselves.
    fn answered_by(&self, source: Option<String>) -> AnsweredBy {
        let supervised = self.settings.responder == Responder::Supervisor;
        match source.as_deref() {
            Some("headless") if supervised => AnsweredBy::Headless,
            Some("timeout") if supervised => AnsweredBy::Timeout,
            _ => AnsweredBy::Client(source),
        }
    }

    pub(super) fn answer_dialog(&mut self, response: UiResponse) -> Outcome {
        let UiResponse {
            request_id,
            value,
            source,
        } = response;
        let Some(PendingKind::Ui { .. }) = self.asks.get(&request_id) else {
            return data(Answered { late: true });
        };
        if let Some(PendingKind::Ui { answer, .. }) = self.asks.close(&request_id) {
            self.publish(UiResolved {
                request_id,
                value: value.clone(),
                source,
            });
            self.update_status();
            _ = answer.send(value);
        }
        data(Answered::default())
    }
}

fn decision_of(intent: ChoiceIntent) -> PermissionDecision {
    match intent {
        ChoiceIntent::Allow => PermissionDecision::Allow,
        ChoiceIntent::Persist => PermissionDecision::AllowAlways,
        ChoiceIntent::Deny => PermissionDecision::Deny,
    }
}
