//! Commands that the agent's process has yet to answer.
//!
//! Clients choose their ids freely, so two may have the same one. Towards the process each command
//! has a number; its answer goes back to the client under the id that the client gave.

use std::collections::{BTreeMap, HashMap, VecDeque};

use crate::client::{Reply, refuse};
use crate::runtime::Violation;
use serde::Deserialize;
use serde_json::value::{RawValue, to_raw_value};
use shard_types::ErrorCode;
use tokio::time::Instant;

/// More than any number of clients has under way; one process that answers nothing must not make
/// the daemon grow.
const MAX_OPEN: usize = 4096;

/// What is open.
#[derive(Debug, Default)]
pub(super) struct Calls {
    last: u64,
    open: HashMap<u64, Reply>,
    /// Those that must be answered in time, in the order in which they are.
    due: VecDeque<(u64, Instant)>,
}

/// Fields that a client must not set, or that mean something else behind the daemon.
const OURS: [&str; 3] = ["id", "agent_id", "source"];

impl Calls {
    /// The line with which a client's command goes to the process, and the place for its answer.
    /// Values are copied as they stand. `source` says who answers a question. `None` when the
    /// command goes nowhere, of which its sender was told.
    pub(super) fn forward(
        &mut self,
        line: &str,
        source: Option<&str>,
        reply: Reply,
    ) -> Option<String> {
        // A frame may hold line breaks between its tokens; towards the process they end a message.
        let on_one_line = line.contains(['\n', '\r']).then(|| compact(line));
        let line = on_one_line.as_deref().unwrap_or(line);
        let fields: BTreeMap<String, &RawValue> = match serde_json::from_str(line) {
            Ok(fields) => fields,
            Err(_) => {
                let error = refuse(ErrorCode::InvalidRequest, "a message is a JSON object");
                reply.send(Err(error));
                return None;
            }
        };
        if self.open.len() >= MAX_OPEN {
            let message = "too many commands wait for this agent; try again later";
            reply.send(Err(refuse(ErrorCode::Conflict, message)));
            return None;
        }
        // Also one that nobody waits for: until it is answered the process has work.
        self.last += 1;
        let mut line = format!("{{\"id\":\"{}\",", self.last);
        self.open.insert(self.last, reply);
        if let Some(source) = source.and_then(|source| to_raw_value(source).ok()) {
            line.push_str(&format!("\"source\":{source},"));
        }
        let rest = fields
            .iter()
            .filter(|(key, _)| !OURS.contains(&key.as_str()));
        for (key, value) in rest {
            let key = serde_json::to_string(key).unwrap_or_default();
            line.push_str(&format!("{key}:{},", value.get()));
        }
        line.pop(); // the last comma: there is at least a `type`
        line.push_str("}\n");
        Some(line)
    }

    /// The same for a command that the process must answer by then.
    pub(super) fn ask(&mut self, line: &str, deadline: Instant, reply: Reply) -> Option<String> {
        let line = self.forward(line, None, reply)?;
        self.due.push_back((self.last, deadline));
        Some(line)
    }

    /// When the process must have answered something.
    pub(super) fn next_deadline(&self) -> Option<Instant> {
        self.due.front().map(|(_, deadline)| *deadline)
    }

    /// Whether the process has answered everything.
    pub(super) fn is_empty(&self) -> bool {
        self.open.is_empty()
    }

    /// Passes an answer of the process on to whoever waits for it.
    ///
    /// # Errors
    /// [`Violation`]: nobody asked.
    pub(super) fn answer(&mut self, number: u64, line: &str) -> Result<(), Violation> {
        #[derive(Deserialize)]
        struct Answer<'a> {
            success: bool,
            #[serde(borrow, default)]
            data: Option<&'a RawValue>,
            #[serde(borrow, default)]
            error: Option<&'a RawValue>,
        }
        let reply = self.open.remove(&number);
        self.due.retain(|(open, _)| *open != number);
        let reply = reply.ok_or(Violation("an answer to nothing that was asked"))?;
        let Ok(Answer {
            success,
            data,
            error,
        }) = serde_json::from_str(line)
        else {
            return Err(Violation("an answer that does not fit its type"));
        };
        reply.send_printed(&crate::client::Printed {
            success,
            data,
            error,
        });
        Ok(())
    }

    /// The process is gone, and answers nothing any more.
    pub(super) fn fail_all(&mut self) {
        self.due.clear();
        for (_, reply) in self.open.drain() {
            let message = "the agent's process ended before it answered; try again";
            reply.send(Err(refuse(ErrorCode::InternalError, message)));
        }
    }
}

fn compact(json: &str) -> String {
    let value: Result<serde_json::Value, _> = serde_json::from_str(json);
    value.map_or_else(|_| String::new(), |value| value.to_string())
}
