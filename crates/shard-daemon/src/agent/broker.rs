//! The actor of one Agent: clients on one side, its process on the other.
//!
//! The only place where a line of the process becomes a message to clients. Order is what it is
//! about: the process answers a request for a `sync` among its other lines, so whatever came
//! before is in it, and whatever comes after is not. A client that attaches hears nothing until
//! that line, and everything from it on.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use shard_protocol::{
    Aborted, AgentActivity, AgentCommand, AgentCreated, AgentExited, Answered, AttachRole,
    Attached, ErrorBody, PermissionResponse, ServerMessage, Terminated, UiResponse,
};
use shard_types::event::{AgentEvent, Error, PermissionRequest, PermissionResolved, UiResolved};
use shard_types::{
    AgentId, AgentStatus, ErrorCode, HeadlessPolicy, PermissionDecision, Phase, RequestId,
    RuntimeState, time,
};
use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;

use super::asks::{Asks, Fallback, OpenAsk, Sort};
use super::attachments::{Attachments, Welcome};
use super::calls::Calls;
use super::process::{Process, Waiting, Why};
use super::{Agent, Shared, Wish};
use crate::client::{ClientId, Reply, data, line, not_attached, refuse};
use crate::runtime::{
    Ending, Launch, Line, READY, Runtime, RuntimeEvent, Stop, SyncHead, Violation, What,
};

/// How long a process may take to answer a request for a `sync`.
const SYNC: Duration = Duration::from_secs(5);

/// Runs the actor for as long as somebody can reach it.
pub(super) async fn run(agent: Arc<Agent>, shared: Arc<Shared>, mut inbox: mpsc::Receiver<Wish>) {
    let mut broker = Broker {
        prefix: format!("{{\"agent_id\":\"{}\",", agent.id),
        agent,
        shared,
        attachments: Attachments::default(),
        asks: Asks::default(),
        calls: Calls::default(),
        process: Process::None,
        waiting: Vec::new(),
        killers: Vec::new(),
        epoch: 0,
        queued: 0,
        activity: None,
        stop_when_idle: false,
        closing: Vec::new(),
        shut: false,
        active_at: Instant::now(),
    };
    loop {
        let deadline = broker.deadline();
        tokio::select! {
            wish = inbox.recv() => match wish {
                Some(wish) => broker.on_wish(wish),
                None => return,
            },
            event = broker.process.next() => broker.on_event(event),
            () = at(deadline) => broker.on_deadline(),
        }
    }
}

async fn at(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => tokio::time::sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}

struct Broker {
    agent: Arc<Agent>,
    shared: Arc<Shared>,
    /// How each of the agent's messages begins on a daemon connection.
    prefix: String,
    attachments: Attachments,
    asks: Asks,
    calls: Calls,
    process: Process,
    /// For a process that is ready.
    waiting: Vec<Waiting>,
    /// Those who wait for the end of the process.
    killers: Vec<Reply>,
    /// The number of the next process, from 0.
    epoch: u64,
    /// Prompts that wait in the process.
    queued: usize,
    /// What was last told about what it is at.
    activity: Option<(Phase, Option<String>)>,
    stop_when_idle: bool,
    closing: Vec<oneshot::Sender<()>>,
    /// The daemon ends: no process is started any more.
    shut: bool,
    /// When it last did or was asked anything.
    active_at: Instant,
}

impl Broker {
    fn on_wish(&mut self, wish: Wish) {
        self.active_at = Instant::now();
        match wish {
            Wish::Attach { role, reply } => self.attach(role, reply, false),
            Wish::Activate { role, reply } => self.attach(role, reply, true),
            Wish::Detach { reply } => self.detach(reply),
            Wish::Gone { client } => _ = self.let_go(client),
            Wish::Command { kind, line, reply } => self.command(kind, line, reply),
            Wish::Terminate { reply } => self.terminate(reply),
            Wish::Kill { force, reply } => self.kill(force, reply),
            Wish::Start { started } => match self.process {
                Process::Running { .. } => _ = started.send(Ok(())),
                _ => {
                    self.waiting.push(Waiting::Start(started));
                    self.start();
                }
            },
            Wish::ShutDown { force, done } => self.shut_down(force, done),
        }
    }

    fn attach(&mut self, role: AttachRole, reply: Reply, activated: bool) {
        self.attachments.reserve(role, Welcome { reply, activated });
        self.responders_changed();
        match &mut self.process {
            // One request is enough for all who wait: they are not told more than it reflects.
            Process::Running { runtime, sync_due } => {
                if sync_due.is_none() {
                    *sync_due = Some(Instant::now() + SYNC);
                    runtime.tell("{\"type\":\"sync\"}\n");
                }
            }
            _ => self.start(),
        }
    }

    /// Lets a client go. An attach of its own that still waits for the process comes to nothing,
    /// and is told so.
    fn detach(&mut self, reply: Reply) {
        let outcome = match self.let_go(reply.client.id) {
            Some(waiting) => {
                let error = refuse(ErrorCode::Conflict, "detached before the agent was there");
                waiting
                    .into_iter()
                    .for_each(|welcome| welcome.reply.send(Err(error.clone())));
                Ok(serde_json::Value::Null)
            }
            None => Err(not_attached()),
        };
        reply.send(outcome);
    }

    fn let_go(&mut self, client: ClientId) -> Option<Vec<Welcome>> {
        let waiting = self.attachments.remove(client);
        self.responders_changed();
        waiting
    }

    fn responders_changed(&mut self) {
        let somebody = self.attachments.has_responder();
        let patience = self.shared.settings.ask_timeout;
        self.asks
            .responders_changed(somebody, Instant::now(), patience);
    }

    /// A command of a client to the agent itself.
    fn command(&mut self, kind: String, line: String, reply: Reply) {
        let Some(role) = self.attachments.role(reply.client.id) else {
            return reply.send(Err(not_attached()));
        };
        let answers = matches!(&*kind, "permission_response" | "ui_response");
        if answers && role == AttachRole::Observer {
            let message = "an observer answers no questions; attach as `interactive` first";
            return reply.send(Err(refuse(ErrorCode::PermissionDenied, message)));
        }
        match (&self.process, &*kind) {
            (Process::Running { .. }, _) => self.forward(&kind, &line, reply),
            // Nothing asks any more, and nothing is to be woken for it.
            (_, "permission_response" | "ui_response") => {
                reply.send(data(Answered { late: true }));
            }
            (Process::Starting { .. }, _) => {
                self.waiting.push(Waiting::Command { kind, line, reply });
            }
            (_, "list_modes" | "list_models" | "list_reasoning_levels") => {
                let message = "the agent is stopped; a prompt starts it again";
                reply.send(Err(refuse(ErrorCode::Conflict, message)));
            }
            (_, "abort") => reply.send(data(Aborted::default())),
            (Process::None | Process::Ending { .. }, _) => {
                self.waiting.push(Waiting::Command { kind, line, reply });
                self.start();
            }
        }
    }

    fn forward(&mut self, kind: &str, line: &str, reply: Reply) {
        let Process::Running { runtime, .. } = &self.process else {
            return;
        };
        let answers = matches!(kind, "permission_response" | "ui_response");
        let source = answers.then(|| reply.client.who.source());
        if let Some(line) = self.calls.forward(line, source, reply) {
            runtime.tell(line);
        }
    }

    /// Whether it has nothing to do. A command that it has not answered may be a prompt, of which
    /// its status does not tell yet.
    fn is_inactive(&self) -> bool {
        let status = self.agent.record().status;
        let rests = matches!(status, AgentStatus::Idle | AgentStatus::Error);
        rests && self.queued == 0 && self.calls.is_empty()
    }

    fn terminate(&mut self, reply: Reply) {
        let deferred = match self.process {
            Process::None | Process::Ending { .. } => false,
            Process::Running { .. } if self.is_inactive() => {
                self.process.end(Stop::Gently, Why::Wanted);
                false
            }
            Process::Starting { .. } | Process::Running { .. } => {
                self.stop_when_idle = true;
                true
            }
        };
        reply.send(data(Terminated { deferred }));
    }

    fn kill(&mut self, force: bool, reply: Reply) {
        if matches!(self.process, Process::None) {
            return reply.send(Ok(serde_json::Value::Null));
        }
        self.killers.push(reply);
        let how = if force { Stop::Now } else { Stop::Gently };
        self.process.end(how, Why::Wanted);
    }

    fn shut_down(&mut self, force: bool, done: oneshot::Sender<()>) {
        self.shut = true;
        self.closing.push(done);
        // Who waits for a person would wait for ever.
        let waits = self
            .asks
            .wait_for_a_person(self.attachments.has_responder());
        match &self.process {
            Process::None => self.ended_for_good(),
            _ if force => self.process.end(Stop::Now, Why::Wanted),
            Process::Running { .. } if !waits && !self.is_inactive() => self.stop_when_idle = true,
            _ => self.process.end(Stop::Gently, Why::Wanted),
        }
    }

    fn ended_for_good(&mut self) {
        self.closing.drain(..).for_each(|done| _ = done.send(()));
        let error = refuse(ErrorCode::Conflict, "the daemon is shutting down");
        self.turn_away(&error);
    }

    fn turn_away(&mut self, error: &ErrorBody) {
        for waiting in self.waiting.drain(..) {
            waiting.refuse(error);
        }
        for reply in self.attachments.turn_away() {
            reply.send(Err(error.clone()));
        }
        self.responders_changed();
    }

    /// Starts a process, if there is none. One that is just ending is waited for.
    fn start(&mut self) {
        if !matches!(self.process, Process::None) {
            return;
        }
        if self.shut {
            let error = refuse(ErrorCode::Conflict, "the daemon is shutting down");
            return self.turn_away(&error);
        }
        let settings = &self.shared.settings;
        let launch = Launch {
            agent_id: self.agent.id.clone(),
            state_home: settings.state_home.clone(),
            socket_path: self.shared.socket_path.clone(),
            trust_project: settings.trust_project,
        };
        self.stop_when_idle = false;
        self.process = Process::Starting {
            runtime: Runtime::start(launch),
            greeted: false,
            deadline: Instant::now() + READY,
            fatal: None,
        };
        self.set_state(AgentStatus::Idle, RuntimeState::Starting);
    }

    /// Notes how the agent stands, and tells everybody if that is new.
    fn set_state(&self, status: AgentStatus, runtime_state: RuntimeState) {
        let mut changed = false;
        self.agent.update(|record| {
            changed = (record.status, record.runtime_state) != (status, runtime_state);
            (record.status, record.runtime_state) = (status, runtime_state);
        });
        if changed {
            self.agent.tell_status();
        }
    }

    fn on_event(&mut self, event: RuntimeEvent) {
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
        self.process.end(Stop::Now, Why::Broken(violation.0));
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
                self.pass_on(&text);
                self.on_question(id, Sort::Dialog, self.dialog_fallback());
                false
            }
            What::Resolved(id) => {
                self.asks.close(&id);
                true
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
        if self.attachments.has_listener() {
            self.attachments.send(&self.spliced("", text));
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

    fn spliced_sync(&self, text: &str) -> Bytes {
        let epoch = self.epoch.saturating_sub(1);
        self.spliced(&format!("\"runtime_epoch\":{epoch},"), text)
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
        let line = self.spliced_sync(sync);
        self.attachments.send(&line);
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
        if let Process::Running { sync_due, .. } = &mut self.process {
            *sync_due = None;
        }
        if !self.attachments.has_reserved() {
            return;
        }
        let info = self.agent.info();
        let sync = self.spliced_sync(sync);
        self.attachments.welcome(&sync, |welcome| {
            let outcome = if welcome.activated {
                data(AgentCreated {
                    agent_id: info.agent_id.clone(),
                    duplicate: false,
                })
            } else {
                data(Attached {
                    status: info.status,
                    info: info.clone(),
                })
            };
            welcome.reply.send(outcome);
        });
    }

    fn on_status(&mut self, status: AgentStatus, phase: Phase) {
        self.set_state(status, self.agent.runtime_state());
        self.active_at = Instant::now();
        self.tell_activity(phase, None);
        self.stop_if_idle();
    }

    fn stop_if_idle(&mut self) {
        if self.stop_when_idle && self.is_inactive() {
            self.process.end(Stop::Gently, Why::Wanted);
        }
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

    fn save(&self) {
        let agent = Arc::clone(&self.agent);
        tokio::spawn(async move {
            if let Err(error) = agent.save().await {
                tracing::error!(agent = %agent.id, %error, "the agent's record could not be written");
            }
        });
    }

    fn on_permission(&mut self, mut request: PermissionRequest) {
        let fallback = match request.headless_decision.take() {
            Some(decision) => Fallback::Decide(decision),
            None => Fallback::Wait,
        };
        let id = request.request_id.clone();
        let event = ServerMessage::Agent(Some(self.agent.id.clone()), request.into());
        self.attachments.send(&line(event.to_json()));
        self.on_question(id, Sort::Permission, fallback);
    }

    fn dialog_fallback(&self) -> Fallback {
        match self.agent.record().manifest.headless_policy {
            HeadlessPolicy::Queue => Fallback::Wait,
            HeadlessPolicy::Deny | HeadlessPolicy::AllowIfRuleMatches => Fallback::Close,
        }
    }

    /// A question is open. With nobody there the policy speaks at once; a daemon that is ending
    /// waits for nobody.
    fn on_question(&mut self, id: RequestId, sort: Sort, fallback: Fallback) {
        if !self.attachments.has_responder() && fallback != Fallback::Wait {
            self.answer(&id, sort, fallback, "headless");
        } else if self.shut {
            self.process.end(Stop::Gently, Why::Wanted);
        }
        self.asks.open(id, sort, fallback);
    }

    /// Answers a question for want of a person.
    fn answer(&self, id: &RequestId, sort: Sort, fallback: Fallback, source: &str) {
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

    fn deadline(&self) -> Option<Instant> {
        let idle = matches!(self.process, Process::Running { .. }) && self.is_inactive();
        let idle = idle.then(|| self.active_at + self.shared.settings.idle_timeout);
        [self.process.deadline(), self.asks.next_deadline(), idle]
            .into_iter()
            .flatten()
            .min()
    }

    fn on_deadline(&mut self) {
        let now = Instant::now();
        for OpenAsk {
            id, sort, fallback, ..
        } in self.asks.expired(now)
        {
            self.answer(&id, sort, fallback, "timeout");
            self.asks.open(id, sort, Fallback::Wait); // until the process says that it is closed
        }
        if self
            .process
            .deadline()
            .is_some_and(|deadline| deadline <= now)
        {
            tracing::warn!(agent = %self.agent.id, "an agent's process does not answer; it is ended");
            return self
                .process
                .end(Stop::Now, Why::Broken("nothing for too long"));
        }
        let idle = matches!(self.process, Process::Running { .. }) && self.is_inactive();
        if idle && self.active_at + self.shared.settings.idle_timeout <= now {
            self.process.end(Stop::Gently, Why::Wanted);
        }
    }

    /// The process is gone, with everything that it had started.
    fn ended(&mut self, ending: &Ending) {
        let process = std::mem::take(&mut self.process);
        self.calls.fail_all();
        self.close_asks();
        self.queued = 0;
        self.save();
        self.activity = None;
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
                self.tell_exit(ending, &format!("it printed {what}; "));
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
        } else if !self.waiting.is_empty() || self.attachments.has_reserved() {
            self.start();
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

    /// No dialog stays open: what asked is gone.
    fn close_asks(&mut self) {
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

/// Why an agent's process did not become ready, for those who may hear its last words.
fn start_failure(agent_id: &AgentId, ending: &Ending, fatal: Option<&Error>) -> ErrorBody {
    let message = match fatal {
        Some(fatal) => fatal.message.clone(),
        None => {
            let mut message = format!(
                "the process of {agent_id} did not become ready: {}",
                ending.reason
            );
            if !ending.last_words.is_empty() {
                message = format!("{message}; its last words: {}", ending.last_words);
            }
            message
        }
    };
    let code = match fatal {
        Some(fatal) if fatal.code == ErrorCode::SessionCorrupt => ErrorCode::SessionCorrupt,
        _ => ErrorCode::RuntimeStartFailed,
    };
    refuse(code, message)
}
