//! What an agent may do unasked: listed and taken back.
//!
//! The list belongs to the agent's process while there is one, and is in a file else. Which of the
//! two holds is the broker's to know; nothing starts a process while the file is at work.

use std::io;
use std::path::Path;

use shard_protocol::{ErrorBody, Grants};
use shard_session::{StoredGrant, read_grants, revoke_grant};
use shard_types::{ErrorCode, GrantId};

use crate::client::{Outcome, Reply, data, refuse};

/// A wish about the grants of an agent.
#[derive(Debug)]
pub(crate) struct GrantsWish {
    /// The grant to take back; without one, all are listed.
    pub(crate) revoke: Option<GrantId>,
    pub(crate) reply: Reply,
}

impl GrantsWish {
    /// As the agent's process takes it.
    pub(super) fn line(&self) -> String {
        match &self.revoke {
            // An id has no character that JSON would write otherwise.
            Some(id) => format!("{{\"type\":\"grants.revoke\",\"grant_id\":\"{id}\"}}"),
            None => "{\"type\":\"grants.list\"}".to_owned(),
        }
    }
}

/// Carries a wish out on the file of an agent that no process serves.
pub(super) fn carry_out(path: &Path, revoke: Option<&GrantId>) -> Outcome {
    let Some(id) = revoke else {
        let grants = read_grants(path).map_err(|error| failed("read", path, &error))?;
        let grants = grants.iter().map(StoredGrant::listed).collect();
        return data(Grants { grants });
    };
    match revoke_grant(path, id) {
        Ok(true) => Ok(serde_json::Value::Null),
        Ok(false) => {
            let message = format!("there is no grant {id}; `grants.list` lists them");
            Err(refuse(ErrorCode::NotFound, message))
        }
        Err(error) => Err(failed("change", path, &error)),
    }
}

fn failed(action: &str, path: &Path, error: &io::Error) -> ErrorBody {
    let message = format!(
        "cannot {action} the permissions in {}: {error}; what cannot be read is not in force, and is \
         set aside when the agent's process starts",
        path.display()
    );
    refuse(ErrorCode::InternalError, message)
}
