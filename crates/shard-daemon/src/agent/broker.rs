//! The actor of one Agent: clients on one side, its process on the other.
//!
//! The only place where a line of the process becomes a message to clients. Order is what it is
//! about: the process answers a request for a `sync` among its other lines, so whatever came
//! before is in it, and whatever comes after is not. A client that attaches hears nothing until
//! that line, and everything from it on.

mod ends;
mod lines;
mod questions;

use std::sync::Arc;
use std::time::Duration;

use shard_protocol::{Aborted, Answered, AttachRole, ErrorBody, Terminated};
use shard_types::{AgentId, AgentStatus, ErrorCode, Phase, RuntimeState};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::Instant;

use super::asks::Asks;
use super::attachments::Welcome;
use super::calls::Calls;
use super::crashes::{Crashes, Pause};
use super::process::{Process, Waiting, Why};
use super::{Agent, AskedFor, GrantsWish, Shared, Wish, grants};
use crate::client::{ClientId, Reply, data, not_attached, refuse};
use crate::runtime::{Launch, READY, Runtime, Stop, at};

/// How long a process may take to answer the daemon itself: a request for a `sync`, or one about
/// grants. It is busy with nothing for as long.
const IN_BAND: Duration = Duration::from_secs(5);

/// Runs the actor for as long as somebody can reach it.
pub(super) async fn run(agent: Arc<Agent>, shared: Arc<Shared>, mut inbox: mpsc::Receiver<Wish>) {
    // Its sender is in `shared`, which lives as long as this.
    let mut tuning = shared.tuning.subscribe();
    let mut broker = Broker {
        prefix: format!("{{\"agent_id\":\"{}\",", agent.id),
        responders: shared.responders.subscribe(),
        has_responder: false,
        agent,
        shared,
        asks: Asks::default(),
        calls: Calls::default(),
        process: Process::None,
        crashes: Crashes::default(),
        waiting: Vec::new(),
        killers: Vec::new(),
        grants: Vec::new(),
        epoch: 0,
        queued: 0,
        activity: None,
        stop_when_idle: false,
        closing: Vec::new(),
        shut: false,
        active_at: Instant::now(),
    };
    loop {
        broker.serve_grants().await;
        let deadline = broker.deadline();
        tokio::select! {
            wish = inbox.recv() => match wish {
                Some(wish) => broker.on_wish(wish),
                None => return,
            },
            event = broker.process.next() => broker.on_event(event),
            Ok(()) = broker.responders.changed(), if !broker.asks.is_empty() => {
                broker.reconsider_asks();
            }
            () = at(deadline) => broker.on_deadline(),
            // Deadlines that follow the configuration are worked out anew.
            _ = tuning.changed() => {}
        }
    }
}

/// Whether a command of this type says what a person decided.
fn answers_a_question(kind: &str) -> bool {
    matches!(kind, "permission_response" | "ui_response")
}

fn shutting_down() -> ErrorBody {
    refuse(ErrorCode::Conflict, "the daemon is shutting down")
}

/// Why a process is not even started.
fn failed_too_often(agent_id: &AgentId, pause: Pause<'_>) -> ErrorBody {
    let Pause {
        failures,
        left,
        reason,
    } = pause;
    let seconds = left.as_millis().div_ceil(1000);
    let message = format!(
        "the process of {agent_id} failed {failures} times in a row, so it is not started now; try \
         again in {seconds} s, or at once after `agent.kill`. The last time: {reason}"
    );
    let mut error = refuse(ErrorCode::RuntimeStartFailed, message);
    let left = u64::try_from(left.as_millis()).unwrap_or(u64::MAX).max(1);
    error.data = Some(serde_json::json!({ "retry_after_ms": left }));
    error
}

struct Broker {
    agent: Arc<Agent>,
    shared: Arc<Shared>,
    /// How each of the agent's messages begins on a daemon connection.
    prefix: String,
    /// Tells when responders of other agents, who may be ancestors, come or go.
    responders: watch::Receiver<()>,
    /// Whether somebody is attached to the agent itself who may answer.
    has_responder: bool,
    asks: Asks,
    calls: Calls,
    process: Process,
    crashes: Crashes,
    /// For a process that is ready.
    waiting: Vec<Waiting>,
    /// Those who wait for the end of the process.
    killers: Vec<Reply>,
    /// Wishes about grants, until it is clear who has them.
    grants: Vec<GrantsWish>,
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
            Wish::Attach { role, asked, reply } => self.attach(role, asked, reply),
            Wish::Detach { reply } => self.detach(reply),
            Wish::Gone { client } => _ = self.let_go(client),
            Wish::Command { kind, line, reply } => self.command(kind, line, reply),
            Wish::Grants(wish) => self.take_grants_wish(wish),
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

    fn attach(&mut self, role: AttachRole, asked: AskedFor, reply: Reply) {
        let welcome = Welcome { role, reply, asked };
        self.agent.audience().attachments.reserve(welcome);
        self.responders_changed();
        match &mut self.process {
            // One request is enough for all who wait: they are not told more than it reflects.
            Process::Running { runtime, sync_due } => {
                if sync_due.is_none() {
                    *sync_due = Some(Instant::now() + IN_BAND);
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
        let waiting = self.agent.audience().attachments.remove(client);
        self.responders_changed();
        waiting
    }

    pub(super) fn responders_changed(&mut self) {
        let before = self.has_responder;
        self.has_responder = self.agent.audience().attachments.has_responder();
        if self.has_responder != before {
            self.shared.responders.send_replace(());
        }
        self.reconsider_asks();
    }

    /// Somebody may have come who can answer, or the last one have left: here or at an ancestor.
    fn reconsider_asks(&mut self) {
        let patience = self.shared.tuning.borrow().ask_timeout;
        self.asks
            .responders_changed(self.agent.has_responder(), Instant::now(), patience);
        self.delegate();
    }

    /// A command of a client to the agent itself.
    fn command(&mut self, kind: String, line: String, reply: Reply) {
        let answers = answers_a_question(&kind);
        let role = if answers {
            self.agent.answering_role(reply.client.id)
        } else {
            self.agent.audience().attachments.role(reply.client.id)
        };
        let Some(role) = role else {
            return reply.send(Err(not_attached()));
        };
        if matches!(&*kind, "prompt" | "steer")
            && let Err(error) = self.shared.workspaces.admit(&self.agent.manifest())
        {
            // Also while it runs: what its tools write would pass for a worktree.
            return reply.send(Err(error));
        }
        if answers && role == AttachRole::Observer {
            let message = "an observer answers no questions; attach as `interactive` first";
            return reply.send(Err(refuse(ErrorCode::PermissionDenied, message)));
        }
        match (&self.process, &*kind) {
            (Process::Running { .. }, _) => self.forward(&kind, &line, reply),
            // Nothing asks any more, and nothing is to be woken for it.
            _ if answers => reply.send(data(Answered { late: true })),
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

    pub(super) fn forward(&mut self, kind: &str, line: &str, reply: Reply) {
        let Process::Running { runtime, .. } = &self.process else {
            return;
        };
        let source = answers_a_question(kind).then(|| reply.client.who.source());
        if let Some(line) = self.calls.forward(line, source, reply) {
            runtime.tell(line);
        }
    }

    fn take_grants_wish(&mut self, wish: GrantsWish) {
        let role = self.agent.audience().attachments.role(wish.reply.client.id);
        if wish.revoke.is_some() && role == Some(AttachRole::Observer) {
            let message = "an observer changes nothing; attach as `interactive` first";
            let error = refuse(ErrorCode::PermissionDenied, message);
            return wish.reply.send(Err(error));
        }
        self.grants.push(wish);
    }

    /// Puts wishes about grants to whoever has them: a process that is ready, or the file, if there
    /// is no process. One that starts or ends is waited for: it may be about to read or write it.
    async fn serve_grants(&mut self) {
        if self.grants.is_empty() {
            return;
        }
        match &self.process {
            Process::Running { runtime, .. } => {
                for wish in std::mem::take(&mut self.grants) {
                    let deadline = Instant::now() + IN_BAND;
                    let line = wish.line();
                    if let Some(line) = self.calls.ask(&line, deadline, wish.reply) {
                        runtime.tell(line);
                    }
                }
            }
            Process::None => {
                let path = self
                    .agent
                    .manifest()
                    .grants_file(&self.shared.settings.state_home);
                for GrantsWish { revoke, reply } in std::mem::take(&mut self.grants) {
                    let path = path.clone();
                    let work = move || grants::carry_out(&path, revoke.as_ref());
                    let done = tokio::task::spawn_blocking(work).await;
                    reply.send(done.unwrap_or_else(|error| {
                        Err(refuse(ErrorCode::InternalError, error.to_string()))
                    }));
                }
            }
            Process::Starting { .. } | Process::Ending { .. } => {}
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
            Process::None => {
                self.set_state(AgentStatus::Idle, RuntimeState::Stopped);
                false
            }
            Process::Ending { .. } => false,
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
        // Whoever does that looks after it.
        self.crashes.forgive();
        if matches!(self.process, Process::None) {
            self.set_state(AgentStatus::Idle, RuntimeState::Stopped);
            return reply.send(Ok(serde_json::Value::Null));
        }
        self.killers.push(reply);
        // What waits for a process came before this, and must not start the next one.
        let error = refuse(
            ErrorCode::Conflict,
            "the agent was killed meanwhile; try again",
        );
        self.turn_away(&error);
        let how = if force { Stop::Now } else { Stop::Gently };
        self.process.end(how, Why::Wanted);
    }

    fn shut_down(&mut self, force: bool, done: oneshot::Sender<()>) {
        self.shut = true;
        self.closing.push(done);
        // Who waits for a person would wait for ever.
        let waits = self.asks.wait_for_a_person(self.agent.has_responder());
        match &self.process {
            Process::None => self.ended_for_good(),
            _ if force => self.process.end(Stop::Now, Why::Wanted),
            Process::Running { .. } if !waits && !self.is_inactive() => self.stop_when_idle = true,
            _ => self.process.end(Stop::Gently, Why::Wanted),
        }
    }

    pub(super) fn ended_for_good(&mut self) {
        self.closing.drain(..).for_each(|done| _ = done.send(()));
        self.turn_away(&shutting_down());
    }

    pub(super) fn turn_away(&mut self, error: &ErrorBody) {
        for waiting in self.waiting.drain(..) {
            waiting.refuse(error);
        }
        let replies = self.agent.audience().attachments.turn_away();
        for reply in replies {
            reply.send(Err(error.clone()));
        }
        self.responders_changed();
    }

    /// Starts a process, if there is none. One that is just ending is waited for.
    pub(super) fn start(&mut self) {
        if !matches!(self.process, Process::None) {
            return;
        }
        if self.shut {
            return self.turn_away(&shutting_down());
        }
        if let Some(pause) = self.crashes.in_the_way(Instant::now()) {
            let error = failed_too_often(&self.agent.id, pause);
            return self.turn_away(&error);
        }
        if let Err(error) = self.agent.begin() {
            return self.turn_away(&error);
        }
        self.shared.metrics.runtimes_started.add(1);
        self.agent.tell_status();
        let settings = &self.shared.settings;
        let launch = Launch {
            agent_id: self.agent.id.clone(),
            state_home: settings.state_home.clone(),
            socket_path: self.shared.socket_path.clone(),
            trust_project: settings.trust_project,
        };
        self.stop_when_idle = false;
        self.crashes.started();
        self.process = Process::Starting {
            runtime: Runtime::start(launch),
            greeted: false,
            deadline: Instant::now() + READY,
            fatal: None,
        };
    }

    /// Notes how the agent stands, and tells everybody if that is new.
    pub(super) fn set_state(&self, status: AgentStatus, runtime_state: RuntimeState) {
        let (mut changed, mut entered) = (false, false);
        self.agent.update(|record| {
            entered = record.runtime_state != runtime_state;
            changed = entered || record.status != status;
            (record.status, record.runtime_state) = (status, runtime_state);
        });
        if entered && runtime_state == RuntimeState::Failed {
            self.shared.metrics.runtimes_failed.add(1);
        }
        if changed {
            self.agent.tell_status();
        }
    }

    pub(super) fn stop_if_idle(&mut self) {
        if self.stop_when_idle && self.is_inactive() {
            self.process.end(Stop::Gently, Why::Wanted);
        }
    }

    /// When a process that has nothing to do is ended.
    fn idle_deadline(&self) -> Option<Instant> {
        let idle = matches!(self.process, Process::Running { .. }) && self.is_inactive();
        idle.then(|| self.active_at + self.shared.tuning.borrow().idle_timeout)
    }

    /// When a process that is not being ended anyway must have answered something.
    fn answer_deadline(&self) -> Option<Instant> {
        let runs = matches!(self.process, Process::Running { .. });
        self.calls.next_deadline().filter(|_| runs)
    }

    fn deadline(&self) -> Option<Instant> {
        let deadlines = [
            self.process.deadline(),
            self.answer_deadline(),
            self.asks.next_deadline(),
            self.idle_deadline(),
        ];
        deadlines.into_iter().flatten().min()
    }

    fn on_deadline(&mut self) {
        let now = Instant::now();
        let is_due = |deadline: Option<Instant>| deadline.is_some_and(|deadline| deadline <= now);
        for (id, sort, fallback) in self.asks.expired(now) {
            self.answer(&id, sort, fallback, "timeout");
        }
        if is_due(self.process.deadline()) || is_due(self.answer_deadline()) {
            tracing::warn!(agent = %self.agent.id, "an agent's process does not answer; it is ended");
            return self.process.end(
                Stop::Now,
                Why::Broken("it did not answer in time".to_owned()),
            );
        }
        if is_due(self.idle_deadline()) {
            self.process.end(Stop::Gently, Why::Wanted);
        }
    }
}
