//! A person and an agent on one terminal.

use std::collections::{HashMap, HashSet};
use std::ops::ControlFlow::{self, Break, Continue};

use anyhow::Context;
use shard_core::gate::visible;
use shard_protocol::{
    Aborted, AgentCommand, Answered, AttachRole, Attached, DaemonEvent, Response, ServerMessage,
};
use shard_types::event::{AgentEvent, Sync, UiKind, UiRequest};
use shard_types::{AgentId, AgentStatus, RequestId, Role, RuntimeState};
use tokio::signal::unix::{SignalKind, signal};

use super::super::asked_to_end;
use super::super::show::{Follower, Question, Questions, Screen, Style, Terminal, answered};
use super::typed::HELP;
use super::{heading, recent};
use crate::client::{Client, outcome};
use crate::failure::{FAILED, Failure};
use crate::places::Places;

/// One attachment, from its `sync` to its end.
pub(super) struct Talk {
    pub(super) client: Client,
    places: Places,
    pub(super) agent_id: AgentId,
    pub(super) screen: Screen,
    follower: Follower,
    terminal: Terminal,
    pub(super) questions: Questions,
    /// Whose a question is, where an agent's child asks.
    pub(super) askers: HashMap<RequestId, AgentId>,
    /// Questions that were answered here.
    pub(super) answered: HashSet<RequestId>,
    /// Prompts that were typed here and are not shown again.
    pub(super) own: Vec<String>,
    /// What has a request key and was not answered, by the id of its answer.
    pub(super) unanswered: Vec<(String, AgentCommand)>,
    /// A turn runs.
    pub(super) running: bool,
}

/// Whether the person stays.
pub(super) type Stay = ControlFlow<()>;

impl Talk {
    pub(super) fn begin(
        client: Client,
        places: Places,
        attached: Attached,
        sync: Sync,
    ) -> Result<Self, Failure> {
        let terminal = Terminal::open()?;
        let screen = Screen::joined()?;
        let mut follower = Follower::new(screen.printer.clone(), Style::Text);
        let agent_id = attached.info.agent_id.clone();
        screen.printer.note(&heading(&attached));
        screen.printer.note(HELP);
        screen.printer.note("");
        recent(&sync, &mut follower, &screen, &agent_id);
        let mut talk = Self {
            client,
            places,
            agent_id,
            screen,
            follower,
            terminal,
            questions: Questions::default(),
            askers: HashMap::new(),
            answered: HashSet::new(),
            own: Vec::new(),
            unanswered: Vec::new(),
            running: false,
        };
        talk.synced(sync);
        Ok(talk)
    }

    pub(super) async fn run(mut self) -> Result<(), Failure> {
        let mut interrupted =
            signal(SignalKind::interrupt()).context("cannot listen for Ctrl-C")?;
        let mut asked = std::pin::pin!(asked_to_end());
        let outcome = loop {
            self.screen.printer.ready().await;
            let next = tokio::select! {
                biased; // a question that is closed takes no answer
                message = self.client.next() => match message {
                    Some(message) => {
                        self.take(message);
                        Ok(Continue(()))
                    }
                    None => self.come_back().await,
                },
                line = self.terminal.line() => match line {
                    Some(line) => self.typed(&line).await,
                    None => Ok(Break(())),
                },
                _ = interrupted.recv() => self.interrupted().await,
                () = self.screen.out.closed() => Err(Failure::silent(FAILED)),
                () = &mut asked => Ok(Break(())),
            };
            match next {
                Ok(Continue(())) => {}
                Ok(Break(())) => break Ok(()),
                Err(failure) => break Err(failure),
            }
        };
        if outcome.is_ok() {
            let note = format!(
                "left; the agent goes on. Come back with: shard attach {}",
                self.agent_id
            );
            self.screen.printer.note(&note);
        }
        self.screen.finish();
        outcome
    }

    /// Goes on with the daemon that takes the place of the one that went away, and sends it again
    /// what that one has not answered.
    async fn come_back(&mut self) -> Result<Stay, Failure> {
        self.screen.printer.end_line();
        self.note("the daemon ended the connection; waiting for another one");
        self.client = Client::come_back(&self.places).await?;
        let role = AttachRole::Interactive;
        let (_, sync) = self.client.attach(&self.agent_id, role).await?;
        let note = format!(
            "it is back; `shard log {}` shows what was said meanwhile",
            self.agent_id
        );
        self.note(&note);
        self.answered.clear();
        self.synced(sync);
        for (_, command) in std::mem::take(&mut self.unanswered) {
            _ = self.send(command).await?;
        }
        Ok(Continue(()))
    }

    pub(super) fn note(&self, text: &str) {
        self.screen
            .printer
            .note(&format!("shard: {}", visible(text)));
    }

    /// Shows that a prompt can be typed.
    pub(super) fn invite(&self) {
        if !self.running && self.questions.is_empty() {
            self.screen.printer.end_line();
            self.screen.printer.words("> ");
        }
    }

    /// Shows the question that is first. What was typed before it could be read is no answer to it.
    pub(super) fn put(&mut self) {
        match self.questions.first() {
            Some(question) => {
                self.terminal.forget();
                self.screen.printer.end_line();
                if let Some(asker) = self.askers.get(question.id()) {
                    self.screen.printer.words(&format!("\n{asker} asks:"));
                }
                self.screen.printer.words(&question.text());
            }
            None => self.invite(),
        }
    }

    fn synced(&mut self, sync: Sync) {
        self.running = runs(sync.status);
        self.questions = Questions::default();
        for request in sync.pending_requests {
            let question = Question::pending(request.question);
            if let Some(from) = request.agent_id {
                self.askers.insert(question.id().clone(), from);
            }
            self.question(question);
        }
        // What was typed may have started the process: then it is under way.
        if self.own.is_empty() {
            self.invite();
        }
    }

    fn take(&mut self, message: ServerMessage) {
        match message {
            ServerMessage::Agent(Some(from), event) => self.event(from, event),
            ServerMessage::Response(response) => self.response(response),
            ServerMessage::Daemon(event) => self.daemon_event(event),
            ServerMessage::Agent(None, _) | ServerMessage::Unknown(_) => {}
        }
    }

    fn event(&mut self, from: AgentId, event: AgentEvent) {
        let question = Question::of(&event);
        if from != self.agent_id {
            // Of a child, only what this person may be asked for.
            if let Some(question) = &question {
                self.askers.insert(question.id().clone(), from);
            }
        } else {
            match &event {
                AgentEvent::Status(it) => self.running = runs(it.status),
                AgentEvent::TurnStart(_) => self.running = true,
                AgentEvent::TurnEnd(_) => self.running = false,
                AgentEvent::Sync(sync) => return self.synced(sync.clone()),
                _ => {}
            }
            let is_own = self.is_own(&event);
            self.follower.show(&event, is_own);
        }
        match question {
            Some(Question::Closed(id)) => self.closed(&id, &event),
            Some(question) => self.question(question),
            None => {}
        }
        if matches!(event, AgentEvent::TurnEnd(_)) {
            self.invite();
        }
    }

    /// Whether an event only repeats what was typed here.
    fn is_own(&mut self, event: &AgentEvent) -> bool {
        let AgentEvent::MessageComplete(complete) = event else {
            return false;
        };
        let text = complete.message.text();
        let at = self.own.iter().position(|own| *own == text);
        match at.filter(|_| complete.message.role == Role::User) {
            Some(at) => {
                self.own.remove(at);
                true
            }
            None => false,
        }
    }

    fn question(&mut self, question: Question) {
        if let Question::Dialog(request) = &question
            && let Some(note) = elsewhere(request)
        {
            return self.note(&note);
        }
        if self.questions.take(question) {
            self.put();
        }
    }

    fn closed(&mut self, id: &RequestId, event: &AgentEvent) {
        self.askers.remove(id);
        if self.answered.remove(id) {
            return;
        }
        if let Some(how) = answered(event) {
            self.note(&how);
        }
        if self.questions.close(id) {
            self.put();
        }
    }

    fn response(&mut self, response: Response) {
        self.unanswered.retain(|(id, _)| *id != response.id);
        let command = response.command.clone();
        let data = match outcome(response) {
            Ok(data) => data,
            Err(error) => {
                self.note(&error.message);
                if command == "prompt" {
                    // What counts on it is forgotten; a turn that runs all the same says so.
                    self.running = false;
                    self.own.clear();
                }
                return self.invite();
            }
        };
        match command.as_str() {
            "abort" => {
                let cleared = serde_json::from_value::<Aborted>(data).unwrap_or_default();
                if cleared.cleared.is_empty() {
                    return;
                }
                for prompt in cleared.cleared {
                    self.own.retain(|own| *own != prompt.message);
                    self.note(&format!("given back, not done: {}", prompt.message));
                }
                self.invite();
            }
            "permission_response" | "ui_response" => {
                let late = serde_json::from_value::<Answered>(data).is_ok_and(|it| it.late);
                if late {
                    self.note("that was answered already");
                }
            }
            _ => {}
        }
    }

    fn daemon_event(&mut self, event: DaemonEvent) {
        let note = match event {
            DaemonEvent::AgentExited(it) if it.agent_id == self.agent_id => {
                format!("the agent's process broke down: {}", it.reason)
            }
            DaemonEvent::AgentStatusChanged(it)
                if it.agent_id == self.agent_id && it.runtime_state == RuntimeState::Stopped =>
            {
                "the agent's process has stopped; a prompt starts it again".to_owned()
            }
            _ => return,
        };
        self.running = false;
        self.questions = Questions::default();
        self.note(&note);
        self.invite();
    }
}

fn runs(status: AgentStatus) -> bool {
    !matches!(status, AgentStatus::Idle | AgentStatus::Error)
}

/// What is said of a dialog that a terminal does not put.
fn elsewhere(request: &UiRequest) -> Option<String> {
    let words: Vec<&str> = request
        .title
        .iter()
        .chain(&request.message)
        .map(|it| &**it)
        .collect();
    let words = words.join(": ");
    match request.kind {
        UiKind::Notify => Some(words),
        UiKind::Editor => Some(format!("{words} (answer it in the browser)")),
        UiKind::Select | UiKind::Confirm | UiKind::Input => None,
    }
}
