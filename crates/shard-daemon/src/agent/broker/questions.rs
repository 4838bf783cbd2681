//! Questions of the process, as far as a daemon has a say in them.

use std::sync::atomic::Ordering;

use bytes::Bytes;
use shard_protocol::{AgentCommand, PermissionResponse, ServerMessage, UiResponse};
use shard_types::event::{AgentEvent, PermissionRequest, PermissionResolved, UiResolved};
use shard_types::{HeadlessPolicy, PermissionDecision, RequestId};

use super::super::asks::{Fallback, OpenAsk, Sort};
use super::super::process::{Process, Why};
use super::Broker;
use crate::client::line;
use crate::runtime::Stop;

impl Broker {
    pub(super) fn on_permission(&mut self, mut request: PermissionRequest) {
        let fallback = match request.headless_decision.take() {
            Some(decision) => Fallback::Decide(decision),
            None => Fallback::Wait,
        };
        let id = request.request_id.clone();
        let event = ServerMessage::Agent(Some(self.agent.id.clone()), request.into());
        self.on_question(id, Sort::Permission, fallback, line(event.to_json()));
    }

    pub(super) fn dialog_fallback(&self) -> Fallback {
        match self.agent.record().manifest.headless_policy {
            HeadlessPolicy::Queue => Fallback::Wait,
            HeadlessPolicy::Deny | HeadlessPolicy::AllowIfRuleMatches => Fallback::Close,
        }
    }

    /// A question is open. With nobody there the policy speaks at once; a daemon that is ending
    /// waits for nobody.
    pub(super) fn on_question(
        &mut self,
        id: RequestId,
        sort: Sort,
        fallback: Fallback,
        event: Bytes,
    ) {
        self.asks.open(id.clone(), sort, fallback, event.clone());
        self.count_asks();
        self.agent.audience().attachments.send(&event);
        if !self.agent.has_responder() && fallback != Fallback::Wait {
            self.answer(&id, sort, fallback, "headless");
        } else if self.shut {
            self.process.end(Stop::Gently, Why::Wanted);
        }
        self.delegate();
    }

    /// Before clients hear of it, so that whoever has heard finds it counted.
    fn count_asks(&self) {
        let open = self.asks.count();
        self.agent.asks_open.store(open, Ordering::Relaxed);
    }

    /// With nobody attached who could answer, what is open goes to the nearest ancestor that has
    /// somebody.
    pub(super) fn delegate(&mut self) {
        if self.asks.is_empty() || self.has_responder {
            return;
        }
        if let Some(ancestor) = self.agent.nearest_responder() {
            let hear_anyway = self.agent.audience().attachments.listeners();
            self.asks.tell(&ancestor, &hear_anyway);
        }
    }

    /// A question is open no longer: all who heard of it hear that.
    pub(super) fn on_resolved(&mut self, id: &RequestId, event: &Bytes) {
        let told = self.asks.close(id);
        self.count_asks();
        self.tell_resolved(told.as_ref(), event);
    }

    fn tell_resolved(&self, ask: Option<&OpenAsk>, event: &Bytes) {
        let hear_anyway = {
            let audience = self.agent.audience();
            audience.attachments.send(event);
            audience.attachments.listeners()
        };
        if let Some(ask) = ask {
            ask.settle(event, &hear_anyway);
        }
    }

    /// Answers a question for want of a person.
    pub(super) fn answer(&self, id: &RequestId, sort: Sort, fallback: Fallback, source: &str) {
        let Process::Running { runtime, .. } = &self.process else {
            return;
        };
        let source = Some(source.to_owned());
        let answer: AgentCommand = match (sort, fallback) {
            (_, Fallback::Wait) => return,
            (Sort::Dialog, _) => UiResponse {
                request_id: id.clone(),
                value: None,
                source,
            }
            .into(),
            (Sort::Permission, fallback) => PermissionResponse {
                request_id: id.clone(),
                choice_id: None,
                decision: Some(match fallback {
                    Fallback::Decide(decision) => decision,
                    _ => PermissionDecision::Deny,
                }),
                reason: None,
                source,
            }
            .into(),
        };
        // Plain data cannot fail to print.
        runtime.tell(line(serde_json::to_string(&answer).unwrap_or_default()));
    }

    /// No dialog stays open: what asked is gone.
    pub(super) fn close_asks(&mut self) {
        let source = Some("aborted".to_owned());
        let closed = self.asks.close_all();
        self.count_asks();
        for ask in closed {
            let request_id = ask.id.clone();
            let event: AgentEvent = match ask.sort {
                Sort::Permission => PermissionResolved {
                    request_id,
                    decision: Some(PermissionDecision::Deny),
                    choice_id: None,
                    source: source.clone(),
                }
                .into(),
                Sort::Dialog => UiResolved {
                    request_id,
                    value: None,
                    source: source.clone(),
                }
                .into(),
            };
            let event = ServerMessage::Agent(Some(self.agent.id.clone()), event);
            self.tell_resolved(Some(&ask), &line(event.to_json()));
        }
    }
}
