//! `auth.*`: who may let browsers in, and who is in.

use shard_protocol::ErrorBody;
use shard_types::{ErrorCode, PrincipalId};

use crate::client::{Outcome, Who, data, refuse};
use crate::daemon::Daemon;

/// Only a person at this machine lets browsers in, not a browser that is in already.
fn at_this_machine(who: &Who) -> Result<(), ErrorBody> {
    if *who == Who::Terminal {
        return Ok(());
    }
    let message = "only on the unix socket: run `shard auth` in a terminal on this machine";
    Err(refuse(ErrorCode::PermissionDenied, message))
}

pub(super) fn token(daemon: &Daemon, who: &Who) -> Outcome {
    at_this_machine(who)?;
    data(daemon.security.setup_token())
}

pub(super) fn approve(daemon: &Daemon, who: &Who, code: &str) -> Outcome {
    at_this_machine(who)?;
    if daemon.security.approve(code) {
        return Ok(serde_json::Value::Null);
    }
    let message = "no browser shows this code; it may have expired: start anew in the browser";
    Err(refuse(ErrorCode::NotFound, message))
}

pub(super) fn list(daemon: &Daemon) -> Outcome {
    data(daemon.security.list())
}

pub(super) async fn revoke(daemon: &Daemon, principal: &PrincipalId) -> Outcome {
    let Some(removed) = daemon.security.revoke(principal).await else {
        let message =
            format!("there is no browser {principal}; `auth.list` lists those that are in");
        return Err(refuse(ErrorCode::NotFound, message));
    };
    daemon.shared.clients.close_browser(principal);
    match removed.stored {
        Ok(()) => Ok(serde_json::Value::Null),
        Err(error) => Err(refuse(ErrorCode::InternalError, error.to_string())),
    }
}
