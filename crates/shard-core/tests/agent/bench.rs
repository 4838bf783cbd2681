//! A session over a real file, with everything around it in the hands of the test.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use shard_contracts::{
    BoxFuture, CodeIntelligence, Compactor, EventBus, EventSubscriber, Mode, Provider, Tool,
};
use shard_core::agent::{AgentHandle, AgentSession, Channel, Responder, Settings};
use shard_core::bus::Bus;
use shard_core::catalog::{Catalog, Selection};
use shard_core::host::Snapshot;
use shard_core::modes;
use shard_protocol::{AgentCommand, ErrorBody};
use shard_session::{Header, Loaded, SessionError, SessionFile};
use shard_types::event::{AgentEvent, PendingQuestion, PendingRequest, PermissionRequest, Sync};
use shard_types::{
    Checkpoint, Cost, EntryBody, EntryId, HeadlessPolicy, ModelSpec, SessionEntry, SessionId,
};
use tempfile::TempDir;
use tokio::sync::{Notify, mpsc, watch};
use tokio::task::JoinHandle;

use crate::lines::line;
use crate::provider::{Call, ScriptedProvider, assert_valid};
use crate::tools::{Deed, FakeTool, Held, ScriptedGate};

/// Longest that anything may take, in virtual time: longer than every timeout of a session.
const PATIENCE: Duration = Duration::from_secs(3600);

/// Keeps every event, and can make the turn wait for it.
pub(crate) struct Collector {
    events: Mutex<Vec<AgentEvent>>,
    came: Notify,
    room: watch::Sender<bool>,
}

impl Default for Collector {
    fn default() -> Self {
        Self {
            events: Mutex::default(),
            came: Notify::new(),
            room: watch::Sender::new(true),
        }
    }
}

impl Collector {
    pub(crate) fn set_room(&self, room: bool) {
        self.room.send_replace(room);
    }

    pub(crate) fn all(&self) -> Vec<AgentEvent> {
        let events = self.events.lock();
        events.unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl EventSubscriber for Collector {
    fn event(&self, event: &AgentEvent) {
        // A call that the test gives no tokens has only a guess at the size of the window.
        if matches!(event, AgentEvent::Usage(usage) if usage.input + usage.output == 0) {
            return;
        }
        self.events.lock().unwrap().push(event.clone());
        self.came.notify_one();
    }

    fn ready(&self) -> BoxFuture<'_, ()> {
        let mut room = self.room.subscribe();
        Box::pin(async move {
            _ = room.wait_for(|room| *room).await;
        })
    }
}

/// How the agent is set up.
pub(crate) struct Setup {
    pub(crate) responder: Responder,
    pub(crate) policy: HeadlessPolicy,
    pub(crate) max_rounds: u32,
    /// The first is the one to start in.
    pub(crate) modes: Vec<Arc<dyn Mode>>,
    /// The reasoning efforts of the models of the providers `one` and `two`.
    pub(crate) efforts: [&'static [&'static str]; 2],
    /// How many tokens fit into a request to the model of `one`.
    pub(crate) window: Option<u64>,
    pub(crate) compactor: Option<Arc<dyn Compactor>>,
    pub(crate) code: Option<Arc<dyn CodeIntelligence>>,
    pub(crate) auto_compact: bool,
    pub(crate) keep_recent_tokens: u64,
}

impl Default for Setup {
    fn default() -> Self {
        Self {
            responder: Responder::Peer,
            policy: HeadlessPolicy::Deny,
            max_rounds: 200,
            modes: modes::builtin(),
            efforts: [&[], &[]],
            window: None,
            compactor: None,
            code: None,
            auto_compact: true,
            keep_recent_tokens: 20_000,
        }
    }
}

pub(crate) struct Bench {
    pub(crate) handle: AgentHandle,
    pub(crate) gate: Arc<ScriptedGate>,
    pub(crate) seen: Arc<Collector>,
    pub(crate) bus: Arc<Bus>,
    /// The calls of tools that ran.
    pub(crate) ran: Arc<Mutex<Vec<String>>>,
    pub(crate) task: JoinHandle<()>,
    setup: Setup,
    calls: mpsc::Receiver<Call>,
    held: mpsc::Receiver<Held>,
    /// How many events the test has looked at.
    cursor: usize,
    path: PathBuf,
    folder: TempDir,
}

impl Bench {
    pub(crate) async fn new() -> Self {
        Self::with(Setup::default()).await
    }

    /// A new session that has said `hello` and `sync`; the test starts after them.
    pub(crate) async fn with(setup: Setup) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("session.jsonl");
        let header = Header {
            session_id: SessionId::generate(),
            cwd: folder.path().to_string_lossy().into_owned(),
            created_at: 1,
        };
        let file = SessionFile::create(&path, &header).unwrap();
        let mut bench = Self::start(setup, folder, path, file, None);
        bench.until("sync").await;
        bench
    }

    /// A session over a file that is there already, before its first event was looked at.
    pub(crate) fn open(setup: Setup, folder: TempDir, path: PathBuf) -> Self {
        let (file, loaded) = unlocked(&path);
        Self::start(setup, folder, path, file, Some(loaded))
    }

    /// Ends the session in good order and opens it again.
    pub(crate) async fn reopen(self) -> Self {
        self.handle.close().await;
        self.task.await.unwrap();
        Self::open(self.setup, self.folder, self.path)
    }

    /// What another process would find if this one were gone now.
    pub(crate) fn crash(self) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("session.jsonl");
        std::fs::copy(&self.path, &path).unwrap();
        self.task.abort();
        Self::open(self.setup, folder, path)
    }

    fn start(
        setup: Setup,
        folder: TempDir,
        path: PathBuf,
        file: SessionFile,
        loaded: Option<Loaded>,
    ) -> Self {
        let (call_sender, calls) = mpsc::channel(64);
        let (held_sender, held) = mpsc::channel(64);
        let ran = Arc::new(Mutex::new(Vec::new()));
        let gate = Arc::new(ScriptedGate::default());
        let capabilities = capabilities(&setup, &gate, &ran, &held_sender, &call_sender);
        let provider = Arc::clone(&capabilities.providers[0]);
        let spec = ModelSpec {
            context_window: setup.window,
            ..model(false, setup.efforts[0])
        };
        let settings = Settings {
            knowledge: Arc::default(),
            reload: None,
            cwd: folder.path().to_owned(),
            catalog: Catalog::new(capabilities.providers.clone()),
            model: Selection { provider, spec },
            mode: Arc::clone(&capabilities.modes[0]),
            capabilities,
            responder: setup.responder,
            ask_timeout: Duration::from_secs(60),
            headless_policy: setup.policy,
            max_rounds: setup.max_rounds,
            auto_compact: setup.auto_compact,
            keep_recent_tokens: setup.keep_recent_tokens,
            max_output_bytes: 50_000,
            output_dir: folder.path().join("output"),
        };
        let (channel, bus) = (Channel::default(), Arc::new(Bus::default()));
        let handle = channel.handle.clone();
        let seen = Arc::new(Collector::default());
        bus.subscribe(Arc::clone(&seen) as _);
        let session = AgentSession::new(settings, Arc::clone(&bus), channel, file, loaded);
        Self {
            handle,
            gate,
            seen,
            bus,
            ran,
            task: tokio::spawn(session.run()),
            setup,
            calls,
            held,
            cursor: 0,
            path,
            folder,
        }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The next provider call; its history is checked as a strict provider would.
    pub(crate) async fn call(&mut self) -> Call {
        let call = tokio::time::timeout(PATIENCE, self.calls.recv()).await;
        let call = call.unwrap_or_else(|_| panic!("no provider call; {}", self.state()));
        let call = call.unwrap();
        assert_valid(&call.request.messages);
        call
    }

    /// The provider call that is there already, if one is.
    pub(crate) fn call_now(&mut self) -> Option<Call> {
        let call = self.calls.try_recv().ok()?;
        assert_valid(&call.request.messages);
        Some(call)
    }

    /// The next tool that waits for the test.
    pub(crate) async fn held(&mut self) -> Held {
        let held = tokio::time::timeout(PATIENCE, self.held.recv()).await;
        held.unwrap_or_else(|_| panic!("no tool runs; {}", self.state()))
            .unwrap()
    }

    pub(crate) fn held_now(&mut self) -> Option<Held> {
        self.held.try_recv().ok()
    }

    fn state(&self) -> String {
        let lines: Vec<_> = self.seen.all().iter().map(line).collect();
        format!("the events so far:\n{}", lines.join("\n"))
    }

    /// Every event up to the first whose line starts so, as lines; the next time goes on after it.
    pub(crate) async fn until(&mut self, start: &str) -> Vec<String> {
        let events = self.events_until(start).await;
        events.iter().map(line).collect()
    }

    pub(crate) async fn events_until(&mut self, start: &str) -> Vec<AgentEvent> {
        let waiting = async {
            loop {
                let events = self.seen.all();
                let fresh = &events[self.cursor..];
                if let Some(at) = fresh
                    .iter()
                    .position(|event| line(event).starts_with(start))
                {
                    return fresh[..=at].to_vec();
                }
                self.seen.came.notified().await;
            }
        };
        let found = tokio::time::timeout(PATIENCE, waiting).await;
        let found = found.unwrap_or_else(|_| panic!("no event {start:?}; {}", self.state()));
        self.cursor += found.len();
        found
    }

    /// The rest of the turn, its end and the status after it included.
    pub(crate) async fn rest(&mut self) -> Vec<String> {
        let mut lines = self.until("turn_end").await;
        lines.extend(self.until("status").await);
        lines
    }

    /// What has come since the test looked last, without waiting.
    pub(crate) fn fresh(&mut self) -> Vec<String> {
        let lines: Vec<_> = self.seen.all()[self.cursor..].iter().map(line).collect();
        self.cursor += lines.len();
        lines
    }

    /// Lets everything run that can, without the clock moving.
    pub(crate) async fn settle(&self) {
        for _ in 0..200 {
            tokio::task::yield_now().await;
        }
    }

    pub(crate) async fn request(&self, message: Value) -> Result<Value, ErrorBody> {
        self.handle.request(command(message)).await
    }

    pub(crate) async fn prompt(&self, text: &str) -> EntryId {
        accepted(
            &self
                .request(json!({"type": "prompt", "message": text}))
                .await,
        )
    }

    pub(crate) async fn steer(&self, text: &str) -> EntryId {
        accepted(
            &self
                .request(json!({"type": "steer", "message": text}))
                .await,
        )
    }

    pub(crate) async fn follow_up(&self, text: &str) -> EntryId {
        let message = json!({"type": "prompt", "message": text, "streaming_behavior": "follow_up"});
        accepted(&self.request(message).await)
    }

    /// Aborts, and gives what was cleared.
    pub(crate) async fn abort(&self) -> Value {
        let data = self.request(json!({"type": "abort"})).await.unwrap();
        data["cleared"].clone()
    }

    /// The last permission request.
    pub(crate) fn asked(&self) -> PermissionRequest {
        let events = self.seen.all();
        let found = events.iter().rev().find_map(|event| match event {
            AgentEvent::PermissionRequest(request) => Some(request.clone()),
            _ => None,
        });
        found.unwrap()
    }

    /// Asks for a `sync`, and gives it.
    pub(crate) async fn sync(&mut self) -> Sync {
        self.handle.sync().await;
        match self.events_until("sync").await.pop() {
            Some(AgentEvent::Sync(sync)) => sync,
            other => panic!("no sync: {other:?}"),
        }
    }

    /// Every request that is open, by its id.
    pub(crate) fn open_requests(&self) -> Vec<String> {
        let mut open: Vec<String> = Vec::new();
        for event in self.seen.all() {
            match event {
                AgentEvent::PermissionRequest(request) => {
                    open.push(request.request_id.to_string());
                }
                AgentEvent::UiRequest(request) => open.push(request.request_id.to_string()),
                AgentEvent::PermissionResolved(resolved) => {
                    open.retain(|id| *id != resolved.request_id.to_string());
                }
                AgentEvent::UiResolved(resolved) => {
                    open.retain(|id| *id != resolved.request_id.to_string());
                }
                _ => {}
            }
        }
        open
    }

    /// What is on the disk now.
    pub(crate) fn rows(&self) -> Vec<SessionEntry> {
        let text = std::fs::read_to_string(&self.path).unwrap();
        let rows = text
            .lines()
            .map(|line| SessionEntry::from_json(line).unwrap());
        rows.collect()
    }

    /// The ids of delivered messages, and of those that were cleared.
    pub(crate) fn delivered_and_cleared(&self) -> (Vec<EntryId>, Vec<EntryId>) {
        let (mut delivered, mut cleared) = (Vec::new(), Vec::new());
        for row in self.rows() {
            match row.body {
                EntryBody::Message(_) => delivered.push(row.id),
                EntryBody::Checkpoint(Checkpoint::PromptsCleared { message_ids, .. }) => {
                    cleared.extend(message_ids);
                }
                _ => {}
            }
        }
        (delivered, cleared)
    }
}

/// Every fake tool, and two providers with a model each.
fn capabilities(
    setup: &Setup,
    gate: &Arc<ScriptedGate>,
    ran: &Arc<Mutex<Vec<String>>>,
    held: &mpsc::Sender<Held>,
    calls: &mpsc::Sender<Call>,
) -> Snapshot {
    let tools = [
        ("echo", Deed::Echo),
        ("hold", Deed::Hold),
        ("stubborn", Deed::Stubborn),
        ("fail", Deed::Fail),
        ("panic", Deed::Panic),
        ("panic_early", Deed::PanicEarly),
        ("ask", Deed::Ask),
        ("chatty", Deed::Chatty),
        ("look", Deed::Look),
        ("change", Deed::Change),
    ];
    let tool = |(name, deed)| -> Arc<dyn Tool> {
        Arc::new(FakeTool {
            name,
            deed,
            held: held.clone(),
            ran: Arc::clone(ran),
        })
    };
    let provider = |(name, images, efforts)| -> Arc<dyn Provider> {
        Arc::new(ScriptedProvider {
            name,
            models: vec![model(images, efforts)],
            calls: calls.clone(),
        })
    };
    Snapshot {
        tools: tools.into_iter().map(tool).collect(),
        modes: setup.modes.clone(),
        providers: [
            ("one", false, setup.efforts[0]),
            ("two", true, setup.efforts[1]),
        ]
        .map(provider)
        .into(),
        gate: Some(Arc::clone(gate) as _),
        compactor: setup.compactor.clone(),
        code: setup.code.clone(),
        ..Snapshot::default()
    }
}

/// A model whose tokens cost a dollar each.
fn model(images: bool, efforts: &[&str]) -> ModelSpec {
    ModelSpec {
        id: "m".to_owned(),
        images,
        reasoning: efforts.iter().map(|&effort| effort.to_owned()).collect(),
        cost: Some(Cost {
            input: 1e6,
            output: 1e6,
            ..Cost::default()
        }),
        ..ModelSpec::default()
    }
}

/// Opens a session that nobody has open. A process that another test starts in this moment has a
/// copy of every open file, and so of the lock, until it runs its own program.
fn unlocked(path: &Path) -> (SessionFile, Loaded) {
    let deadline = Instant::now() + Duration::from_secs(10);
    loop {
        match SessionFile::open(path) {
            Err(SessionError::InUse { .. }) if Instant::now() < deadline => {
                std::thread::yield_now()
            }
            opened => return opened.unwrap(),
        }
    }
}

pub(crate) fn command(message: Value) -> AgentCommand {
    let kind = message["type"].as_str().unwrap().to_owned();
    AgentCommand::parse(&kind, &message.to_string())
        .unwrap()
        .unwrap()
}

fn accepted(outcome: &Result<Value, ErrorBody>) -> EntryId {
    let data = outcome.as_ref().unwrap();
    assert_eq!(data.get("duplicate"), None);
    data["message_id"].as_str().unwrap().parse().unwrap()
}

pub(crate) fn request_id(request: &PendingRequest) -> String {
    match &request.question {
        PendingQuestion::PermissionRequest(request) => request.request_id.to_string(),
        PendingQuestion::UiRequest(request) => request.request_id.to_string(),
    }
}
