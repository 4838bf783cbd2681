//! A mode is a bundle of policy, never a branch in the loop.

use shard_types::Message;

use crate::{CallFacts, Tool};

/// A mode's say about one call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Vote {
    /// No opinion.
    Abstain,
    /// It may run unless a rule says otherwise.
    Allow,
    /// It must not run in this mode.
    Veto {
        /// What the model is told.
        reason: String,
    },
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

    /// What it adds to the system prompt.
    fn prompt_section(&self) -> Option<String> {
        None
    }

    /// Its say about a call.
    fn vote(&self, call: &CallFacts<'_>) -> Vote {
        let _ = call;
        Vote::Abstain
    }

    /// Looks at the last message of a turn; the object that it returns is kept
    /// as a checkpoint. It names its sort in `artifactKind`.
    fn on_turn_end(&self, message: &Message) -> Option<serde_json::Value> {
        let _ = message;
        None
    }
}
