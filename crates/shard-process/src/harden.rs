//! What a process that owns commands does to itself, once, when it starts.

use std::io;

use rustix::process::{DumpableBehavior, getpid, set_child_subreaper, set_dumpable_behavior};

use crate::sys;

/// Closes this process to the programs it will start, and makes it the last to adopt their
/// orphans.
///
/// Its memory, environment and open files can no longer be read through `/proc` by other
/// processes of the same user; orphans of a killed reaper come here instead of to init; writing
/// to a closed pipe or past the file size limit is an error instead of death. Commands start
/// with every signal at its default again.
///
/// # Errors
/// The kernel's refusal; what was done before it stays done.
pub fn harden() -> io::Result<()> {
    set_dumpable_behavior(DumpableBehavior::NotDumpable)?;
    set_child_subreaper(Some(getpid()))?;
    sys::ignore_signal(libc::SIGXFSZ)?;
    sys::ignore_signal(libc::SIGPIPE)
}
