//! A mode is a bundle of policy, never a branch in the loop.

use std::collections::BTreeMap;

use serde_json::{Map, Value};
use shard_types::Message;

use crate::{CallFacts, Tool};

/// A mode's say about one call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Vote {
    /// No opinion.
    Abstain,
    /// It may run unless a rule says otherwise.
    Allow,
    /// A person is asked, whatever allows it, each time.
    Ask {
        /// What the person is told.
        reason: String,
    },
    /// It must not run in this mode.
    Veto {
        /// What the model is told.
        reason: String,
    },
}

/// Something that a mode keeps of a turn, or a tool of a call. It becomes a checkpoint of the session.
#[derive(Debug, Clone, PartialEq)]
pub struct Artifact {
    /// Its sort: the checkpoint's `artifactKind`. Those that a session uses itself are taken.
    pub kind: String,
    /// What is kept.
    pub details: Map<String, Value>,
}

/// What the modes of a session have kept: the latest artifact of each kind.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Artifacts(BTreeMap<String, Map<String, Value>>);

impl Artifacts {
    /// Takes up an artifact, in the place of an earlier one of its kind.
    pub fn keep(&mut self, artifact: Artifact) {
        self.0.insert(artifact.kind, artifact.details);
    }

    /// The latest of this kind.
    #[must_use]
    pub fn latest(&self, kind: &str) -> Option<&Map<String, Value>> {
        self.0.get(kind)
    }
}

/// A way of working.
pub trait Mode: Send + Sync {
    /// Its name, as `set_mode` takes it.
    fn name(&self) -> &str;

    /// What it is for, in one sentence.
    fn description(&self) -> &str;

    /// Whether the model is offered this tool. The gate judges calls all the same.
    fn offers(&self, tool: &dyn Tool) -> bool {
        let _ = tool;
        true
    }

    /// What it adds to the system prompt, given what modes have kept in this session. It depends on
    /// nothing else, so that a provider's cache of the prompt holds.
    fn prompt_section(&self, kept: &Artifacts) -> Option<String> {
        let _ = kept;
        None
    }

    /// Its say about a call.
    fn vote(&self, call: &CallFacts<'_>) -> Vote {
        let _ = call;
        Vote::Abstain
    }

    /// Looks at the last message of a turn that ended well, and says what is to be kept of it. It
    /// is the mode that the message was written in.
    fn on_turn_end(&self, message: &Message) -> Option<Artifact> {
        let _ = message;
        None
    }
}
