//! Work is done: every tool is offered, and the gate decides. The plan of the session, if there is
//! one, is in sight.

use shard_contracts::{Artifacts, Mode};

use super::active_plan;

/// The mode in which things are changed.
pub struct Build;

impl Mode for Build {
    fn name(&self) -> &'static str {
        "build"
    }

    fn description(&self) -> &'static str {
        "Read, change and run things in the workspace; changes ask for permission."
    }

    fn prompt_section(&self, kept: &Artifacts) -> Option<String> {
        active_plan::shown(kept)
    }
}
