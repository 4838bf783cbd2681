//! A model that the test plays by hand: each call comes to the test, which sends its pieces.

use std::sync::Mutex;

use futures_util::{StreamExt, stream};
use shard_contracts::{
    BoxFuture, BoxStream, Provider, ProviderError, ProviderErrorKind, ProviderEvent,
    ProviderRequest, StopReason,
};
use shard_types::{ContentBlock, Message, ModelSpec, Role, Usage};
use tokio::sync::mpsc;

type Piece = Result<ProviderEvent, ProviderError>;

pub(crate) struct ScriptedProvider {
    pub(crate) name: &'static str,
    pub(crate) models: Vec<ModelSpec>,
    pub(crate) calls: mpsc::Sender<Call>,
}

/// One call, for as long as the test holds it. Dropping it breaks the stream off.
pub(crate) struct Call {
    pub(crate) provider: &'static str,
    pub(crate) request: ProviderRequest,
    feed: mpsc::Sender<Piece>,
    blocks: Mutex<u32>,
}

impl Provider for ScriptedProvider {
    fn name(&self) -> &str {
        self.name
    }

    fn models(&self) -> BoxFuture<'_, Result<Vec<ModelSpec>, ProviderError>> {
        let models = self.models.clone();
        let slow = self.name == "two";
        Box::pin(async move {
            if slow {
                tokio::time::sleep(std::time::Duration::from_secs(1)).await;
            }
            Ok(models)
        })
    }

    fn stream(&self, request: ProviderRequest) -> BoxStream<'static, Piece> {
        let (feed, pieces) = mpsc::channel(1024);
        let call = Call {
            provider: self.name,
            request,
            feed,
            blocks: Mutex::new(0),
        };
        self.calls.try_send(call).expect("the test takes its calls");
        stream::unfold(pieces, async |mut pieces| {
            pieces.recv().await.map(|piece| (piece, pieces))
        })
        .boxed()
    }
}

impl Call {
    /// Sends a piece. If the turn is gone, it goes nowhere, as it would with a real server.
    pub(crate) fn send(&self, event: ProviderEvent) {
        _ = self.feed.try_send(Ok(event));
    }

    fn next_block(&self) -> u32 {
        let mut blocks = self.blocks.lock().unwrap();
        *blocks += 1;
        *blocks - 1
    }

    pub(crate) fn text(&self, text: &str) {
        let block = self.next_block();
        self.more_text(block, text);
    }

    pub(crate) fn more_text(&self, block: u32, text: &str) {
        let delta = text.to_owned();
        self.send(ProviderEvent::Text { block, delta });
    }

    pub(crate) fn thought(&self, text: &str) {
        let block = self.next_block();
        let delta = text.to_owned();
        self.send(ProviderEvent::Thinking { block, delta });
    }

    pub(crate) fn tool(&self, id: &str, name: &str, args: &str) {
        let block = self.next_block();
        self.send(ProviderEvent::ToolCall {
            block,
            id: id.to_owned(),
            name: name.to_owned(),
        });
        self.send(ProviderEvent::ToolArgs {
            block,
            delta: args.to_owned(),
        });
    }

    pub(crate) fn usage(&self, input: u64, output: u64) {
        self.send(ProviderEvent::Usage(Usage {
            input,
            output,
            context_tokens: Some(input + output),
            ..Usage::default()
        }));
    }

    pub(crate) fn stop(self) {
        self.send(ProviderEvent::Stop(StopReason::Done));
    }

    pub(crate) fn cut(self) {
        self.send(ProviderEvent::Stop(StopReason::Length));
    }

    pub(crate) fn refuse(self) {
        self.send(ProviderEvent::Stop(StopReason::Refused));
    }

    pub(crate) fn fail(self, kind: ProviderErrorKind, message: &str) {
        _ = self.feed.try_send(Err(ProviderError::new(kind, message)));
    }

    pub(crate) fn fail_with(self, error: ProviderError) {
        _ = self.feed.try_send(Err(error));
    }

    /// Answers with one text and ends well.
    pub(crate) fn answer(self, text: &str) {
        self.text(text);
        self.stop();
    }

    /// Resolves once the turn has let go of the stream.
    pub(crate) async fn dropped(&self) {
        self.feed.closed().await;
    }

    /// The history as one line.
    pub(crate) fn history(&self) -> String {
        sketch(&self.request.messages)
    }

    pub(crate) fn tools(&self) -> Vec<&str> {
        let tools = self.request.tools.iter();
        tools.map(|tool| tool.name.as_str()).collect()
    }
}

/// `U:` and `A:` with texts, calls as `id`, results as `id=text` or `id!error`.
pub(crate) fn sketch(messages: &[Message]) -> String {
    let line = |message: &Message| {
        let who = if message.role == Role::User { "U" } else { "A" };
        let blocks: Vec<_> = message.content.iter().map(block).collect();
        format!("{who}: {}", blocks.join(" "))
    };
    messages.iter().map(line).collect::<Vec<_>>().join(" | ")
}

fn block(block: &ContentBlock) -> String {
    match block {
        ContentBlock::Text { text } => format!("{text:?}"),
        ContentBlock::ToolCall { id, .. } => id.clone(),
        ContentBlock::ToolResult {
            tool_call_id,
            content,
            ..
        } => format!("{tool_call_id}{}", crate::lines::content(content)),
        ContentBlock::Thinking { text, .. } => format!("({text})"),
        ContentBlock::Image { mime_type, .. } => mime_type.clone(),
    }
}

/// What a strict provider would refuse.
pub(crate) fn assert_valid(messages: &[Message]) {
    let shown = sketch(messages);
    assert_eq!(messages[0].role, Role::User, "{shown}");
    assert_eq!(messages.last().unwrap().role, Role::User, "{shown}");
    let mut owed: Vec<&str> = Vec::new();
    for (at, message) in messages.iter().enumerate() {
        assert!(!message.content.is_empty(), "an empty message: {shown}");
        assert!(
            at == 0 || messages[at - 1].role != message.role,
            "no turns: {shown}"
        );
        let answered: Vec<_> = message.content.iter().filter_map(result_id).collect();
        assert_eq!(answered, owed, "calls and results: {shown}");
        owed = message.content.iter().filter_map(call_id).collect();
        for block in &message.content {
            if let ContentBlock::Text { text } = block {
                assert!(!text.trim().is_empty(), "a blank text: {shown}");
            }
        }
    }
}

fn call_id(block: &ContentBlock) -> Option<&str> {
    match block {
        ContentBlock::ToolCall { id, .. } => Some(id),
        _ => None,
    }
}

fn result_id(block: &ContentBlock) -> Option<&str> {
    match block {
        ContentBlock::ToolResult { tool_call_id, .. } => Some(tool_call_id),
        _ => None,
    }
}
