//! The built-in demo: turns plain sentences into tool calls by fixed rules, offline.
//!
//! It is no language model and says so. What it does next is a pure function of the messages: the
//! sentences are those of the last text that a person typed, and the results behind that text
//! tell how many of them were carried out. The grammar is in `sentence`.

mod plan;
mod sentence;

use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use futures_util::stream::{BoxStream, StreamExt, iter};
use shard_contracts::{Provider, ProviderError, ProviderEvent, ProviderRequest, StopReason};
use shard_types::{ModelSpec, Usage};

use super::blocks::{Blocks, CallIds};
use plan::{Plan, plan};

/// The name of its only model.
const MODEL: &str = "demo";

/// Pieces that a text is streamed in. With [`PAUSE`] between them a reply takes below 100 ms.
const PIECES: usize = 12;

/// The time between two pieces.
const PAUSE: Duration = Duration::from_millis(3);

/// The demo.
pub(super) struct Demo {
    name: String,
}

impl Demo {
    pub(super) fn new(name: String) -> Self {
        Self { name }
    }
}

impl Provider for Demo {
    fn name(&self) -> &str {
        &self.name
    }

    fn models(&self) -> BoxFuture<'_, Result<Vec<ModelSpec>, ProviderError>> {
        let model = ModelSpec {
            id: MODEL.to_owned(),
            context_window: Some(200_000),
            ..ModelSpec::default()
        };
        std::future::ready(Ok(vec![model])).boxed()
    }

    fn stream(
        &self,
        request: ProviderRequest,
    ) -> BoxStream<'static, Result<ProviderEvent, ProviderError>> {
        let plan = plan(&request.messages, &request.tools);
        let ids = CallIds::of(&request.messages);
        let events = events(&plan, ids, size(&request));
        let paced = iter(events).then(|event| async {
            tokio::time::sleep(PAUSE).await;
            Ok(event)
        });
        paced.boxed()
    }
}

fn events(plan: &Plan, mut ids: CallIds, read: usize) -> Vec<ProviderEvent> {
    let (mut blocks, mut events) = (Blocks::default(), Vec::new());
    for piece in pieces(&plan.words, PIECES) {
        blocks.text(piece, &mut events);
    }
    let mut written = plan.words.len();
    if let Some((tool, args)) = &plan.call {
        let block = blocks.call(ids.claim(None), tool, &mut events);
        let args = serde_json::Value::Object(args.clone()).to_string();
        written += args.len();
        for piece in pieces(&args, 3) {
            events.push(ProviderEvent::ToolArgs {
                block,
                delta: piece.to_owned(),
            });
        }
    }
    events.push(ProviderEvent::Usage(usage(read, written)));
    events.push(ProviderEvent::Stop(StopReason::Done));
    events
}

/// At most `count` pieces of about the same length; none for an empty text.
fn pieces(text: &str, count: usize) -> Vec<&str> {
    let length = text.len().div_ceil(count).max(4);
    let (mut rest, mut pieces) = (text, Vec::new());
    while !rest.is_empty() {
        let (piece, tail) = rest.split_at(rest.ceil_char_boundary(length));
        pieces.push(piece);
        rest = tail;
    }
    pieces
}

/// The usual rule of thumb: a token is four bytes.
fn usage(read: usize, written: usize) -> Usage {
    let tokens = |bytes: usize| u64::try_from(bytes.div_ceil(4)).unwrap_or(u64::MAX);
    Usage {
        input: tokens(read),
        output: tokens(written),
        context_tokens: Some(tokens(read) + tokens(written)),
        ..Usage::default()
    }
}

fn size(request: &ProviderRequest) -> usize {
    let messages = request.messages.iter().flat_map(|message| &message.content);
    let bytes = messages.map(|block| serde_json::to_string(block).map_or(0, |json| json.len()));
    request.system.len() + bytes.sum::<usize>()
}

#[cfg(test)]
mod tests;
