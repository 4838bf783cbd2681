//! Something that a model can do.

use std::path::PathBuf;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use serde_json::{Map, Value};
use shard_types::{Image, RenderDescriptor, ToolResultContent};
use tokio_util::sync::CancellationToken;

use crate::{Artifact, PathFact, Ui};

/// What a call would touch. The gate judges by this; a tool that cannot tell says `Unknown`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Access {
    /// Nothing on this machine.
    Nothing,
    /// It reads these paths, and below them.
    Read(Vec<String>),
    /// It changes these paths.
    Write(Vec<String>),
    /// It runs this shell line.
    Command(String),
    /// It cannot be told beforehand.
    Unknown,
}

/// Takes the live output of a tool. Bounded: what is too much is dropped, never waited for.
pub trait Progress: Send + Sync {
    /// Shows more output.
    fn output(&self, text: &str);
}

/// Where and how a call runs.
#[derive(Clone)]
pub struct ToolContext {
    /// The folder that the agent works in, symlinks resolved.
    pub cwd: PathBuf,
    /// The call.
    pub tool_call_id: String,
    /// The paths of the call as the gate judged them. A tool resolves a path again before it uses
    /// it, and uses none that now leads elsewhere.
    pub paths: Vec<PathFact>,
    /// Fires when the turn is aborted: the tool ends what it started and returns.
    pub cancel: CancellationToken,
    /// Live output.
    pub progress: Arc<dyn Progress>,
    /// Dialogs.
    pub ui: Arc<dyn Ui>,
    /// A folder of the agent's own for output that is too long to show; made on first use.
    pub output_dir: PathBuf,
    /// How much of an output goes to the model, in bytes.
    pub max_output_bytes: usize,
    /// Whether the model that made the call takes pictures.
    pub takes_images: bool,
}

/// What a call gave.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolOutput {
    /// What the model reads.
    pub content: ToolResultContent,
    /// It failed.
    pub is_error: bool,
    /// Exit code, where a process ran.
    pub exit_code: Option<i32>,
    /// What a client may draw instead of the content.
    pub render: Option<RenderDescriptor>,
    /// Files that changed.
    pub mutated: Vec<PathBuf>,
    /// Pictures that the model sees with the content, fit for every provider. Those that are too
    /// much for one result are left out, and the content says so.
    pub images: Vec<Image>,
    /// Something worth keeping. It becomes a checkpoint right after the result's row, with the
    /// call's id as `toolCallId` and that row's as `resultId`.
    pub keep: Option<Artifact>,
}

impl ToolOutput {
    /// A good result.
    pub fn text(text: impl Into<String>) -> Self {
        Self {
            content: ToolResultContent::text(text),
            is_error: false,
            exit_code: None,
            render: None,
            mutated: Vec::new(),
            images: Vec::new(),
            keep: None,
        }
    }

    /// A failure: what was tried, on what, what to do next.
    pub fn error(message: impl Into<String>) -> Self {
        Self {
            content: ToolResultContent::error(message),
            is_error: true,
            ..Self::text("")
        }
    }

    /// The same with something to draw.
    #[must_use]
    pub fn with_render(mut self, render: RenderDescriptor) -> Self {
        self.render = Some(render);
        self
    }
}

/// A capability that a model can call. Every origin makes the same shape, and every call passes
/// the same gate.
pub trait Tool: Send + Sync {
    /// Its name.
    fn name(&self) -> &str;

    /// What it does and when to use it, for the model.
    fn description(&self) -> &str;

    /// JSON Schema of its arguments. Built when first asked for.
    fn input_schema(&self) -> Value;

    /// Whether it only reads. A tool that says nothing counts as one that changes things.
    fn read_only(&self) -> bool {
        false
    }

    /// Whether there is anything that it could be used for now. If not, no model is told of it, and
    /// it cannot be called.
    fn available(&self) -> bool {
        true
    }

    /// What this call would touch.
    fn access(&self, input: &Map<String, Value>) -> Access {
        let _ = input;
        Access::Unknown
    }

    /// What the call looks like before it has run.
    fn preview(&self, input: &Map<String, Value>) -> Option<RenderDescriptor> {
        let _ = input;
        None
    }

    /// Carries the call out. The input is valid by the schema. A failure is an output that says
    /// so: the model reads it and goes on.
    fn execute<'a>(
        &'a self,
        input: Map<String, Value>,
        context: &'a ToolContext,
    ) -> BoxFuture<'a, ToolOutput>;
}
