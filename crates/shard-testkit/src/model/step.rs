//! The steps that a reply is made of, and the functions that make them.

mod content;

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::gate::Gate;

pub(super) use content::{CallId, Signature, split};
pub use content::{Text, Thinking, Tool, Usage, text, thinking, tool, usage};

/// One thing that the scripted model does while it answers.
#[derive(Debug, Clone)]
pub enum Step {
    /// Words.
    Text(Text),
    /// The microseconds since then, and a blank.
    Stamp(Instant),
    /// Thoughts.
    Thinking(Thinking),
    /// A tool call.
    Tool(Tool),
    /// What the call took; sent where the format has its place for it.
    Usage(Usage),
    /// An HTTP status instead of a stream.
    Error(HttpError),
    /// An error event inside the stream, which ends with it.
    ErrorEvent {
        /// The provider's word for the kind of error, such as `overloaded_error`.
        kind: String,
        /// What a person would read.
        message: String,
    },
    /// An SSE comment line.
    Comment(String),
    /// Bytes of the body, as they are.
    Raw(Vec<u8>),
    /// A wait.
    Pause(Duration),
    /// A wait for the test.
    Hold(Hold),
    /// The TCP connection is reset.
    Cut,
    /// The TCP connection is closed in the middle of the body.
    HangUp,
}

/// An HTTP error; see [`error`].
#[derive(Debug, Clone)]
pub struct HttpError {
    pub(super) status: u16,
    pub(super) retry_after: Option<String>,
    pub(super) body: Option<Value>,
    pub(super) message: String,
}

/// A wait for the test; see [`hold`].
#[derive(Debug, Clone)]
pub struct Hold {
    pub(super) gate: Gate,
    pub(super) silent: bool,
}

/// Answers with this HTTP status instead of a stream. Only holds and pauses may stand before it.
#[must_use]
pub fn error(status: u16) -> HttpError {
    HttpError {
        status,
        retry_after: None,
        body: None,
        message: format!("scripted status {status}"),
    }
}

/// Sends an error event in the stream and ends the body there.
pub fn error_event(kind: impl Into<String>, message: impl Into<String>) -> Step {
    Step::ErrorEvent {
        kind: kind.into(),
        message: message.into(),
    }
}

/// Waits for the gate to open, or the client to go away. What came before is sent first, and
/// in any case the head of the answer.
#[must_use]
pub fn hold(gate: &Gate) -> Hold {
    Hold {
        gate: gate.clone(),
        silent: false,
    }
}

/// Says how many microseconds have passed since then when this is said, with a blank behind it.
#[must_use]
pub fn stamp(since: Instant) -> Step {
    Step::Stamp(since)
}

/// Waits, watching for the client to go away.
#[must_use]
pub fn pause(time: Duration) -> Step {
    Step::Pause(time)
}

/// Resets the TCP connection at this place.
#[must_use]
pub fn cut() -> Step {
    Step::Cut
}

/// Closes the TCP connection at this place, without the end of the body.
#[must_use]
pub fn hang_up() -> Step {
    Step::HangUp
}

/// Sends an SSE comment, as servers do to keep a connection alive.
pub fn comment(text: impl Into<String>) -> Step {
    Step::Comment(text.into())
}

/// Puts bytes into the body as they are.
pub fn raw(bytes: impl Into<Vec<u8>>) -> Step {
    Step::Raw(bytes.into())
}

impl HttpError {
    /// Sends a `retry-after` header: seconds, or a date.
    #[must_use]
    pub fn retry_after(mut self, value: impl ToString) -> Self {
        self.retry_after = Some(value.to_string());
        self
    }

    /// Sends this body instead of the provider's usual form.
    #[must_use]
    pub fn body(mut self, body: Value) -> Self {
        self.body = Some(body);
        self
    }

    /// Puts this message into the provider's usual form.
    #[must_use]
    pub fn message(mut self, message: impl Into<String>) -> Self {
        self.message = message.into();
        self
    }

    /// The body, in a form that clients of all formats understand.
    pub(super) fn to_body(&self) -> Value {
        self.body.clone().unwrap_or_else(|| {
            let kind = match self.status {
                401 => "authentication_error",
                404 => "not_found_error",
                429 => "rate_limit_error",
                529 => "overloaded_error",
                500.. => "api_error",
                _ => "invalid_request_error",
            };
            json!({"type": "error", "error": {"type": kind, "message": self.message}})
        })
    }
}

impl Hold {
    /// Sends nothing before the gate opens, not even the status line.
    #[must_use]
    pub fn silent(mut self) -> Self {
        self.silent = true;
        self
    }
}

macro_rules! into_step {
    ($($part:ident => $variant:ident),*) => {
        $(impl From<$part> for Step {
            fn from(part: $part) -> Self {
                Self::$variant(part)
            }
        })*
    };
}
into_step!(Text => Text, Thinking => Thinking, Tool => Tool, Usage => Usage, HttpError => Error, Hold => Hold);

impl From<&str> for Step {
    fn from(words: &str) -> Self {
        Self::Text(text(words))
    }
}
