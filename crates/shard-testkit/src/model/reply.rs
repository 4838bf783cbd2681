//! A reply: steps in order, and how the format is bent around them.

use super::step::Step;

/// What the model answers to one request.
///
/// Made by the [`reply!`](crate::reply) macro, or from a single step or text by `Into`.
#[derive(Debug, Clone, Default)]
pub struct Reply {
    pub(super) steps: Vec<Step>,
    pub(super) shape: Shape,
}

/// How the stream differs from a plain one.
#[derive(Debug, Clone)]
pub(super) struct Shape {
    pub(super) finish: Option<String>,
    pub(super) unfinished: bool,
    pub(super) done: bool,
    pub(super) usage: UsageShape,
    pub(super) reasoning_field: String,
    pub(super) null_content: bool,
    pub(super) slice: Option<usize>,
}

/// Where an OpenAI-compatible server reports the tokens of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum UsageShape {
    /// In a last chunk with `choices: []`, if the request asks by `stream_options.include_usage`.
    #[default]
    Asked,
    /// In a last chunk with `choices: null`, asked or not.
    NullChoices,
    /// In the chunk that carries `finish_reason`, asked or not.
    WithFinish,
    /// Both in the chunk that carries `finish_reason` and in a last one with `choices: []`.
    Twice,
    /// Nowhere.
    Missing,
}

impl Default for Shape {
    fn default() -> Self {
        Self {
            finish: None,
            unfinished: false,
            done: true,
            usage: UsageShape::default(),
            reasoning_field: "reasoning_content".to_owned(),
            null_content: false,
            slice: None,
        }
    }
}

impl Reply {
    /// Makes a reply that says nothing.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a step.
    #[must_use]
    pub fn then(mut self, step: impl Into<Step>) -> Self {
        self.steps.push(step.into());
        self
    }

    /// Ends for this reason instead of the one that follows from the steps: OpenAI's
    /// `finish_reason`, the reason of an incomplete response, or Anthropic's `stop_reason`, as the
    /// provider spells it.
    #[must_use]
    pub fn finish(mut self, reason: impl Into<String>) -> Self {
        self.shape.finish = Some(reason.into());
        self
    }

    /// Ends the body in good order, but without any end of the message.
    #[must_use]
    pub fn unfinished(mut self) -> Self {
        self.shape.unfinished = true;
        self
    }

    /// Leaves out the closing `[DONE]` (OpenAI only).
    #[must_use]
    pub fn no_done(mut self) -> Self {
        self.shape.done = false;
        self
    }

    /// Reports usage in another place (OpenAI only).
    #[must_use]
    pub fn usage_shape(mut self, shape: UsageShape) -> Self {
        self.shape.usage = shape;
        self
    }

    /// Names the delta's field for thoughts (OpenAI only); `reasoning_content` otherwise.
    #[must_use]
    pub fn reasoning_field(mut self, name: impl Into<String>) -> Self {
        self.shape.reasoning_field = name.into();
        self
    }

    /// Puts `content: null` into every delta that has no text (OpenAI only).
    #[must_use]
    pub fn null_content(mut self) -> Self {
        self.shape.null_content = true;
        self
    }

    /// Sends the body in writes of that many bytes, wherever they cut events or characters.
    #[must_use]
    pub fn slices(mut self, bytes: usize) -> Self {
        self.shape.slice = Some(bytes.max(1));
        self
    }
}

impl<S: Into<Step>> From<S> for Reply {
    fn from(step: S) -> Self {
        Self::new().then(step)
    }
}

/// Makes a [`Reply`] of steps: `reply![text("Let me look."), tool("ls", json!({}))]`.
#[macro_export]
macro_rules! reply {
    ($($step:expr),* $(,)?) => {
        $crate::Reply::new()$(.then($step))*
    };
}
