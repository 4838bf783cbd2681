//! The steps that a reply is made of, and the functions that make them.

use std::time::Duration;

use serde_json::{Value, json};

use super::gate::Gate;

/// One thing that the scripted model does while it answers.
#[derive(Debug, Clone)]
pub enum Step {
    /// Words.
    Text(Text),
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

/// Words; see [`text`].
#[derive(Debug, Clone)]
pub struct Text {
    pub(super) text: String,
    pub(super) chunks: usize,
    pub(super) delay: Duration,
}

/// Thoughts; see [`thinking`].
#[derive(Debug, Clone)]
pub struct Thinking {
    pub(super) text: String,
    pub(super) chunks: usize,
    pub(super) signature: Signature,
}

/// What stands as the signature of a thinking block (Anthropic only).
#[derive(Debug, Clone)]
pub(super) enum Signature {
    /// One that no other block has.
    Fresh,
    Given(String),
    Missing,
}

/// A tool call; see [`tool`].
#[derive(Debug, Clone)]
pub struct Tool {
    pub(super) name: String,
    pub(super) arguments: Value,
    pub(super) raw: Option<String>,
    pub(super) pieces: usize,
    pub(super) id: CallId,
    pub(super) id_last: bool,
    pub(super) index: bool,
    pub(super) as_object: bool,
}

/// Where the id of a call comes from.
#[derive(Debug, Clone)]
pub(super) enum CallId {
    /// One that no other call of the model has.
    Fresh,
    Given(String),
    Missing,
}

/// Tokens of a call; see [`usage`].
#[derive(Debug, Clone, Copy)]
pub struct Usage {
    pub(super) input: u64,
    pub(super) output: u64,
    pub(super) cached: u64,
    pub(super) cache_write: u64,
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

/// Says `text`, in one chunk unless told otherwise.
pub fn text(text: impl Into<String>) -> Text {
    Text {
        text: text.into(),
        chunks: 1,
        delay: Duration::ZERO,
    }
}

/// Thinks `text`. With Anthropic's format the block is signed, each with a signature of its own.
pub fn thinking(text: impl Into<String>) -> Thinking {
    Thinking {
        text: text.into(),
        chunks: 1,
        signature: Signature::Fresh,
    }
}

/// Calls a tool; the arguments come in one piece and the id is made up unless told otherwise.
pub fn tool(name: impl Into<String>, arguments: Value) -> Tool {
    Tool {
        name: name.into(),
        arguments,
        raw: None,
        pieces: 1,
        id: CallId::Fresh,
        id_last: false,
        index: true,
        as_object: false,
    }
}

/// Reports tokens. `input` does not count the `cached` ones, in either format: the server
/// writes them down as the provider would.
#[must_use]
pub fn usage(input: u64, output: u64, cached: u64) -> Usage {
    Usage {
        input,
        output,
        cached,
        cache_write: 0,
    }
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

impl Text {
    /// Sends the text in that many chunks, at most one for each character.
    #[must_use]
    pub fn chunks(mut self, count: usize) -> Self {
        self.chunks = count;
        self
    }

    /// Waits after each chunk.
    #[must_use]
    pub fn delay(mut self, time: Duration) -> Self {
        self.delay = time;
        self
    }
}

impl Thinking {
    /// Sends the text in that many chunks, at most one for each character.
    #[must_use]
    pub fn chunks(mut self, count: usize) -> Self {
        self.chunks = count;
        self
    }

    /// Signs the block with this (Anthropic only).
    #[must_use]
    pub fn signature(mut self, signature: impl Into<String>) -> Self {
        self.signature = Signature::Given(signature.into());
        self
    }

    /// Leaves the block unsigned (Anthropic only).
    #[must_use]
    pub fn unsigned(mut self) -> Self {
        self.signature = Signature::Missing;
        self
    }
}

impl Tool {
    /// Uses this id for the call.
    #[must_use]
    pub fn id(mut self, id: impl Into<String>) -> Self {
        self.id = CallId::Given(id.into());
        self
    }

    /// Sends no id at all.
    #[must_use]
    pub fn no_id(mut self) -> Self {
        self.id = CallId::Missing;
        self
    }

    /// Sends the id with the last piece only (OpenAI only).
    #[must_use]
    pub fn id_last(mut self) -> Self {
        self.id_last = true;
        self
    }

    /// Sends the arguments in that many pieces, at most one for each character.
    #[must_use]
    pub fn pieces(mut self, count: usize) -> Self {
        self.pieces = count;
        self
    }

    /// Sends this as the text of the arguments, valid JSON or not.
    #[must_use]
    pub fn raw(mut self, arguments: impl Into<String>) -> Self {
        self.raw = Some(arguments.into());
        self
    }

    /// Leaves `index` out of the deltas (OpenAI only).
    #[must_use]
    pub fn no_index(mut self) -> Self {
        self.index = false;
        self
    }

    /// Sends the arguments as a JSON object instead of a string, in one piece (OpenAI only).
    #[must_use]
    pub fn as_object(mut self) -> Self {
        self.as_object = true;
        self
    }

    /// The arguments as the text that goes over the wire, cut into pieces.
    pub(super) fn argument_pieces(&self) -> Vec<String> {
        let whole = match &self.raw {
            Some(raw) => raw.clone(),
            None => self.arguments.to_string(),
        };
        split(&whole, self.pieces)
    }
}

impl Usage {
    /// Counts tokens that were put into the provider's cache (Anthropic only).
    #[must_use]
    pub fn cache_write(mut self, tokens: u64) -> Self {
        self.cache_write = tokens;
        self
    }
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

    /// The body, in a form that clients of both formats understand.
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

/// Cuts `whole` into `count` parts of about the same number of characters: at least one part,
/// and no empty one unless `whole` is empty.
pub(super) fn split(whole: &str, count: usize) -> Vec<String> {
    let characters: Vec<char> = whole.chars().collect();
    let length = characters.len();
    let count = count.clamp(1, length.max(1));
    let part = |n: usize| &characters[n * length / count..(n + 1) * length / count];
    (0..count).map(|n| part(n).iter().collect()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn splitting_loses_nothing_and_makes_the_parts_that_were_asked_for() {
        let check = |whole: &str, count, want: &[&str]| assert_eq!(split(whole, count), want);
        check("", 3, &[""]);
        check("abc", 0, &["abc"]);
        check("abcde", 2, &["ab", "cde"]);
        check("añb", usize::MAX, &["a", "ñ", "b"]);
    }
}
