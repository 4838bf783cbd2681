//! One Agent: a durable identity, and whatever process serves it just now.
//!
//! | file | has |
//! |---|---|
//! | `mod` | the record that others read: [`Agent`] |
//! | `broker` | the actor: clients on one side, the process on the other (its lines, its questions, its end) |
//! | `attachments` | who is attached, in which role |
//! | `hierarchy` | who answers for a child when nobody is attached to it |
//! | `grants` | standing permissions, asked of the process or, while there is none, of the file |
//! | `asks` | questions that are open, and when the headless policy applies |
//! | `calls` | commands that the process has yet to answer |
//! | `crashes` | how often its processes failed, and when the next may start |
//! | `process` | where the process stands: starting, running, ending |

mod asks;
mod attachments;
mod broker;
mod calls;
mod crashes;
mod grants;
mod hierarchy;
mod process;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use shard_protocol::{AgentSpawned, AgentStatusChanged, AttachRole, ErrorBody};
use shard_types::{AgentId, AgentInfo, AgentStatus, ErrorCode, RuntimeState};
use tokio::sync::{mpsc, oneshot, watch};

use crate::client::{ClientId, Clients, Reply, refuse};
use crate::manifest::Manifest;
use crate::metrics::Metrics;
use crate::settings::{Settings, Tuning};
use crate::workspaces::Workspaces;

pub(crate) use grants::GrantsWish;

use hierarchy::Audience;

/// Wishes that wait for one agent.
const INBOX: usize = 256;

/// What all agents of a daemon share.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) settings: Settings,
    /// What follows the configuration; whoever waits by it hears of changes.
    pub(crate) tuning: watch::Sender<Tuning>,
    pub(crate) socket_path: std::path::PathBuf,
    pub(crate) clients: Clients,
    /// Told whenever an agent gets its first responder, or loses its last one: it may be that of
    /// its descendants too.
    pub(crate) responders: watch::Sender<()>,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) workspaces: Workspaces,
}

/// What an agent is asked to do.
#[derive(Debug)]
pub(crate) enum Wish {
    Attach {
        role: AttachRole,
        asked: AskedFor,
        reply: Reply,
    },
    Detach {
        reply: Reply,
    },
    /// A command of a client to the agent itself, as it came.
    Command {
        kind: String,
        line: String,
        reply: Reply,
    },
    /// `grants.list` or `grants.revoke`, as it came.
    Grants(GrantsWish),
    Terminate {
        reply: Reply,
    },
    Kill {
        force: bool,
        reply: Reply,
    },
    /// See to it that a process runs.
    Start {
        started: oneshot::Sender<Result<(), ErrorBody>>,
    },
    /// A connection ended.
    Gone {
        client: ClientId,
    },
    /// The daemon ends: finish what runs, or not, and start nothing more.
    ShutDown {
        force: bool,
        done: oneshot::Sender<()>,
    },
}

/// What a client named that attaches; the answer is about the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AskedFor {
    Agent,
    Session,
}

impl Wish {
    /// Answers that it is not carried out.
    pub(crate) fn refuse(self, error: ErrorBody) {
        match self {
            Self::Attach { reply, .. }
            | Self::Detach { reply }
            | Self::Command { reply, .. }
            | Self::Grants(GrantsWish { reply, .. })
            | Self::Terminate { reply }
            | Self::Kill { reply, .. } => reply.send(Err(error)),
            Self::Start { started } => _ = started.send(Err(error)),
            Self::Gone { .. } => {}
            Self::ShutDown { done, .. } => _ = done.send(()),
        }
    }
}

/// An agent as the registry has it.
///
/// Its record is behind a lock that is held for moments: the agent's own actor writes it, and
/// whoever lists agents reads it without waiting for any of them.
#[derive(Debug)]
pub(crate) struct Agent {
    pub(crate) id: AgentId,
    shared: Arc<Shared>,
    record: Mutex<Record>,
    /// Who launched it, if that is still known.
    parent: OnceLock<Arc<Agent>>,
    audience: Mutex<Audience>,
    /// Questions of its process that wait.
    asks_open: AtomicUsize,
    /// One write of the manifest at a time, so that the latest is the last.
    on_disk: tokio::sync::Mutex<OnDisk>,
    /// The actor, started when it is first needed: most of many agents sleep.
    inbox: OnceLock<mpsc::Sender<Wish>>,
}

/// What the disk has of an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum OnDisk {
    /// Its manifest, or soon.
    Kept,
    /// Nothing, for good: it did not come to be.
    Removed,
}

#[derive(Debug)]
pub(crate) struct Record {
    pub(crate) manifest: Manifest,
    pub(crate) status: AgentStatus,
    pub(crate) runtime_state: RuntimeState,
    /// Clients have heard of it.
    announced: bool,
}

impl Agent {
    /// An agent that nothing serves yet. One that was just made is not announced until it is
    /// certain to be kept.
    pub(crate) fn new(manifest: Manifest, shared: Arc<Shared>, announced: bool) -> Self {
        Self {
            id: manifest.agent_id.clone(),
            shared,
            record: Mutex::new(Record {
                manifest,
                status: AgentStatus::Idle,
                runtime_state: RuntimeState::Stopped,
                announced,
            }),
            parent: OnceLock::new(),
            audience: Mutex::default(),
            asks_open: AtomicUsize::new(0),
            on_disk: tokio::sync::Mutex::new(OnDisk::Kept),
            inbox: OnceLock::new(),
        }
    }

    fn record(&self) -> MutexGuard<'_, Record> {
        self.record.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes who launched it, once.
    pub(crate) fn descend_from(&self, parent: Arc<Self>) {
        _ = self.parent.set(parent);
    }

    /// A copy of the record as it is now.
    pub(crate) fn manifest(&self) -> Manifest {
        self.record().manifest.clone()
    }

    /// Whether its record is such a one. The record is locked meanwhile.
    pub(crate) fn is(&self, wanted: impl FnOnce(&Manifest) -> bool) -> bool {
        wanted(&self.record().manifest)
    }

    pub(crate) fn runtime_state(&self) -> RuntimeState {
        self.record().runtime_state
    }

    /// How many questions of its process wait.
    pub(crate) fn asks_open(&self) -> usize {
        self.asks_open.load(Ordering::Relaxed)
    }

    /// Notes that its process starts, if it may; both at once, so that whoever closes its folder
    /// finds it either refused or starting.
    ///
    /// # Errors
    /// Why it may not.
    fn begin(&self) -> Result<(), ErrorBody> {
        let workspaces = &self.shared.workspaces;
        workspaces.admit(&self.manifest())?;
        let mut record = self.record();
        workspaces.is_open_to(&record.manifest)?;
        record.status = AgentStatus::Idle;
        record.runtime_state = RuntimeState::Starting;
        Ok(())
    }

    /// As it is listed.
    pub(crate) fn info(&self) -> AgentInfo {
        let record = self.record();
        let (manifest, managed) = (&record.manifest, &record.manifest.managed);
        let model = manifest.model.as_deref();
        let (provider, model) = match model.and_then(|id| id.split_once('/')) {
            Some((provider, model)) => (Some(provider), Some(model)),
            None => (None, model),
        };
        AgentInfo {
            agent_id: manifest.agent_id.clone(),
            session_id: Some(manifest.session_id.clone()),
            name: manifest.name.clone(),
            cwd: manifest.cwd.to_string_lossy().into_owned(),
            model: model.map(str::to_owned),
            provider: provider.map(str::to_owned),
            mode: manifest.mode.clone(),
            status: record.status,
            runtime_state: record.runtime_state,
            created_at: manifest.created_at,
            usage: manifest.usage.clone(),
            parent_agent_id: managed.parent_agent_id.clone(),
            alias: managed.alias.clone(),
            definition_name: managed.definition_name.clone(),
            display_name: managed.display_name.clone(),
        }
    }

    /// Changes the record in memory.
    pub(crate) fn update(&self, change: impl FnOnce(&mut Record)) {
        change(&mut self.record());
    }

    /// Writes the manifest as it is now, unless the agent was removed.
    ///
    /// # Errors
    /// What the system says.
    pub(crate) async fn save(&self) -> std::io::Result<()> {
        let on_disk = self.on_disk.lock().await;
        if *on_disk == OnDisk::Removed {
            return Ok(());
        }
        let manifest = self.manifest();
        let state_home = self.shared.settings.state_home.clone();
        let written = tokio::task::spawn_blocking(move || manifest.write(&state_home)).await;
        written.unwrap_or_else(|error| Err(std::io::Error::other(error)))
    }

    /// Removes its folder. A write that is on its way brings nothing of it back.
    ///
    /// # Errors
    /// What the system says.
    pub(crate) async fn remove(&self) -> std::io::Result<()> {
        let mut on_disk = self.on_disk.lock().await;
        *on_disk = OnDisk::Removed;
        let folder = crate::manifest::folder(&self.shared.settings.state_home, &self.id);
        tokio::fs::remove_dir_all(&folder).await
    }

    /// Clients hear of it from now on; of one that they know this says nothing.
    pub(crate) fn announce(&self) {
        if std::mem::replace(&mut self.record().announced, true) {
            return;
        }
        self.shared.clients.broadcast(AgentSpawned {
            agent_id: self.id.clone(),
            info: self.info(),
        });
    }

    pub(crate) fn is_announced(&self) -> bool {
        self.record().announced
    }

    /// Tells all clients how it stands.
    pub(crate) fn tell_status(&self) {
        let (status, runtime_state, announced) = {
            let record = self.record();
            (record.status, record.runtime_state, record.announced)
        };
        if announced {
            self.shared.clients.broadcast(AgentStatusChanged {
                agent_id: self.id.clone(),
                status,
                runtime_state,
                detail: None,
            });
        }
    }

    /// Hands a wish to the agent's actor, after those before it.
    pub(crate) async fn ask(self: &Arc<Self>, wish: Wish) {
        let inbox = self.inbox.get_or_init(|| {
            let (sender, inbox) = mpsc::channel(INBOX);
            tokio::spawn(broker::run(
                Arc::clone(self),
                Arc::clone(&self.shared),
                inbox,
            ));
            sender
        });
        if let Err(mpsc::error::SendError(wish)) = inbox.send(wish).await {
            wish.refuse(broke_down());
        }
    }

    /// Resolves once its process is ready, which is started if there is none.
    ///
    /// # Errors
    /// Why it did not become ready.
    pub(crate) async fn started(self: &Arc<Self>) -> Result<(), ErrorBody> {
        let (started, outcome) = oneshot::channel();
        self.ask(Wish::Start { started }).await;
        outcome.await.unwrap_or_else(|_| Err(broke_down()))
    }

    /// Whether its actor was ever needed.
    pub(crate) fn is_awake(&self) -> bool {
        self.inbox.get().is_some()
    }
}

/// The agent's actor is gone, which is a fault of the daemon.
fn broke_down() -> ErrorBody {
    let message = "the agent's supervisor broke down; start the daemon again";
    refuse(ErrorCode::InternalError, message)
}
