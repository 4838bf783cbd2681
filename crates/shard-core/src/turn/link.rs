//! A turn's line to its session.

use std::sync::Arc;

use serde_json::{Map, Value};
use shard_contracts::{Artifact, Ask, EventBus, ProviderEvent};
use shard_types::ErrorCode;
use shard_types::event::ToolResult;
use tokio::sync::{mpsc, oneshot};

use crate::agent::{Answer, Finished, Plan, Reloaded, Settings, StartedCall, TurnRequest};
use crate::bus::Bus;

/// The session is gone, could not write, or has aborted the turn: the turn ends.
pub(crate) struct SessionGone;

/// What a turn can ask of its session.
#[derive(Clone)]
pub(crate) struct TurnLink {
    requests: mpsc::Sender<TurnRequest>,
    bus: Arc<Bus>,
}

impl TurnLink {
    pub(crate) fn new(requests: mpsc::Sender<TurnRequest>, bus: Arc<Bus>) -> Self {
        Self { requests, bus }
    }

    async fn tell(&self, request: TurnRequest) -> Result<(), SessionGone> {
        self.requests.send(request).await.map_err(|_| SessionGone)
    }

    async fn ask<T>(
        &self,
        request: impl FnOnce(oneshot::Sender<T>) -> TurnRequest,
    ) -> Result<T, SessionGone> {
        let (sender, receiver) = oneshot::channel();
        self.tell(request(sender)).await?;
        receiver.await.map_err(|_| SessionGone)
    }

    pub(super) async fn plan(&self) -> Result<Plan, SessionGone> {
        self.ask(|answer| TurnRequest::Plan { answer }).await
    }

    pub(super) async fn stream(&self, events: Vec<ProviderEvent>) -> Result<(), SessionGone> {
        self.tell(TurnRequest::Stream(events)).await
    }

    pub(super) async fn retry(&self, detail: String) -> Result<(), SessionGone> {
        self.tell(TurnRequest::Retry { detail }).await
    }

    /// Asks for a shorter history, because the provider refused this one; else why there is none.
    pub(super) async fn make_room(&self) -> Result<Result<(), String>, SessionGone> {
        self.ask(|answer| TurnRequest::MakeRoom { answer }).await
    }

    pub(super) async fn finish(&self, cut: bool) -> Result<Finished, SessionGone> {
        self.ask(|answer| TurnRequest::Finish { cut, answer }).await
    }

    pub(super) async fn permission(
        &self,
        tool: String,
        input: Map<String, Value>,
        ask: Ask,
    ) -> Result<Answer, SessionGone> {
        self.ask(|answer| TurnRequest::Ask {
            tool,
            input,
            ask: Box::new(ask),
            answer,
        })
        .await
    }

    pub(super) async fn tool_started(&self, call: StartedCall) -> Result<(), SessionGone> {
        self.ask(|answer| TurnRequest::ToolStarted { call, answer })
            .await
    }

    /// Shows output of a tool. What finds no room is dropped: it is in the result anyway.
    pub(super) fn tool_progress(&self, tool_call_id: String, text: String) {
        _ = self
            .requests
            .try_send(TurnRequest::ToolProgress { tool_call_id, text });
    }

    pub(super) async fn tool_done(
        &self,
        result: ToolResult,
        keep: Option<Artifact>,
    ) -> Result<(), SessionGone> {
        self.ask(|answer| TurnRequest::ToolDone {
            result,
            keep,
            answer,
        })
        .await
    }

    /// The id of the active model.
    pub(super) async fn model(&self) -> Result<String, SessionGone> {
        self.ask(|answer| TurnRequest::Model { answer }).await
    }

    pub(super) async fn reloaded(&self, reloaded: Reloaded) -> Result<Arc<Settings>, SessionGone> {
        let reloaded = Box::new(reloaded);
        self.ask(|answer| TurnRequest::Reloaded { reloaded, answer })
            .await
    }

    pub(super) async fn complain(
        &self,
        code: ErrorCode,
        message: String,
    ) -> Result<(), SessionGone> {
        self.tell(TurnRequest::Complain { code, message }).await
    }

    /// Resolves once every subscriber has room for more.
    pub(super) async fn ready(&self) {
        self.bus.ready().await;
    }
}
