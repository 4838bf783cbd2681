//! The session's task: its state, its loop, and the life of turns.

use std::sync::Arc;

use serde_json::{Map, Value};
use shard_contracts::{Artifact, Artifacts, EventBus, Mode};
use shard_protocol::PROTOCOL_VERSION;
use shard_session::{Damage, Loaded, SessionFile};
use shard_types::event::{
    AgentEvent, Error, Hello, QueueChanged, Status, Sync, TurnEnd, TurnEndReason, TurnStart,
};
use shard_types::{
    AgentStatus, Checkpoint, ContentBlock, EntryBody, ErrorCode, Image, MessageDetails, Role,
    TurnId, Usage,
};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::arrivals::Arrivals;
use super::asks::Asks;
use super::commands::Outcome;
use super::compaction::Squeeze;
use super::conversation::Conversation;
use super::draft::Draft;
use super::effort::{self, Effort};
use super::handle::{AgentHandle, Inbox, Reply, Wish, channel};
use super::queue::{Accepted, Queue};
use super::settings::Settings;
use super::store::Store;
use crate::activations::Activations;
use crate::bus::Bus;
use crate::catalog::Selection;
use crate::toolbox::Toolbox;
use crate::turn::{self, TurnLink, TurnSettings};

/// What every agent can do, as `hello` and `sync` say it.
const CAPABILITIES: [&str; 6] = [
    "streaming-deltas",
    "mode-catalog",
    "mode-switch",
    "model-catalog",
    "model-switch",
    "ui:select",
];

/// What it can do besides with a model that has reasoning levels.
const REASONING: [&str; 2] = ["reasoning-catalog", "reasoning-switch"];

/// How long a turn may take to wind up after an abort before it is cut off.
const WIND_UP: std::time::Duration = std::time::Duration::from_millis(900);

/// The turn that runs.
pub(super) struct RunningTurn {
    pub(super) id: TurnId,
    task: JoinHandle<TurnEndReason>,
    cancel: CancellationToken,
    /// When it is cut off; set by an abort.
    cut_off: Option<Instant>,
    pub(super) usage: Option<Usage>,
    pub(super) rounds: u32,
    /// What was done so that its next call fits.
    pub(super) squeeze: Squeeze,
    /// Something has come that the model has not read: words of a person, or results.
    pub(super) unread: bool,
    /// A row of it could not be written.
    failed: bool,
    /// The answer that has come so far.
    pub(super) draft: Option<Draft>,
    /// The model of the provider call that runs.
    pub(super) selection: Option<Selection>,
    /// The mode of the last provider call.
    pub(super) mode: Arc<dyn Mode>,
}

impl RunningTurn {
    pub(super) fn is_cancelled(&self) -> bool {
        self.cancel.is_cancelled()
    }

    /// What the provider call behind this draft took.
    pub(super) fn usage_of(&self, draft: &Draft) -> Option<Usage> {
        let usage = draft.usage.clone()?;
        Some(match &self.selection {
            Some(selection) => selection.priced(usage),
            None => usage,
        })
    }
}

/// One agent's conversation, and the only writer of it.
pub struct AgentSession {
    pub(super) settings: Arc<Settings>,
    pub(super) toolbox: Arc<Toolbox>,
    pub(super) bus: Arc<Bus>,
    inbox: Inbox,
    /// Weak, so that the session ends with the last handle.
    pub(super) wishes: mpsc::WeakSender<Wish>,
    pub(super) store: Store,
    pub(super) conversation: Conversation,
    pub(super) arrivals: Arrivals,
    pub(super) queue: Queue,
    pub(super) asks: Asks,
    pub(super) mode: Arc<dyn Mode>,
    /// What modes have kept in this session.
    pub(super) kept: Artifacts,
    /// Skills that were loaded in this session.
    pub(super) activations: Activations,
    pub(super) model: Selection,
    /// The reasoning effort that was asked for. A model that does not have it uses its default.
    pub(super) effort: Effort,
    /// How many wishes for another model there were: only the latest counts.
    pub(super) model_wishes: u64,
    status: AgentStatus,
    /// Clients were told more about the status than its name.
    detailed: bool,
    pub(super) turn: Option<RunningTurn>,
    /// Clients that wait for an abort, and what they will hear.
    pub(super) aborting: Vec<(Reply, Outcome)>,
    /// No turn starts any more.
    ending: bool,
    closing: Vec<oneshot::Sender<()>>,
    damage: Vec<Damage>,
}

/// A handle and the inbox behind it. The handle exists before the session, because dialogs of
/// its extensions go through it.
pub struct Channel {
    /// Reaches the session.
    pub handle: AgentHandle,
    inbox: Inbox,
}

impl Default for Channel {
    fn default() -> Self {
        let (handle, inbox) = channel();
        Self { handle, inbox }
    }
}

impl AgentSession {
    /// A session over its file; `loaded` is what the file held when it was taken up again.
    #[must_use]
    pub fn new(
        settings: Settings,
        bus: Arc<Bus>,
        channel: Channel,
        file: SessionFile,
        loaded: Option<Loaded>,
    ) -> Self {
        let mut session = Self {
            model: settings.model.clone(),
            model_wishes: 0,
            effort: Effort::default(),
            mode: Arc::clone(&settings.mode),
            kept: Artifacts::default(),
            activations: Activations::default(),
            toolbox: Arc::new(Toolbox::new(&settings.capabilities.tools)),
            settings: Arc::new(settings),
            bus,
            inbox: channel.inbox,
            wishes: channel.handle.wishes.downgrade(),
            store: Store::new(file),
            conversation: Conversation::default(),
            arrivals: Arrivals::default(),
            queue: Queue::default(),
            asks: Asks::default(),
            status: AgentStatus::Idle,
            detailed: false,
            turn: None,
            aborting: Vec::new(),
            ending: false,
            closing: Vec::new(),
            damage: Vec::new(),
        };
        if let Some(loaded) = loaded {
            session.restore(loaded);
        }
        session
    }

    /// Takes up what an earlier process left: the conversation, and prompts that were accepted and
    /// not yet delivered.
    fn restore(&mut self, loaded: Loaded) {
        self.damage = loaded.damage;
        let mut said = loaded
            .entries
            .iter()
            .filter(|entry| entry.message().is_some());
        let before = match said.next() {
            Some(first) => loaded.index.find(&first.id).unwrap_or(0),
            None => loaded.index.len(),
        };
        self.conversation
            .start_from((loaded.first_index + before) as u64, loaded.usage_before);
        for entry in loaded.entries {
            // A row that follows on a prompt's message proves its delivery, even if damage took the
            // message itself.
            if let Some(parent) = &entry.parent_id {
                self.queue.forget(parent);
            }
            match &entry.body {
                EntryBody::Checkpoint(Checkpoint::PromptAccepted {
                    message_id,
                    kind,
                    message,
                    images,
                    request_key,
                }) => self.queue.push(Accepted {
                    message_id: message_id.clone(),
                    kind: *kind,
                    message: message.clone(),
                    images: images.clone(),
                    request_key: request_key.clone(),
                }),
                EntryBody::Checkpoint(Checkpoint::PromptsCleared {
                    message_ids,
                    refused,
                }) => message_ids.iter().for_each(|id| match refused {
                    true => self.queue.refuse(id),
                    false => self.queue.forget(id),
                }),
                EntryBody::Checkpoint(Checkpoint::ReasoningLevelChanged { effort, .. }) => {
                    self.effort = Effort::named(effort);
                }
                EntryBody::Checkpoint(Checkpoint::Other(details)) => self.take_up(details),
                EntryBody::Message(_) => self.queue.forget(&entry.id),
                _ => {}
            }
            self.conversation.add(entry);
        }
        loaded.delivered.iter().for_each(|id| self.queue.forget(id));
    }

    /// Runs the session until it is closed or every handle is gone. Publishes `hello` and `sync`
    /// first.
    pub async fn run(mut self) {
        self.bus.publish(&self.hello().into());
        let recorded = self.record_interrupted("the agent ended");
        self.publish_sync();
        if let Err(error) = recorded {
            self.complain(ErrorCode::InternalError, error);
        }
        for Damage { line } in std::mem::take(&mut self.damage) {
            let message = format!(
                "line {line} of the session file is damaged and was skipped; it is kept in the file"
            );
            self.publish(Error {
                code: ErrorCode::SessionCorrupt,
                message,
                fatal: Some(false),
                data: Some(serde_json::json!({ "line": line })),
            });
        }
        self.start_next_turn();
        while self.step().await {}
        self.wind_down().await;
    }

    fn hello(&self) -> Hello {
        Hello {
            protocol_version: PROTOCOL_VERSION.to_owned(),
            server_version: env!("CARGO_PKG_VERSION").to_owned(),
            capabilities: self.abilities(),
        }
    }

    /// What this agent can do with the model that is active.
    pub(super) fn abilities(&self) -> Vec<String> {
        let reasons = effort::has_levels(&self.model.spec);
        let more = REASONING.iter().filter(|_| reasons);
        let all = CAPABILITIES.iter().chain(more);
        all.map(|&name| name.to_owned()).collect()
    }

    /// Waits for one thing and deals with it; false when the session is to end.
    async fn step(&mut self) -> bool {
        let sync_due = self.store.sync_due();
        let asks_due = self.asks.next_deadline();
        let cut_off = self.turn.as_ref().and_then(|turn| turn.cut_off);
        tokio::select! {
            wish = self.inbox.wishes.recv() => match wish {
                Some(Wish::Close { done }) => {
                    self.closing.push(done);
                    return false;
                }
                Some(wish) => self.on_wish(wish),
                None => return false,
            },
            // The session holds a sender of its own, so this never ends.
            Some(request) = self.inbox.turn_requests.recv() => self.on_turn_request(request),
            reason = finished(&mut self.turn) => self.turn_ended(reason),
            () = at(sync_due) => self.store.sync_in_background(),
            () = at(asks_due) => self.asks_expired(),
            () = at(cut_off) => self.cut_off_turn(),
        }
        true
    }

    fn on_wish(&mut self, wish: Wish) {
        match wish {
            Wish::Command { command, reply } => self.on_command(command, reply),
            Wish::NotKept { message_id, error } => self.not_kept(&message_id, &error),
            Wish::PicturesFit { arrival, images } => self.pictures_fit(arrival, images),
            Wish::Sync => self.publish_sync(),
            Wish::Grants { revoke, reply } => reply(self.on_grants(revoke.as_ref())),
            Wish::Dialog { dialog, answer } => self.open_dialog(dialog, answer),
            Wish::ModelFound { wish, found, reply } => self.model_found(wish, found, reply),
            Wish::Close { done } => self.closing.push(done),
        }
    }

    /// Ends the turn, and puts everything on the disk.
    async fn wind_down(mut self) {
        self.ending = true;
        self.abort_turn();
        self.close_asks();
        while self.turn.is_some() {
            // Commands are no longer taken; what the turn still says is.
            let cut_off = self.turn.as_ref().and_then(|turn| turn.cut_off);
            tokio::select! {
                Some(request) = self.inbox.turn_requests.recv() => self.on_turn_request(request),
                reason = finished(&mut self.turn) => self.turn_ended(reason),
                () = at(cut_off) => self.cut_off_turn(),
            }
        }
        let uses = self.keep_uses();
        let Self { store, closing, .. } = self;
        store.close().await;
        _ = uses.await;
        for done in closing {
            _ = done.send(());
        }
    }

    pub(super) fn publish(&self, event: impl Into<AgentEvent>) {
        self.bus.publish(&event.into());
    }

    /// Says what the agent is doing, if that changed.
    pub(super) fn set_status(&mut self, status: AgentStatus) {
        if self.status != status || self.detailed {
            self.status = status;
            self.detailed = false;
            self.publish(Status {
                status,
                detail: None,
            });
        }
    }

    /// Says more about the present status, until the next one.
    pub(super) fn show_detail(&mut self, detail: String) {
        self.detailed = true;
        self.publish(Status {
            status: self.status,
            detail: Some(detail),
        });
    }

    /// The status that follows from open questions and a running turn. Extensions ask between turns too.
    pub(super) fn update_status(&mut self) {
        use AgentStatus::{Idle, Streaming, WaitingForPermission, WaitingForUi};
        let status = match (self.asks.status(), self.status) {
            (Some(waiting), _) => waiting,
            (None, _) if self.turn.is_some() => Streaming,
            (None, WaitingForPermission | WaitingForUi) => Idle,
            (None, other) => other,
        };
        self.set_status(status);
    }

    /// A command that does something ends the time of the last error.
    pub(super) fn leave_error(&mut self) {
        if self.status == AgentStatus::Error {
            self.set_status(AgentStatus::Idle);
        }
    }

    /// Says what waits, if clients were told something else last.
    pub(super) fn queue_changed(&mut self) {
        if let Some(queue) = self.queue.news() {
            self.publish(QueueChanged { queue });
        }
    }

    fn publish_sync(&mut self) {
        _ = self.queue.news();
        let draft = self.turn.as_ref().and_then(|turn| turn.draft.as_ref());
        let draft = draft.filter(|draft| !draft.is_empty()).map(Draft::message);
        self.publish(Sync {
            status: self.status,
            mode: self.mode.name().to_owned(),
            capabilities: Some(self.abilities()),
            runtime_epoch: None,
            model: Some(self.model.descriptor()),
            usage: self.conversation.usage(),
            live_window: self.conversation.window(draft),
            pending_requests: self.asks.shown(),
            queue: self.queue.shown(),
        });
    }

    /// Starts a turn with the prompt that has waited longest, if none runs.
    pub(super) fn start_next_turn(&mut self) {
        if self.turn.is_some() || self.ending {
            return;
        }
        let Some(prompt) = self.queue.first() else {
            return;
        };
        let id = TurnId::generate();
        let cancel = CancellationToken::new();
        let link = TurnLink::new(self.inbox.turn_sender.clone(), Arc::clone(&self.bus));
        let settings = TurnSettings {
            agent: Arc::clone(&self.settings),
            toolbox: Arc::clone(&self.toolbox),
            ui: Arc::new(super::SessionUi::over(self.wishes.clone())),
            cancel: cancel.clone(),
        };
        self.turn = Some(RunningTurn {
            id: id.clone(),
            task: tokio::spawn(turn::run(settings, link)),
            cancel,
            cut_off: None,
            usage: None,
            rounds: 0,
            squeeze: Squeeze::default(),
            unread: false,
            failed: false,
            draft: None,
            selection: None,
            mode: Arc::clone(&self.mode),
        });
        self.update_status();
        self.publish(TurnStart { turn_id: id });
        self.deliver(&prompt);
    }

    /// Puts a prompt that waited into the conversation. If it cannot be written, it waits on.
    pub(super) fn deliver(&mut self, prompt: &Accepted) {
        let text = ContentBlock::Text {
            text: prompt.message.clone(),
        };
        let images = prompt.images.iter().map(Image::block);
        let content = std::iter::once(text).chain(images).collect();
        let details = MessageDetails {
            role: Role::User,
            content,
            partial: false,
            usage: None,
        };
        match self.add_message(prompt.message_id.clone(), details) {
            Ok(()) => {
                if let Some(turn) = &mut self.turn {
                    turn.unread = true;
                }
                self.queue.forget(&prompt.message_id);
                self.queue_changed();
            }
            Err(error) => self.fail_turn(&error),
        }
    }

    /// A row could not be written: tells everybody, once in a turn, and makes the turn end. What is
    /// not on file must not go on.
    pub(super) fn fail_turn(&mut self, message: &str) {
        if let Some(turn) = &mut self.turn
            && std::mem::replace(&mut turn.failed, true)
        {
            return;
        }
        self.complain(ErrorCode::InternalError, message.to_owned());
        self.abort_turn();
    }

    /// Begins to end the turn. Questions are closed at once, so that no dialog stays open.
    pub(super) fn abort_turn(&mut self) {
        if let Some(turn) = &mut self.turn {
            turn.cancel.cancel();
            turn.cut_off.get_or_insert_with(|| Instant::now() + WIND_UP);
            self.close_asks();
            self.update_status();
        }
    }

    /// Writes down how often grants were used, aside: no call waits for a disk because of that.
    fn keep_uses(&self) -> JoinHandle<()> {
        let gate = self.settings.capabilities.gate.clone();
        tokio::task::spawn_blocking(move || {
            if let Some(Err(error)) = gate.map(|gate| gate.keep_uses()) {
                tracing::warn!(%error, "the uses of grants are lost if the agent ends now");
            }
        })
    }

    /// The turn did not wind up in time.
    fn cut_off_turn(&mut self) {
        if let Some(turn) = &mut self.turn {
            tracing::warn!(turn = %turn.id, "a turn did not end in time and was cut off");
            turn.task.abort();
            turn.cut_off = None;
        }
    }

    /// Keeps what the mode of the turn's last call finds worth keeping of it.
    fn keep_artifact(&mut self, mode: &dyn Mode) {
        let last = self.conversation.last_message();
        let Some(artifact) = last.and_then(|message| mode.on_turn_end(&message)) else {
            return;
        };
        let Artifact { kind, details } = &artifact;
        let Some(checkpoint) = Checkpoint::other(kind, details.clone()) else {
            let name = mode.name();
            tracing::error!(mode = name, kind, "a mode may not keep this kind");
            return;
        };
        match self.store.checkpoint(checkpoint) {
            Ok(_) => self.kept.keep(artifact),
            Err(error) => self.complain(ErrorCode::InternalError, error.to_string()),
        }
    }

    /// Takes up what a mode or a tool kept earlier. What a later build keeps under a kind of its own is
    /// taken up too, and nobody asks for it.
    fn take_up(&mut self, checkpoint: &Map<String, Value>) {
        if self.activations.take_up(checkpoint) {
            return;
        }
        let mut details = checkpoint.clone();
        if let Some(Value::String(kind)) = details.remove("artifactKind") {
            self.kept.keep(Artifact { kind, details });
        }
    }

    /// A turn is over, in whatever way: what it left open is closed, and the next one starts.
    fn turn_ended(&mut self, reason: Option<TurnEndReason>) {
        // What the turn said last is still in the inbox.
        while let Ok(request) = self.inbox.turn_requests.try_recv() {
            self.on_turn_request(request);
        }
        self.close_asks();
        let cancelled = self.turn.as_ref().is_some_and(RunningTurn::is_cancelled);
        if reason.is_none() && !cancelled {
            let message = "the turn broke down, which is a bug in Shard; what it had done is kept";
            self.complain(ErrorCode::InternalError, message.to_owned());
        }
        self.keep_broken_off();
        let failed = self.turn.as_ref().is_some_and(|turn| turn.failed);
        self.answer_open_calls(if cancelled && !failed {
            "the turn was aborted"
        } else {
            "the turn ended"
        });
        let Some(turn) = self.turn.take() else { return };
        let reason = match reason {
            _ if turn.failed => TurnEndReason::Error,
            Some(reason) => reason,
            None if cancelled => TurnEndReason::Aborted,
            None => TurnEndReason::Error,
        };
        if reason == TurnEndReason::Done {
            self.keep_artifact(&*turn.mode);
        }
        self.store.sync_in_background();
        self.keep_uses();
        self.publish(TurnEnd {
            turn_id: turn.id,
            reason,
            usage: turn.usage,
        });
        for (reply, outcome) in self.aborting.drain(..) {
            reply(outcome);
        }
        // Where a row could not be written, a summary could not either.
        if !turn.failed {
            self.compact_between_turns();
        }
        let failed = reason == TurnEndReason::Error;
        self.set_status(if failed {
            AgentStatus::Error
        } else {
            AgentStatus::Idle
        });
        // What waits after a failure to write waits for the next command: it would fail like this
        // one, and so on without an end.
        if !turn.failed {
            self.start_next_turn();
        }
    }
}

/// Resolves when the turn's task has ended: with its reason, or with none if it was cut off or
/// broke down. Never, while no turn runs.
async fn finished(turn: &mut Option<RunningTurn>) -> Option<TurnEndReason> {
    match turn {
        Some(turn) => match (&mut turn.task).await {
            Ok(reason) => Some(reason),
            Err(error) => {
                if error.is_panic() {
                    tracing::error!(turn = %turn.id, "a turn broke down");
                }
                None
            }
        },
        None => std::future::pending().await,
    }
}

async fn at(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => tokio::time::sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}
