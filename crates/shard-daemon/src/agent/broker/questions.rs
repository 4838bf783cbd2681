//! Questions of the process, as far as a daemon has a say in them.

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
        self.attachments.send(&line(event.to_json()));
        self.on_question(id, Sort::Permission, fallback);
    }

    pub(super) fn dialog_fallback(&self) -> Fallback {
        match self.agent.record().manifest.headless_policy {
            HeadlessPolicy::Queue => Fallback::Wait,
            HeadlessPolicy::Deny | HeadlessPolicy::AllowIfRuleMatches => Fallback::Close,
        }
    }

    /// A question is open. With nobody there the policy speaks at once; a daemon that is ending
    /// waits for nobody.
    pub(super) fn on_question(&mut self, id: RequestId, sort: Sort, fallback: Fallback) {
        if !self.attachments.has_responder() && fallback != Fallback::Wait {
            self.answer(&id, sort, fallback, "headless");
        } else if self.shut {
            self.process.end(Stop::Gently, Why::Wanted);
        }
        self.asks.open(id, sort, fallback);
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
        for OpenAsk { id, sort, .. } in self.asks.close_all() {
            let event: AgentEvent = match sort {
                Sort::Permission => PermissionResolved {
                    request_id: id,
                    decision: Some(PermissionDecision::Deny),
                    choice_id: None,
                    source: source.clone(),
                }
                .into(),
                Sort::Dialog => UiResolved {
                    request_id: id,
                    value: None,
                    source: source.clone(),
                }
                .into(),
            };
            let event = ServerMessage::Agent(Some(self.agent.id.clone()), event);
            self.attachments.send(&line(event.to_json()));
        }
    }
}
