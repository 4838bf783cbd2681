//! Where an agent's process stands.

use shard_protocol::ErrorBody;
use tokio::sync::oneshot;
use tokio::time::Instant;

use crate::client::Reply;
use crate::runtime::{Runtime, RuntimeEvent, Stop};
use shard_types::event::Error;

/// The process of an agent, if it has one.
#[derive(Debug, Default)]
pub(super) enum Process {
    /// None.
    #[default]
    None,
    /// It was started, and has not yet said that it is ready.
    Starting {
        runtime: Runtime,
        /// Its `hello` came.
        greeted: bool,
        /// When it is given up.
        deadline: Instant,
        /// Why it says that it cannot go on.
        fatal: Option<Box<Error>>,
    },
    /// It takes commands.
    Running {
        runtime: Runtime,
        /// When a `sync` that was asked for must be there.
        sync_due: Option<Instant>,
    },
    /// It is being ended.
    Ending { runtime: Runtime, why: Why },
}

/// Why a process is being ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Why {
    /// Somebody wants it, or it was idle for long.
    Wanted,
    /// It does not do as it must: what it did, in words.
    Broken(String),
}

/// What waits until a process is ready.
#[derive(Debug)]
pub(super) enum Waiting {
    /// Whoever made the agent.
    Start(oneshot::Sender<Result<(), ErrorBody>>),
    /// A command to the process.
    Command {
        kind: String,
        line: String,
        reply: Reply,
    },
}

impl Waiting {
    pub(super) fn refuse(self, error: &ErrorBody) {
        match self {
            Self::Start(started) => _ = started.send(Err(error.clone())),
            Self::Command { reply, .. } => reply.send(Err(error.clone())),
        }
    }
}

impl Process {
    /// The next thing that the process says; never, if there is none. Cancel safe.
    pub(super) async fn next(&mut self) -> RuntimeEvent {
        match self {
            Self::None => std::future::pending().await,
            Self::Starting { runtime, .. }
            | Self::Running { runtime, .. }
            | Self::Ending { runtime, .. } => runtime.next().await,
        }
    }

    /// When it must have said something.
    pub(super) fn deadline(&self) -> Option<Instant> {
        match self {
            Self::Starting { deadline, .. } => Some(*deadline),
            Self::Running { sync_due, .. } => *sync_due,
            Self::None | Self::Ending { .. } => None,
        }
    }

    /// Begins to end it. One that is being ended already may be hurried.
    pub(super) fn end(&mut self, how: Stop, why: Why) {
        *self = match std::mem::take(self) {
            Self::None => Self::None,
            Self::Ending { runtime, why } => {
                runtime.stop(how);
                Self::Ending { runtime, why }
            }
            Self::Starting { runtime, .. } | Self::Running { runtime, .. } => {
                runtime.stop(how);
                Self::Ending { runtime, why }
            }
        };
    }
}
