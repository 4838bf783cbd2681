//! The built-in modes.

use shard_contracts::Mode;

/// Work is done: every tool is offered, and the gate decides.
pub struct Build;

impl Mode for Build {
    fn name(&self) -> &'static str {
        "build"
    }

    fn description(&self) -> &'static str {
        "Read, change and run things in the workspace; changes ask for permission."
    }
}
