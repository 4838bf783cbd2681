//! Whether a tool call may run.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value};
use shard_types::event::AllowedBy;
use shard_types::{GrantId, PermissionChoice, PermissionDecision, PermissionDetail};

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
    /// Whether an allow rule or grant covers the call, passing over `ask` rules: what the
    /// policy `allow_if_rule_matches` goes by.
    pub covered: bool,
}

/// A standing permission that a person gave.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grant {
    /// Which.
    pub id: GrantId,
    /// What it covers, in words.
    pub summary: String,
}

/// Why a grant could not be kept.
#[derive(Debug, thiserror::Error)]
#[error("cannot keep the permission in {path}: {source}")]
pub struct GateError {
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

    /// Remembers that this exact call may run from now on, and puts it on disk. `source` names
    /// the client that said so.
    ///
    /// # Errors
    /// When it cannot be written; it then counts for this call alone.
    fn grant(&self, call: &CallFacts<'_>, source: Option<&str>) -> Result<Grant, GateError>;
}
