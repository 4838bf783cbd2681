//! Who answers for a child: with nobody at the child itself, the nearest ancestor that has
//! somebody.
//!
//! What is asked stays the child's, and so does the answer. Here is only who else hears of it:
//! an ancestor keeps what was put to its clients until it is answered, so that whoever comes back
//! to it finds it in the `sync`.

use std::iter;
use std::sync::{Arc, MutexGuard, PoisonError};

use bytes::Bytes;
use serde::Deserialize;
use serde_json::value::RawValue;
use shard_protocol::AttachRole;
use shard_types::RequestId;

use super::Agent;
use super::attachments::Attachments;
use crate::client::ClientId;

/// More than any chain of launches is long. Damaged records may make a ring.
const MOST_ANCESTORS: usize = 64;

/// Who is attached to an agent, and what they were asked for its descendants.
#[derive(Debug, Default)]
pub(super) struct Audience {
    pub(super) attachments: Attachments,
    delegated: Vec<Delegated>,
}

/// A question of a descendant.
#[derive(Debug)]
struct Delegated {
    id: RequestId,
    /// As it went out, under the descendant's id.
    line: Bytes,
}

impl Audience {
    /// Puts a descendant's question to all that are attached, but for those that hear of it anyway.
    pub(super) fn put(&mut self, id: &RequestId, line: &Bytes, but: &[ClientId]) {
        self.attachments.send_but(line, but);
        self.delegated.push(Delegated {
            id: id.clone(),
            line: line.clone(),
        });
    }

    /// The question is answered, or nobody asks it any more.
    pub(super) fn settle(&mut self, id: &RequestId, line: &Bytes, but: &[ClientId]) {
        self.delegated.retain(|delegated| delegated.id != *id);
        self.attachments.send_but(line, but);
    }

    /// A `sync` of the agent's process with the questions of its descendants.
    pub(super) fn complete(&self, sync: &str) -> String {
        #[derive(Deserialize)]
        struct Pending<'a> {
            #[serde(borrow)]
            pending_requests: &'a RawValue,
        }
        let pending = serde_json::from_str(sync).map(|it: Pending| it.pending_requests.get());
        let Ok(own) = pending else {
            return sync.to_owned();
        };
        // The value is a part of the text that it was read from.
        let after_bracket = own.as_ptr() as usize - sync.as_ptr() as usize + 1;
        let (mut whole, rest) = {
            let (before, rest) = sync.split_at(after_bracket);
            (before.to_owned(), rest)
        };
        let is_empty = rest.trim_start().starts_with(']');
        for (at, Delegated { line, .. }) in self.delegated.iter().enumerate() {
            if at > 0 {
                whole.push(',');
            }
            whole.push_str(String::from_utf8_lossy(line).trim_end());
        }
        if !is_empty && !self.delegated.is_empty() {
            whole.push(',');
        }
        whole.push_str(rest);
        whole
    }
}

impl Agent {
    /// Who is attached. Locked for moments: the agent's own actor changes it, those of its
    /// descendants look who is there and tell them what they ask.
    pub(super) fn audience(&self) -> MutexGuard<'_, Audience> {
        self.audience.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The agent that launched it, the one that launched that, and so on.
    fn ancestors(&self) -> impl Iterator<Item = &Arc<Self>> {
        iter::successors(self.parent.get(), |ancestor| ancestor.parent.get()).take(MOST_ANCESTORS)
    }

    /// Whether there is anybody who may answer its questions.
    pub(super) fn has_responder(&self) -> bool {
        self.audience().attachments.has_responder() || self.nearest_responder().is_some()
    }

    /// The ancestor whose clients answer when nobody is attached to the agent itself.
    pub(super) fn nearest_responder(&self) -> Option<Arc<Self>> {
        self.ancestors()
            .find(|ancestor| ancestor.audience().attachments.has_responder())
            .cloned()
    }

    /// In which role a client may answer the agent's questions, attached to it or to an ancestor.
    pub(super) fn answering_role(&self, client: ClientId) -> Option<AttachRole> {
        let own = self.audience().attachments.role(client);
        let inherited = self
            .ancestors()
            .filter_map(|ancestor| ancestor.audience().attachments.role(client));
        let roles: Vec<_> = own.into_iter().chain(inherited).collect();
        let interactive = roles.iter().find(|role| **role == AttachRole::Interactive);
        interactive.or(roles.first()).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn audience(questions: &[&'static str]) -> Audience {
        let mut audience = Audience::default();
        for question in questions {
            let id = "req-1".parse().unwrap();
            audience.put(&id, &Bytes::from_static(question.as_bytes()), &[]);
        }
        audience
    }

    #[test]
    fn a_sync_holds_the_questions_of_descendants_before_its_own() {
        let (a, b) = ("{\"a\":1}\n", "{\"b\":2}\n");
        for (questions, own, whole) in [
            (&[][..], "[]", "[]"),
            (&[], "[{}]", "[{}]"),
            (&[a], "[]", r#"[{"a":1}]"#),
            (&[a, b], "[ ]", r#"[{"a":1},{"b":2} ]"#),
            (&[a], r#"[{"c":"[]"}]"#, r#"[{"a":1},{"c":"[]"}]"#),
        ] {
            let sync = |asked: &str| {
                format!(r#"{{"x":"pending_requests","pending_requests":{asked},"y":[]}}"#)
            };
            assert_eq!(audience(questions).complete(&sync(own)), sync(whole));
        }
    }
}
