//! `session_op: fork` and `list`: new sessions that begin as this one stood.

use std::path::Path;

use shard_protocol::{Forked, ForkedFrom, SessionInfo, SessionOp, Sessions};
use shard_session::{SessionError, Summary};
use shard_types::ErrorCode;

use super::commands::{Outcome, data, refuse};
use super::handle::Reply;
use super::session::AgentSession;

impl AgentSession {
    /// The caller has made sure that no turn runs or waits.
    pub(super) fn fork(&mut self, wish: &SessionOp) -> Outcome {
        let from = wish
            .args
            .as_ref()
            .and_then(|args| args.from_entry_id.as_ref());
        let Some(from) = from.filter(|id| !id.as_str().is_empty()) else {
            let message = "`from_entry_id` must name a message or a result of this session";
            return Err(refuse(ErrorCode::InvalidRequest, message));
        };
        let key = wish.request_key.as_ref().map(|key| key.as_str());
        let used = |error: &SessionError| refuse(error.code(), error.to_string());
        if let Some(key) = key {
            let earlier = shard_session::forked_by(self.store.path(), key);
            match earlier.map_err(|error| used(&error))? {
                Some((forked, source)) if source == *from => return data(answer(forked, true)),
                Some(_) => return Err(other_wish(key)),
                None if self.queue.knows_key(key) => return Err(other_wish(key)),
                None => {}
            }
        }
        let forked = shard_session::fork(self.store.path(), from, key);
        data(answer(forked.map_err(|error| used(&error))?, false))
    }

    /// Whether a fork was made with this request key.
    pub(super) fn forked_with(&self, key: &str) -> bool {
        let earlier = shard_session::forked_by(self.store.path(), key);
        earlier.is_ok_and(|earlier| earlier.is_some())
    }

    /// Reads through every file of the family, so a turn that runs must not wait for it.
    pub(super) fn list_sessions(&self, reply: Reply) {
        let path = self.store.path().to_owned();
        tokio::task::spawn_blocking(move || reply(sessions(&path)));
    }
}

fn sessions(path: &Path) -> Outcome {
    let family = shard_session::family(path);
    let family = family.map_err(|error| refuse(error.code(), error.to_string()))?;
    data(Sessions {
        sessions: family.into_iter().map(info).collect(),
    })
}

fn other_wish(key: &str) -> shard_protocol::ErrorBody {
    let message = format!("the request key {key} was used for something else; use a new one");
    refuse(ErrorCode::Conflict, message)
}

fn answer(forked: shard_session::Forked, duplicate: bool) -> Forked {
    Forked {
        fork_id: forked.fork_id,
        session_id: forked.session_id,
        head_entry_id: forked.head_entry_id,
        duplicate,
    }
}

fn info(summary: Summary) -> SessionInfo {
    SessionInfo {
        session_id: summary.header.session_id,
        agent_id: None,
        cwd: summary.header.cwd,
        title: summary.title,
        created_at: summary.header.created_at,
        updated_at: summary.updated_at,
        message_count: summary.message_count,
        forked_from: summary
            .forked_from
            .map(|(session_id, entry_id)| ForkedFrom {
                session_id,
                entry_id,
            }),
    }
}
