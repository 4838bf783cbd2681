//! The built-in tools.
//!
//! One tool a file: its name, description, arguments, what it touches, how it runs and its tests
//! stand side by side. The other files are the pieces that tools share; `regular_file` and
//! `atomic_write` are the only ones that open or change a file.
//!
//! Invariants: a path is resolved again right before use and used only if it still is what the
//! gate judged; no tool opens anything but regular files and folders; every output fits the bound
//! of its call and says so where it was cut; no control sequence of a file reaches an output.

use std::path::Path;
use std::sync::Arc;

pub(crate) use shard_config::regular_file;
use shard_contracts::Tool;

mod arguments;
mod ask_user;
mod atomic_write;
mod bash;
mod closest;
mod diff;
mod edit;
mod file_kind;
mod find;
mod grep;
mod ignored;
mod job;
mod line_scan;
mod load_skill;
mod ls;
mod nearest;
mod read;
mod read_log;
mod recall;
mod search;
mod snippet;
mod splice;
mod text_file;
mod text_match;
mod tree;
mod visible;
mod walk;
mod write;

#[cfg(test)]
mod bench;

pub use ask_user::AskUser;
pub use bash::{Bash, Environment, Sandbox};
pub use edit::Edit;
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) use edit::fuzz;
pub use find::Find;
pub use grep::Grep;
pub use load_skill::{LOAD_SKILL, LoadSkill};
pub use ls::Ls;
pub use read::Read;
pub use read_log::ReadLog;
pub use recall::Recall;
pub use write::Write;

/// The built-in tools, in the order in which a model is told of them. `files` is what one agent
/// has read so far: agents that share it could overwrite what they never saw. `session` is the file
/// of its session.
#[must_use]
pub fn builtin(files: &Arc<ReadLog>, bash: Bash, session: &Path) -> Vec<Arc<dyn Tool>> {
    vec![
        Arc::new(Read::new(Arc::clone(files))),
        Arc::new(Ls),
        Arc::new(Find),
        Arc::new(Grep),
        Arc::new(Write::new(Arc::clone(files))),
        Arc::new(Edit::new(Arc::clone(files))),
        Arc::new(bash),
        Arc::new(AskUser),
        Arc::new(Recall::new(session)),
    ]
}
