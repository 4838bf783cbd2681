//! How others reach a session: the handle, and the messages behind it.

use std::sync::Arc;

use serde_json::{Map, Value};
use shard_contracts::{Artifact, Ask, BoxFuture, Dialog, Mode, ProviderEvent, ProviderRequest, Ui};
use shard_protocol::{AgentCommand, ErrorBody};
use shard_types::event::{AllowedBy, ToolResult, TurnEndReason, UiKind, UiValue};
use shard_types::{EntryId, ErrorCode, GrantId, Image, PermissionDecision, RenderDescriptor};
use tokio::sync::{mpsc, oneshot};

use super::draft::Finished;
use super::settings::Settings;
use crate::catalog::Selection;
use crate::reload::Changes;

/// Takes the outcome of a command. Called by the session's task, so that the answer stands in the
/// right place among the events; it must not block.
pub type Reply = Box<dyn FnOnce(Result<Value, ErrorBody>) + Send>;

/// Commands that wait: a peer sends one after another, and the session takes them up at once.
const INBOX: usize = 64;
/// Pieces of a turn that wait. Small, so that a turn cannot run far ahead of its session.
const TURN_INBOX: usize = 64;

/// What the session's task wakes up for.
pub(super) enum Wish {
    Command {
        command: AgentCommand,
        reply: Reply,
    },
    Sync,
    /// Lists the grants, or takes one back.
    Grants {
        revoke: Option<GrantId>,
        reply: Reply,
    },
    Dialog {
        dialog: Dialog,
        answer: oneshot::Sender<Option<UiValue>>,
    },
    /// A prompt that was to be on the disk is not.
    NotKept {
        message_id: EntryId,
        error: String,
    },
    /// The pictures of the prompt that came first of those on their way in are fit, or cannot be.
    PicturesFit {
        /// Which prompt this is about.
        arrival: u64,
        images: Result<Vec<Image>, ErrorBody>,
    },
    ModelFound {
        /// Which of the wishes for a model this is.
        wish: u64,
        found: Result<Selection, String>,
        reply: Reply,
    },
    Close {
        done: oneshot::Sender<()>,
    },
}

/// What a turn asks of its session. A request that is dropped without its answer tells the turn
/// that it is over.
pub(crate) enum TurnRequest {
    /// Which model is active?
    Model { answer: oneshot::Sender<String> },
    /// People changed something since the last turn.
    Reloaded {
        reloaded: Box<Reloaded>,
        answer: oneshot::Sender<Arc<Settings>>,
    },
    /// What next? Delivers what steers wait.
    Plan { answer: oneshot::Sender<Plan> },
    /// Pieces of the answer came.
    Stream(Vec<ProviderEvent>),
    /// The provider call is tried again after a while.
    Retry { detail: String },
    /// The history does not fit the model; the next plan is to have a shorter one.
    MakeRoom {
        /// Or why that cannot be.
        answer: oneshot::Sender<Result<(), String>>,
    },
    /// The answer is whole: what came of it?
    Finish {
        cut: bool,
        answer: oneshot::Sender<Finished>,
    },
    /// May this call run? Only for those that the gate leaves to a person.
    Ask {
        tool: String,
        input: Map<String, Value>,
        ask: Box<Ask>,
        answer: oneshot::Sender<Answer>,
    },
    /// A call starts.
    ToolStarted {
        call: StartedCall,
        answer: oneshot::Sender<()>,
    },
    /// A tool prints.
    ToolProgress { tool_call_id: String, text: String },
    /// A call is answered.
    ToolDone {
        result: ToolResult,
        /// What the tool wants kept of it.
        keep: Option<Artifact>,
        answer: oneshot::Sender<()>,
    },
    /// Something to tell the clients, apart from the turn's course.
    Complain { code: ErrorCode, message: String },
}

/// What people changed.
pub(crate) struct Reloaded {
    pub(crate) changes: Changes,
    /// If there are other models by now: the active one among them, or that it is gone.
    pub(crate) model: Option<Result<Selection, String>>,
}

/// What a turn does next.
pub(crate) enum Plan {
    /// Call the provider.
    Call {
        selection: Selection,
        /// The mode that the answer's calls are judged in.
        mode: Arc<dyn Mode>,
        request: Box<ProviderRequest>,
    },
    /// End.
    Stop(TurnEndReason),
}

/// A call that is about to run.
pub(crate) struct StartedCall {
    pub(crate) tool_call_id: String,
    pub(crate) name: String,
    pub(crate) args: Map<String, Value>,
    pub(crate) render: Option<RenderDescriptor>,
    pub(crate) read_only: bool,
    pub(crate) allowed_by: Option<AllowedBy>,
}

/// How a question about a call ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Answer {
    pub(crate) decision: PermissionDecision,
    /// The finer answer, where one was picked.
    pub(crate) choice_id: Option<String>,
    /// What a person gave as the reason.
    pub(crate) reason: Option<String>,
    pub(crate) by: AnsweredBy,
}

/// Who ended a question. A client's word for itself is never taken for one of the others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum AnsweredBy {
    /// A client, as it calls itself.
    Client(Option<String>),
    /// Nobody was there.
    Headless,
    /// Nobody answered in time.
    Timeout,
    /// The turn was aborted.
    Aborted,
}

impl AnsweredBy {
    /// Whether a policy spoke for want of a person.
    pub(crate) fn is_nobody(&self) -> bool {
        matches!(self, Self::Headless | Self::Timeout)
    }

    /// As events say it.
    pub(crate) fn source(&self) -> Option<String> {
        match self {
            Self::Client(name) => name.clone(),
            Self::Headless => Some("headless".to_owned()),
            Self::Timeout => Some("timeout".to_owned()),
            Self::Aborted => Some("aborted".to_owned()),
        }
    }
}

/// Reaches one session. Cheap to clone; every method is cancel safe.
#[derive(Clone)]
pub struct AgentHandle {
    pub(super) wishes: mpsc::Sender<Wish>,
}

/// The receiving side of a handle.
pub(crate) struct Inbox {
    pub(super) wishes: mpsc::Receiver<Wish>,
    pub(super) turn_requests: mpsc::Receiver<TurnRequest>,
    /// Handed to each turn.
    pub(super) turn_sender: mpsc::Sender<TurnRequest>,
}

/// A handle and its inbox, for a session that is yet to be made.
pub(crate) fn channel() -> (AgentHandle, Inbox) {
    let (wish_sender, wishes) = mpsc::channel(INBOX);
    let (turn_sender, turn_requests) = mpsc::channel(TURN_INBOX);
    (
        AgentHandle {
            wishes: wish_sender,
        },
        Inbox {
            wishes,
            turn_requests,
            turn_sender,
        },
    )
}

impl AgentHandle {
    /// Carries out a command. The outcome goes to `reply`, which is called exactly once unless the
    /// session is gone.
    pub async fn command(&self, command: AgentCommand, reply: Reply) {
        // A session that is gone answers nobody; its end is told by the end of its task.
        _ = self.wishes.send(Wish::Command { command, reply }).await;
    }

    /// The same for callers in this process, who wait for the outcome.
    ///
    /// # Errors
    /// The refusal, or that the session is gone.
    pub async fn request(&self, command: AgentCommand) -> Result<Value, ErrorBody> {
        let (sender, receiver) = oneshot::channel();
        self.command(command, Box::new(move |outcome| _ = sender.send(outcome)))
            .await;
        let gone = || {
            ErrorBody::new(
                ErrorCode::InternalError,
                "the agent ended before it answered",
            )
        };
        receiver.await.unwrap_or_else(|_| Err(gone()))
    }

    /// Publishes a `sync` that reflects every event before it.
    pub async fn sync(&self) {
        _ = self.wishes.send(Wish::Sync).await;
    }

    /// Lists what may run unasked, or takes one grant back. The outcome goes to `reply`, as for
    /// [`Self::command`].
    pub async fn grants(&self, revoke: Option<GrantId>, reply: Reply) {
        _ = self.wishes.send(Wish::Grants { revoke, reply }).await;
    }

    /// Ends the session: the turn is aborted, results are recorded, everything is on the disk when
    /// this returns, and the file can be opened again. What waits in the queue stays accepted and runs when the session is opened again.
    pub async fn close(&self) {
        let (done, ended) = oneshot::channel();
        _ = self.wishes.send(Wish::Close { done }).await;
        _ = ended.await;
    }
}

/// Dialogs through a session. Made before the session, as its capabilities need it.
#[derive(Clone)]
pub struct SessionUi {
    /// Weak: a capability that can ask is no reason for a session to live.
    wishes: mpsc::WeakSender<Wish>,
}

impl SessionUi {
    /// Dialogs of the session that this handle belongs to.
    #[must_use]
    pub fn new(handle: &AgentHandle) -> Self {
        Self::over(handle.wishes.downgrade())
    }

    pub(super) fn over(wishes: mpsc::WeakSender<Wish>) -> Self {
        Self { wishes }
    }
}

impl Ui for SessionUi {
    fn ask(&self, dialog: Dialog) -> BoxFuture<'static, Option<UiValue>> {
        let wishes = self.wishes.upgrade();
        Box::pin(async move {
            let notice = dialog.kind == UiKind::Notify;
            let (answer, answered) = oneshot::channel();
            wishes?.send(Wish::Dialog { dialog, answer }).await.ok()?;
            if notice {
                None
            } else {
                answered.await.ok().flatten()
            }
        })
    }
}
