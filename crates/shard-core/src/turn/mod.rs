//! One turn: call the model, run what it asks for, until it asks for nothing more.
//!
//! A turn owns no state of the conversation. It asks its session for each request, gives it every
//! piece that comes, and runs the calls of each message; the session may end it at any point by cancelling. Nothing here branches on the name of a mode, a tool or a provider.

mod batch;
mod call;
mod guard;
mod link;
mod reload;

use std::sync::Arc;

use futures_util::StreamExt;
use shard_contracts::{
    ProviderError, ProviderErrorKind, ProviderEvent, ProviderRequest, StopReason, Ui,
};
use shard_types::event::TurnEndReason;
use shard_types::{ContentBlock, ErrorCode};
use tokio_util::sync::CancellationToken;

use self::guard::LoopGuard;
use self::link::SessionGone;
pub(crate) use self::link::TurnLink;
use crate::agent::{Finished, Settings};
use crate::catalog::Selection;
use crate::provider::RetryPolicy;
use crate::toolbox::Toolbox;

/// What a turn works with.
pub(crate) struct TurnSettings {
    pub(crate) agent: Arc<Settings>,
    pub(crate) toolbox: Arc<Toolbox>,
    pub(crate) ui: Arc<dyn Ui>,
    pub(crate) cancel: CancellationToken,
}

/// Runs one turn to its end.
pub(crate) async fn run(settings: TurnSettings, link: TurnLink) -> TurnEndReason {
    let cancel = settings.cancel.clone();
    let turn = Turn {
        settings,
        link,
        guard: LoopGuard::default(),
        takes_images: false,
    };
    match turn.rounds().await {
        Ok(reason) => reason,
        // Its session is gone or has ended the turn: either way it has said so.
        Err(SessionGone) if cancel.is_cancelled() => TurnEndReason::Aborted,
        Err(SessionGone) => TurnEndReason::Error,
    }
}

pub(crate) struct Turn {
    settings: TurnSettings,
    link: TurnLink,
    guard: LoopGuard,
    /// Whether the model that was called last takes pictures.
    takes_images: bool,
}

/// How a provider call ended.
enum Called {
    Whole(StopReason),
    /// The window was too small for it and has been made roomier.
    Again,
    Failed(TurnEndReason),
}

impl Turn {
    async fn rounds(mut self) -> Result<TurnEndReason, SessionGone> {
        use crate::agent::Plan;
        self.reload().await?;
        loop {
            let (selection, mode, request) = match self.link.plan().await? {
                Plan::Stop(reason) => return Ok(reason),
                Plan::Call {
                    selection,
                    mode,
                    request,
                } => (selection, mode, *request),
            };
            self.takes_images = selection.spec.images;
            let stop = match self.call_provider(&selection, request).await? {
                Called::Whole(stop) => stop,
                Called::Again => continue,
                Called::Failed(reason) => return Ok(reason),
            };
            let cut = stop != StopReason::Done;
            self.ready().await;
            let Finished { content, calls } = self.link.finish(cut).await?;
            if stop == StopReason::Refused {
                let message = format!(
                    "{} refused to go on; say it in other words or pick another model",
                    selection.id()
                );
                self.link
                    .complain(ErrorCode::ProviderError, message)
                    .await?;
                return Ok(TurnEndReason::Error);
            }
            if calls.is_empty() && !content.iter().any(is_said) {
                let message = format!(
                    "{} answered with nothing; send the message again or pick another model",
                    selection.id()
                );
                self.link
                    .complain(ErrorCode::ProviderError, message)
                    .await?;
                return Ok(TurnEndReason::Error);
            }
            if cut && calls.is_empty() {
                let message =
                    "the answer was cut at the model's output limit; send a message to go on";
                self.link
                    .complain(ErrorCode::ProviderError, message.to_owned())
                    .await?;
                return Ok(TurnEndReason::Limit);
            }
            if let Some(reason) = self.run_calls(&calls, &mode).await? {
                return Ok(reason);
            }
        }
    }

    /// Waits until every reader has room for more, so that what is large waits for nobody in
    /// memory; false when the turn is aborted meanwhile.
    pub(crate) async fn ready(&self) -> bool {
        tokio::select! {
            () = self.settings.cancel.cancelled() => false,
            () = self.link.ready() => true,
        }
    }

    /// Makes one provider call, again while that can help: a call is repeated only as long as
    /// nothing of an answer has come, so that nothing is ever shown or done twice.
    async fn call_provider(
        &self,
        selection: &Selection,
        request: ProviderRequest,
    ) -> Result<Called, SessionGone> {
        let policy = RetryPolicy::default();
        let mut attempt = 0;
        loop {
            let error = match self.stream(selection, request.clone()).await? {
                Streamed::Whole(stop) => return Ok(Called::Whole(stop)),
                Streamed::Aborted => return Ok(Called::Failed(TurnEndReason::Aborted)),
                Streamed::Failed {
                    error,
                    started: true,
                } => {
                    let why = error.message.trim_end_matches('.');
                    let message = format!("{why}. What it had said so far is kept");
                    self.link
                        .complain(ErrorCode::ProviderError, message)
                        .await?;
                    return Ok(Called::Failed(TurnEndReason::Error));
                }
                Streamed::Failed {
                    error,
                    started: false,
                } => error,
            };
            if error.kind == ProviderErrorKind::ContextTooLong {
                let Err(full) = self.link.make_room().await? else {
                    return Ok(Called::Again);
                };
                let message = format!("{}. {full}", error.message.trim_end_matches('.'));
                self.link
                    .complain(ErrorCode::ProviderError, message)
                    .await?;
                return Ok(Called::Failed(TurnEndReason::Error));
            }
            attempt += 1;
            let Some(wait) = policy.delay(attempt, &error) else {
                self.link
                    .complain(ErrorCode::ProviderError, error.message)
                    .await?;
                return Ok(Called::Failed(TurnEndReason::Error));
            };
            let detail = format!("retrying in {:.1} s: {}", wait.as_secs_f32(), error.message);
            self.link.retry(detail).await?;
            tokio::select! {
                () = tokio::time::sleep(wait) => {}
                () = self.settings.cancel.cancelled() => return Ok(Called::Failed(TurnEndReason::Aborted)),
            }
        }
    }

    async fn stream(
        &self,
        selection: &Selection,
        request: ProviderRequest,
    ) -> Result<Streamed, SessionGone> {
        let stream = selection.provider.stream(request);
        let mut stream = stream.ready_chunks(PIECES_AT_ONCE);
        let (mut started, mut bytes) = (false, 0);
        loop {
            let pieces = tokio::select! {
                biased;
                () = self.settings.cancel.cancelled() => return Ok(Streamed::Aborted),
                pieces = stream.next() => pieces,
            };
            let Some(pieces) = pieces else {
                let error = ended_early(selection);
                return Ok(Streamed::Failed { error, started });
            };
            let mut events = Vec::with_capacity(pieces.len());
            let mut end = None;
            for piece in pieces {
                let event = match piece {
                    Ok(ProviderEvent::Stop(reason)) => {
                        end = Some(Streamed::Whole(reason));
                        break;
                    }
                    Ok(event) => event,
                    Err(error) => {
                        end = Some(Streamed::Failed { error, started });
                        break;
                    }
                };
                started |= !matches!(event, ProviderEvent::Usage(_));
                bytes += size(&event);
                if bytes > ANSWER_BYTES {
                    let error = too_long(selection);
                    end = Some(Streamed::Failed { error, started });
                    break;
                }
                events.push(event);
            }
            if !events.is_empty() {
                self.link.stream(events).await?;
            }
            if let Some(end) = end {
                return Ok(end);
            }
            if !self.ready().await {
                return Ok(Streamed::Aborted);
            }
        }
    }
}

/// How many pieces of an answer go to the session at once, of those that are there anyway.
const PIECES_AT_ONCE: usize = 64;

/// How much one answer may be, in bytes: more than any model writes at once. A server that never
/// stops must fill neither memory nor the disk.
const ANSWER_BYTES: usize = 4 * 1024 * 1024;

fn size(event: &ProviderEvent) -> usize {
    match event {
        ProviderEvent::Text { delta, .. }
        | ProviderEvent::Thinking { delta, .. }
        | ProviderEvent::ToolArgs { delta, .. } => delta.len(),
        ProviderEvent::Signature { signature, .. } => signature.len(),
        ProviderEvent::ToolCall { id, name, .. } => id.len() + name.len(),
        ProviderEvent::Usage(_) | ProviderEvent::Stop(_) => 0,
    }
}

fn too_long(selection: &Selection) -> ProviderError {
    let message = format!(
        "the answer of {} is longer than {ANSWER_BYTES} bytes, so it was ended; ask for smaller steps",
        selection.id()
    );
    ProviderError::new(ProviderErrorKind::Malformed, message)
}

/// How one try of a provider call ended.
enum Streamed {
    Whole(StopReason),
    Aborted,
    Failed { error: ProviderError, started: bool },
}

/// Whether a person can read something in it. Thoughts alone are no answer.
fn is_said(block: &ContentBlock) -> bool {
    matches!(block, ContentBlock::Text { text } if !text.trim().is_empty())
}

fn ended_early(selection: &Selection) -> ProviderError {
    let message = format!("the answer of {} ended before it was whole", selection.id());
    ProviderError::new(ProviderErrorKind::Network, message)
}
