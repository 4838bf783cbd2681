//! What a reply says: words, thoughts, tool calls, and the tokens they took.

use std::time::Duration;

use serde_json::Value;

/// Words; see [`text`].
#[derive(Debug, Clone)]
pub struct Text {
    pub(in crate::model) text: String,
    pub(in crate::model) chunks: usize,
    pub(in crate::model) delay: Duration,
}

/// Thoughts; see [`thinking`].
#[derive(Debug, Clone)]
pub struct Thinking {
    pub(in crate::model) text: String,
    pub(in crate::model) chunks: usize,
    pub(in crate::model) signature: Signature,
}

/// What stands as the signature of a thinking block; with Responses its encrypted content. Chat
/// completions have none.
#[derive(Debug, Clone)]
pub(in crate::model) enum Signature {
    /// One that no other block has.
    Fresh,
    Given(String),
    Missing,
}

/// A tool call; see [`tool`].
#[derive(Debug, Clone)]
pub struct Tool {
    pub(in crate::model) name: String,
    pub(in crate::model) arguments: Value,
    pub(in crate::model) raw: Option<String>,
    pub(in crate::model) pieces: usize,
    pub(in crate::model) id: CallId,
    pub(in crate::model) id_last: bool,
    pub(in crate::model) index: bool,
    pub(in crate::model) as_object: bool,
}

/// Where the id of a call comes from.
#[derive(Debug, Clone)]
pub(in crate::model) enum CallId {
    /// One that no other call of the model has.
    Fresh,
    Given(String),
    Missing,
}

/// Tokens of a call; see [`usage`].
#[derive(Debug, Clone, Copy)]
pub struct Usage {
    pub(in crate::model) input: u64,
    pub(in crate::model) output: u64,
    pub(in crate::model) cached: u64,
    pub(in crate::model) cache_write: u64,
}

/// Says `text`, in one chunk unless told otherwise.
pub fn text(text: impl Into<String>) -> Text {
    Text {
        text: text.into(),
        chunks: 1,
        delay: Duration::ZERO,
    }
}

/// Thinks `text`. But for chat completions the block is signed, each with a signature of its own.
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

    /// Signs the block with this (not with chat completions).
    #[must_use]
    pub fn signature(mut self, signature: impl Into<String>) -> Self {
        self.signature = Signature::Given(signature.into());
        self
    }

    /// Leaves the block unsigned (not with chat completions).
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
    pub(in crate::model) fn argument_pieces(&self) -> Vec<String> {
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

/// Cuts `whole` into `count` parts of about the same number of characters: at least one part,
/// and no empty one unless `whole` is empty.
pub(in crate::model) fn split(whole: &str, count: usize) -> Vec<String> {
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
