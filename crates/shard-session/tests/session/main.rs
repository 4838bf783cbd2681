//! The session store through its public face.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::Path;

use shard_session::load;
use shard_types::SessionId;

mod file;
mod forks;

mod lazy;
mod oracle;
mod paging;
mod recall;

mod sample;

/// The session of a file.
fn file_session(path: &Path) -> SessionId {
    load(path).unwrap().header.session_id
}
