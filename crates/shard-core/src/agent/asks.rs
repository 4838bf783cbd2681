//! Questions that are open.

use std::time::Duration;

use shard_types::event::{PendingQuestion, PendingRequest, PermissionRequest, UiRequest, UiValue};
use shard_types::{AgentStatus, PermissionDecision, RequestId};
use tokio::sync::oneshot;
use tokio::time::Instant;

use super::handle::Answer;

/// A question that waits for a person.
pub(super) struct Pending {
    pub(super) kind: PendingKind,
    /// When the headless policy answers instead; never, if it is to wait.
    deadline: Option<Instant>,
}

pub(super) enum PendingKind {
    Permission {
        request: PermissionRequest,
        /// What applies if nobody answers.
        fallback: PermissionDecision,
        answer: oneshot::Sender<Answer>,
    },
    Ui {
        request: UiRequest,
        answer: oneshot::Sender<Option<UiValue>>,
    },
}

impl PendingKind {
    fn id(&self) -> &RequestId {
        match self {
            Self::Permission { request, .. } => &request.request_id,
            Self::Ui { request, .. } => &request.request_id,
        }
    }
}

/// All questions that are open, oldest first.
#[derive(Default)]
pub(super) struct Asks {
    pending: Vec<Pending>,
}

impl Asks {
    pub(super) fn open(&mut self, kind: PendingKind, timeout: Option<Duration>) {
        let deadline = timeout.map(|timeout| Instant::now() + timeout);
        self.pending.push(Pending { kind, deadline });
    }

    /// The question of this id, still open.
    pub(super) fn get(&self, id: &RequestId) -> Option<&PendingKind> {
        self.pending
            .iter()
            .map(|pending| &pending.kind)
            .find(|kind| kind.id() == id)
    }

    /// Closes the question of this id.
    pub(super) fn close(&mut self, id: &RequestId) -> Option<PendingKind> {
        let at = self
            .pending
            .iter()
            .position(|pending| pending.kind.id() == id)?;
        Some(self.pending.remove(at).kind)
    }

    /// Closes all questions.
    pub(super) fn close_all(&mut self) -> Vec<PendingKind> {
        self.pending.drain(..).map(|pending| pending.kind).collect()
    }

    /// Closes those whose time is up.
    pub(super) fn close_expired(&mut self, now: Instant) -> Vec<PendingKind> {
        let expired =
            |pending: &mut Pending| pending.deadline.is_some_and(|deadline| deadline <= now);
        self.pending
            .extract_if(.., expired)
            .map(|pending| pending.kind)
            .collect()
    }

    /// When the next one's time is up.
    pub(super) fn next_deadline(&self) -> Option<Instant> {
        self.pending
            .iter()
            .filter_map(|pending| pending.deadline)
            .min()
    }

    /// As a `sync` carries them.
    pub(super) fn shown(&self) -> Vec<PendingRequest> {
        let show = |pending: &Pending| match &pending.kind {
            PendingKind::Permission { request, .. } => {
                PendingQuestion::PermissionRequest(request.clone())
            }
            PendingKind::Ui { request, .. } => PendingQuestion::UiRequest(request.clone()),
        };
        self.pending.iter().map(show).map(Into::into).collect()
    }

    /// What the agent waits for, if it waits.
    pub(super) fn status(&self) -> Option<AgentStatus> {
        self.pending.first().map(|pending| match pending.kind {
            PendingKind::Permission { .. } => AgentStatus::WaitingForPermission,
            PendingKind::Ui { .. } => AgentStatus::WaitingForUi,
        })
    }
}
