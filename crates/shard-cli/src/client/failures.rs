//! Why a daemon cannot be talked to, and what to do about it.

use std::path::Path;

use crate::failure::{Failure, UNREACHABLE};

fn failure(message: impl Into<String>) -> Failure {
    Failure {
        code: UNREACHABLE,
        message: message.into(),
    }
}

pub(super) fn no_daemon() -> Failure {
    failure("no daemon runs; start one with `shard daemon`, or with `shard web` in the background")
}

pub(super) fn unreachable(path: &Path, error: &std::io::Error) -> Failure {
    failure(format!(
        "cannot reach the daemon at {}: {error}; `shard doctor` tells more",
        path.display()
    ))
}

pub(super) fn silent() -> Failure {
    failure("the daemon does not answer; `shard doctor` names its process, to end it by hand")
}

pub(crate) fn lost() -> Failure {
    failure("the daemon ended the connection; start it again with `shard daemon` or `shard web`")
}

pub(super) fn gone(why: Failure) -> Failure {
    failure(format!(
        "the daemon went away before it had answered, so whether this was done is not known: `shard ls` and `shard log ID` tell; {}",
        why.message
    ))
}

pub(super) fn other_version(theirs: &str) -> Failure {
    // What a stranger says of itself may hold anything.
    let theirs: String = theirs.chars().take(40).collect();
    failure(format!(
        "the daemon speaks protocol {}, and this program {}; end that daemon and start one of this version",
        shard_core::gate::visible(&theirs),
        shard_protocol::PROTOCOL_VERSION
    ))
}
