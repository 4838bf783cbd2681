//! The built-in modes, one a file. `section` finds a part of a message, `active_plan` is what one
//! mode keeps and another shows.
//!
//! A mode is policy and nothing else: it says which tools are offered, has a say about calls, adds
//! to the system prompt, and picks what is worth keeping of a turn. Nothing outside of this folder
//! knows one by its name.

mod active_plan;
mod build;
mod plan;
mod review;
mod section;

use std::sync::Arc;

use shard_contracts::Mode;

pub use build::Build;
pub use plan::Plan;
pub use review::Review;

/// The built-in modes. The first is the default.
#[must_use]
pub fn builtin() -> Vec<Arc<dyn Mode>> {
    vec![Arc::new(Build), Arc::new(Plan), Arc::new(Review)]
}

#[cfg(test)]
mod tests;
