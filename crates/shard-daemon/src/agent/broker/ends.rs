//! The end of a process, wanted or not.

use shard_protocol::{AgentExited, ErrorBody};
use shard_types::event::Error;
use shard_types::{AgentId, AgentStatus, ErrorCode, RuntimeState};
use tokio::time::Instant;

use super::super::process::{Process, Waiting, Why};
use super::Broker;
use crate::client::refuse;
use crate::runtime::Ending;

impl Broker {
    /// The process is gone, with everything that it had started.
    pub(super) fn ended(&mut self, ending: &Ending) {
        let process = std::mem::take(&mut self.process);
        self.calls.fail_all();
        self.close_asks();
        self.queued = 0;
        self.save();
        self.activity = None;
        self.note_end(&process, ending);
        match process {
            Process::Ending {
                why: Why::Wanted, ..
            } => self.set_state(AgentStatus::Idle, RuntimeState::Stopped),
            Process::Starting { fatal, .. } => {
                self.set_state(AgentStatus::Idle, RuntimeState::Failed);
                self.start_failed(ending, fatal.as_deref());
                self.tell_exit(ending, "");
            }
            Process::Ending {
                why: Why::Broken(what),
                ..
            } => {
                self.set_state(AgentStatus::Idle, RuntimeState::Failed);
                self.tell_exit(ending, &format!("{what}; "));
                self.start_failed(ending, None);
            }
            Process::Running { .. } | Process::None => {
                self.set_state(AgentStatus::Idle, RuntimeState::Failed);
                self.tell_exit(ending, "");
            }
        }
        for reply in self.killers.drain(..) {
            reply.send(Ok(serde_json::Value::Null));
        }
        if self.shut {
            self.ended_for_good();
        } else if !self.waiting.is_empty() || self.agent.audience().attachments.has_reserved() {
            self.start();
        }
    }

    /// Counts an end that nobody wanted.
    fn note_end(&mut self, process: &Process, ending: &Ending) {
        let now = Instant::now();
        match process {
            Process::Ending {
                why: Why::Wanted, ..
            } => self.crashes.stopped(now),
            Process::Starting {
                fatal: Some(fatal), ..
            } => self.crashes.failed(now, fatal.message.clone()),
            Process::Ending {
                why: Why::Broken(what),
                ..
            } => self
                .crashes
                .failed(now, format!("{what}; {}", ending.in_words())),
            _ => self.crashes.failed(now, ending.in_words()),
        }
    }

    /// Answers all who waited for the process. Whoever makes the agent hears if what was asked for
    /// is not there; of an agent that exists, that is no reason to doubt that it does.
    fn start_failed(&mut self, ending: &Ending, fatal: Option<&Error>) {
        let error = start_failure(&self.agent.id, ending, fatal);
        if let Some(fatal) = fatal.filter(|fatal| fatal.code == ErrorCode::NotFound) {
            let error = refuse(ErrorCode::NotFound, fatal.message.clone());
            let makers = self
                .waiting
                .extract_if(.., |waiting| matches!(waiting, Waiting::Start(_)));
            makers.for_each(|maker| maker.refuse(&error));
        }
        self.turn_away(&error);
    }

    fn tell_exit(&self, ending: &Ending, before: &str) {
        if self.agent.is_announced() {
            self.shared.clients.broadcast(AgentExited {
                agent_id: self.agent.id.clone(),
                runtime_state: RuntimeState::Failed,
                reason: format!("{before}{}", ending.reason),
                exit_code: ending.exit_code,
            });
        }
    }
}

/// Why an agent's process did not become ready, for those who may hear its last words.
fn start_failure(agent_id: &AgentId, ending: &Ending, fatal: Option<&Error>) -> ErrorBody {
    let message = match fatal {
        Some(fatal) => fatal.message.clone(),
        None => format!(
            "the process of {agent_id} did not become ready: {}",
            ending.in_words()
        ),
    };
    let code = match fatal {
        Some(fatal) if fatal.code == ErrorCode::SessionCorrupt => ErrorCode::SessionCorrupt,
        _ => ErrorCode::RuntimeStartFailed,
    };
    refuse(code, message)
}
