//! Whether a tool call may run.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value};
use shard_types::event::AllowedBy;
use shard_types::{GrantId, GrantInfo, PermissionChoice, PermissionDecision, PermissionDetail};

use crate::{Access, Mode};

/// A path that a call names, and what it really is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PathFact {
    /// As the call gives it.
    pub given: String,
    /// Absolute, with every symlink on the way resolved; parts that do not exist yet are kept.
    pub real: PathBuf,
}

/// All that a gate may judge by.
pub struct CallFacts<'a> {
    /// The tool.
    pub tool: &'a str,
    /// Whether it only reads.
    pub read_only: bool,
    /// Its arguments, already valid by the tool's schema.
    pub input: &'a Map<String, Value>,
    /// What it would touch.
    pub access: &'a Access,
    /// The paths of `access`, resolved.
    pub paths: &'a [PathFact],
    /// The folder that the agent works in, symlinks resolved.
    pub cwd: &'a Path,
    /// The active mode.
    pub mode: &'a dyn Mode,
}

/// What the gate says of a call.
#[derive(Debug, Clone, PartialEq)]
pub enum Decision {
    /// It runs.
    Allow {
        /// By what.
        by: AllowedBy,
    },
    /// It does not run.
    Deny {
        /// What the model is told.
        reason: String,
    },
    /// A person decides.
    Ask(Ask),
}

/// A question for a person.
#[derive(Debug, Clone, PartialEq)]
pub struct Ask {
    /// In words, control characters made visible.
    pub prompt: String,
    /// The plain answers.
    pub options: Vec<PermissionDecision>,
    /// What the person should see.
    pub details: Vec<PermissionDetail>,
    /// Finer answers.
    pub choices: Vec<PermissionChoice>,
    /// What would allow the call if `ask` rules were passed over: what the policy
    /// `allow_if_rule_matches` goes by.
    pub covered: Option<AllowedBy>,
}

/// Why a change to the grants could not be kept.
#[derive(Debug, thiserror::Error)]
#[error("cannot {action} in {path}: {source}")]
pub struct GateError {
    /// What was tried.
    pub action: &'static str,
    /// The file of grants.
    pub path: PathBuf,
    /// What happened.
    pub source: std::io::Error,
}

/// Decides whether a call may run. It executes nothing and asks nobody.
///
/// Invariants: what cannot be judged is an [`Decision::Ask`]; a deny holds against everything.
pub trait PermissionGate: Send + Sync {
    /// Judges one call.
    fn check(&self, call: &CallFacts<'_>) -> Decision;

    /// Remembers an answer for good, and puts it on disk: the `choice` of the question that the
    /// person picked, or, without one, that this exact call may run from now on. `source` names
    /// the client that said so.
    ///
    /// # Errors
    /// When it cannot be kept; it then counts for this call alone.
    fn grant(
        &self,
        call: &CallFacts<'_>,
        choice: Option<&str>,
        source: Option<&str>,
    ) -> Result<GrantInfo, GateError>;

    /// The grants, oldest first.
    fn grants(&self) -> Vec<GrantInfo> {
        Vec::new()
    }

    /// Takes a grant back, at once and on disk. False if there is none of that id.
    ///
    /// # Errors
    /// When that cannot be written: it covers nothing any more, but would again after a restart.
    fn revoke(&self, id: &GrantId) -> Result<bool, GateError> {
        let _ = id;
        Ok(false)
    }

    /// Puts on disk how often grants were used. It may take as long as a disk does; judging goes
    /// on meanwhile.
    ///
    /// # Errors
    /// When it cannot be written.
    fn keep_uses(&self) -> Result<(), GateError> {
        Ok(())
    }
}
