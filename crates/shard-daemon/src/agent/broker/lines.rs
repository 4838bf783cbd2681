//! What the process says: each line is passed on, and what it tells is kept.

use std::sync::Arc;

use bytes::Bytes;
use shard_protocol::{AgentActivity, AgentCreated, Attached};
use shard_types::{AgentStatus, Phase, RuntimeState, time};
use tokio::time::Instant;

use super::super::AskedFor;
use super::super::asks::Sort;
use super::super::hierarchy::Audience;
use super::super::process::{Process, Waiting, Why};
use super::Broker;
use crate::client::{data, line};
use crate::runtime::{Line, RuntimeEvent, Stop, SyncHead, Violation, What};

impl Broker {
    pub(super) fn on_event(&mut self, event: RuntimeEvent) {
        match event {
            RuntimeEvent::Lines(lines) => {
                for line in lines {
                    if let Err(violation) = self.on_line(line) {
                        self.broken(&violation);
                    }
                }
            }
            RuntimeEvent::Broken(violation) => self.broken(&violation),
            RuntimeEvent::Ended(ending) => self.ended(&ending),
        }
    }

    fn broken(&mut self, violation: &Violation) {
        tracing::warn!(agent = %self.agent.id, %violation, "an agent's process is ended");
        self.process
            .end(Stop::Now, Why::Broken(violation.to_string()));
    }

    fn on_line(&mut self, line: Line) -> Result<(), Violation> {
        match &mut self.process {
            Process::Starting { greeted, fatal, .. } => match line.what {
                What::Hello => *greeted = true,
                What::Sync(head) if *greeted => self.ready(&line.text, *head),
                What::Fatal(error) => *fatal = Some(error),
                _ => return Err(Violation("something before it said that it is ready")),
            },
            Process::Running { .. } => return self.on_live_line(line),
            // It was ended before it had greeted.
            Process::Ending {
                why: Why::Wanted, ..
            } if matches!(line.what, What::Hello) => {}
            // What it still says counts for those who watch, but for nothing else.
            Process::Ending {
                why: Why::Wanted, ..
            } => return self.on_live_line(line),
            Process::Ending { .. } | Process::None => {}
        }
        Ok(())
    }

    /// A line of a process that is ready.
    fn on_live_line(&mut self, line: Line) -> Result<(), Violation> {
        let Line { text, what } = line;
        let passed_on = match what {
            What::Event => true,
            What::Phase(phase, tool) => {
                self.tell_activity(phase, tool);
                true
            }
            What::Status(status, phase) => {
                self.pass_on(&text);
                self.on_status(status, phase);
                false
            }
            What::Queue(length) => {
                self.queued = length;
                self.pass_on(&text);
                self.stop_if_idle();
                false
            }
            What::Usage(usage) => {
                self.agent.update(|record| {
                    record.manifest.usage.get_or_insert_default().add(&usage);
                });
                true
            }
            What::TurnEnd => {
                self.crashes.worked();
                self.save();
                true
            }
            What::Model(model) => {
                self.agent
                    .update(|record| record.manifest.model = Some(model.id));
                self.save();
                true
            }
            What::Mode(mode) => {
                self.agent
                    .update(|record| record.manifest.mode = Some(mode));
                self.save();
                true
            }
            What::Permission(request) => {
                self.on_permission(*request);
                false
            }
            What::Dialog(id) => {
                let event = self.spliced("", &text);
                self.on_question(id, Sort::Dialog, self.dialog_fallback(), event);
                false
            }
            What::Resolved(id) => {
                let event = self.spliced("", &text);
                self.on_resolved(&id, &event);
                false
            }
            What::Fatal(_) => true,
            What::Response(number) => {
                self.calls.answer(number, &text)?;
                self.stop_if_idle();
                false
            }
            What::Sync(_) => {
                self.welcome(&text);
                false
            }
            What::Hello => return Err(Violation("a second `hello`")),
        };
        if passed_on {
            self.pass_on(&text);
        }
        Ok(())
    }

    /// Sends a line of the process to whoever is attached, as a message of this agent.
    fn pass_on(&self, text: &str) {
        let audience = self.agent.audience();
        if audience.attachments.has_listener() {
            audience.attachments.send(&self.spliced("", text));
        }
    }

    /// A line with this agent's id, and `more` fields, in front.
    fn spliced(&self, more: &str, text: &str) -> Bytes {
        let body = text.strip_prefix('{').unwrap_or(text);
        let mut spliced = String::with_capacity(self.prefix.len() + more.len() + body.len() + 1);
        spliced.push_str(&self.prefix);
        spliced.push_str(more);
        spliced.push_str(body);
        line(spliced)
    }

    fn spliced_sync(&self, audience: &Audience, text: &str) -> Bytes {
        let epoch = self.epoch.saturating_sub(1);
        let more = format!("\"runtime_epoch\":{epoch},");
        self.spliced(&more, &audience.complete(text))
    }

    /// The process takes commands now. Whoever was attached to the one before learns how things
    /// stand with this one.
    fn ready(&mut self, sync: &str, head: SyncHead) {
        let Process::Starting { runtime, .. } = std::mem::take(&mut self.process) else {
            return;
        };
        self.process = Process::Running {
            runtime,
            sync_due: None,
        };
        self.epoch += 1;
        self.active_at = Instant::now();
        self.crashes.ready(self.active_at);
        self.queued = head.queue.len();
        self.agent.update(|record| {
            record.manifest.mode = Some(head.mode);
            if let Some(model) = head.model {
                record.manifest.model = Some(model.id);
            }
            record.manifest.usage = head.usage.or(record.manifest.usage.take());
        });
        self.set_state(head.status, RuntimeState::Running);
        // Those who were there before hear it as an event, those who wait after their answer.
        {
            let audience = self.agent.audience();
            audience
                .attachments
                .send_sync(&self.spliced_sync(&audience, sync));
        }
        self.welcome(sync);
        for waiting in std::mem::take(&mut self.waiting) {
            match waiting {
                Waiting::Start(started) => _ = started.send(Ok(())),
                Waiting::Command { kind, line, reply } => self.forward(&kind, &line, reply),
            }
        }
        self.stop_if_idle(); // that was wanted while it was starting
    }

    /// Lets those in who wait for this `sync`.
    fn welcome(&mut self, sync: &str) {
        // Of one that is being ended it would tell what is no more; who waits gets the next one's.
        let Process::Running { sync_due, .. } = &mut self.process else {
            return;
        };
        *sync_due = None;
        let info = self.agent.info();
        let mut audience = self.agent.audience();
        if !audience.attachments.has_reserved() {
            return;
        }
        let sync = self.spliced_sync(&audience, sync);
        audience.attachments.welcome(&sync, |welcome| {
            let outcome = match welcome.asked {
                AskedFor::Agent => data(Attached {
                    status: info.status,
                    info: info.clone(),
                }),
                AskedFor::Session => data(AgentCreated {
                    agent_id: info.agent_id.clone(),
                    duplicate: false,
                }),
            };
            welcome.reply.send(outcome);
        });
        drop(audience);
        self.responders_changed();
    }

    fn on_status(&mut self, status: AgentStatus, phase: Phase) {
        self.set_state(status, self.agent.runtime_state());
        self.active_at = Instant::now();
        self.tell_activity(phase, None);
        self.stop_if_idle();
    }

    fn tell_activity(&mut self, phase: Phase, tool_name: Option<String>) {
        let current = (phase, tool_name);
        if self.activity.as_ref() == Some(&current) || !self.agent.is_announced() {
            return;
        }
        self.shared.clients.broadcast(AgentActivity {
            agent_id: self.agent.id.clone(),
            timestamp: time::now_ms(),
            phase,
            status: self.agent.record().status,
            tool_name: current.1.clone(),
        });
        self.activity = Some(current);
    }

    pub(super) fn save(&self) {
        let agent = Arc::clone(&self.agent);
        tokio::spawn(async move {
            if let Err(error) = agent.save().await {
                tracing::error!(agent = %agent.id, %error, "the agent's record could not be written");
            }
        });
    }
}
