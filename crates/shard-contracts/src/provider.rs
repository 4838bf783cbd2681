//! A place where models answer.

use std::time::Duration;

use futures_util::future::BoxFuture;
use futures_util::stream::BoxStream;
use serde_json::Value;
use shard_types::{Message, ModelSpec, Usage};

/// A tool as a model is told of it.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolDeclaration {
    /// Its name.
    pub name: String,
    /// What it does and when to use it.
    pub description: String,
    /// JSON Schema of its arguments.
    pub input_schema: Value,
}

/// One call.
#[derive(Debug, Clone)]
pub struct ProviderRequest {
    /// The model, with its limits.
    pub model: ModelSpec,
    /// The system prompt.
    pub system: String,
    /// The history: user and assistant take turns, every tool call is answered exactly once in the
    /// message after it, no text block is blank.
    pub messages: Vec<Message>,
    /// What the model may call.
    pub tools: Vec<ToolDeclaration>,
    /// The reasoning effort, by the model's own name for it.
    pub reasoning: Option<String>,
}

/// Why the model stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StopReason {
    /// It had said everything, or wants its tools to run.
    Done,
    /// The bound on its output was reached: the last block may be cut.
    Length,
    /// The provider refused to go on.
    Refused,
}

/// A piece of an answer. Blocks are numbered from 0 without gaps in the order in which they open;
/// the first event of a block opens it.
#[derive(Debug, Clone, PartialEq)]
pub enum ProviderEvent {
    /// Text to append.
    Text {
        /// The block.
        block: u32,
        /// The text.
        delta: String,
    },
    /// Thought to append.
    Thinking {
        /// The block.
        block: u32,
        /// The text; may be empty.
        delta: String,
    },
    /// The proof of origin of a thinking block.
    Signature {
        /// The block.
        block: u32,
        /// To be sent back unchanged.
        signature: String,
    },
    /// A tool call opens.
    ToolCall {
        /// The block.
        block: u32,
        /// Pairs the call with its result; made up where the provider sent none, unique in the
        /// conversation.
        id: String,
        /// The tool.
        name: String,
    },
    /// Argument text to append.
    ToolArgs {
        /// The block.
        block: u32,
        /// A piece of JSON.
        delta: String,
    },
    /// What the call took. Comes at most once; without `cost` and `model`.
    Usage(Usage),
    /// The answer is whole. Last event of a good stream.
    Stop(StopReason),
}

/// What sort of failure a provider call ended in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProviderErrorKind {
    /// The key is missing or refused (401, 403).
    Auth,
    /// No such model or address (404).
    NotFound,
    /// The history does not fit the model.
    ContextTooLong,
    /// The request was refused for another reason; the same again would be too.
    Rejected,
    /// Too many requests, or too much load (408, 409, 429, 5xx, 529).
    Busy,
    /// No connection, or it broke.
    Network,
    /// The server kept silent for too long.
    Stalled,
    /// The server's answer makes no sense.
    Malformed,
}

/// A provider call failed. The message says what was tried and what to do; it holds no key.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{message}")]
pub struct ProviderError {
    /// What sort of failure.
    pub kind: ProviderErrorKind,
    /// For people.
    pub message: String,
    /// How long the server asks to wait.
    pub retry_after: Option<Duration>,
}

impl ProviderError {
    /// An error without a wish to wait.
    pub fn new(kind: ProviderErrorKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
            retry_after: None,
        }
    }

    /// Whether the same call may succeed later.
    #[must_use]
    pub fn is_transient(&self) -> bool {
        use ProviderErrorKind as K;
        match self.kind {
            K::Busy | K::Network | K::Stalled => true,
            K::Auth | K::NotFound | K::ContextTooLong | K::Rejected | K::Malformed => false,
        }
    }
}

/// A place where models answer.
pub trait Provider: Send + Sync {
    /// Its name in the configuration.
    fn name(&self) -> &str;

    /// The models that it offers: those of the configuration, else those that the server lists.
    fn models(&self) -> BoxFuture<'_, Result<Vec<ModelSpec>, ProviderError>>;

    /// Makes one call. Nothing is sent before the stream is polled, and dropping the stream ends
    /// the connection. One failed try is one error: retrying is the caller's.
    fn stream(
        &self,
        request: ProviderRequest,
    ) -> BoxStream<'static, Result<ProviderEvent, ProviderError>>;
}
