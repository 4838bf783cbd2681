//! One agent on one connection, from `agent.attach` on.

use serde_json::{Value, json};

use super::{Client, succeeded};
use crate::messages::Mark;
use crate::turn::{Answer, Turn};

/// An agent that a client is attached to. Helpers here see that agent's own messages only.
#[derive(Debug)]
pub struct Attached<'a> {
    client: &'a Client,
    /// The agent's id.
    pub id: String,
    /// The `data` of the response to the attach.
    pub response: Value,
    /// The `sync` behind it.
    pub sync: Value,
    /// The place after that `sync`.
    pub mark: Mark,
}

/// Whether a message is one of the agent's own, and not what everybody hears about it.
fn is_of(message: &Value, agent_id: &str) -> bool {
    let kind = message["type"].as_str().unwrap_or_default();
    message["agent_id"] == agent_id && !kind.starts_with("agent_")
}

impl<'a> Attached<'a> {
    pub(super) async fn new(client: &'a Client, agent_id: &str, role: &str) -> Self {
        let fields = json!({ "agent_id": agent_id, "role": role });
        let (after, response) = client.find_response("agent.attach", fields).await;
        let own = |m: &Value| is_of(m, agent_id);
        let (mark, sync) = client.find(after, "the sync of an attach", own).await;
        assert_eq!(sync["type"], "sync", "what follows the answer: {sync}");
        Self {
            client,
            id: agent_id.to_owned(),
            response: succeeded("agent.attach", response),
            sync,
            mark,
        }
    }

    /// The place after everything that came so far.
    #[must_use]
    pub fn mark(&self) -> Mark {
        self.client.mark()
    }

    fn addressed(&self, mut fields: Value) -> Value {
        fields["agent_id"] = self.id.as_str().into();
        fields
    }

    /// Sends the agent a command that must succeed; gives the `data` of its response.
    pub async fn ok(&self, kind: &str, fields: Value) -> Value {
        self.client.ok(kind, self.addressed(fields)).await
    }

    /// Sends the agent a command that must fail with this code; gives its message.
    pub async fn refused(&self, code: &str, kind: &str, fields: Value) -> String {
        self.client
            .refused(code, kind, self.addressed(fields))
            .await
    }

    /// Sends a command and does not wait for its response.
    pub async fn send(&self, kind: &str, fields: Value) {
        let mut command = self.addressed(fields);
        command["type"] = kind.into();
        self.client.send(command).await;
    }

    /// The agent's own messages from a place on, as far as they came.
    #[must_use]
    pub fn messages_since(&self, mark: Mark) -> Vec<Value> {
        let mut messages = self.client.messages_since(mark);
        messages.retain(|message| is_of(message, &self.id));
        messages
    }

    /// The first of the agent's own messages from the mark on that the predicate takes.
    pub async fn wait_for(
        &self,
        mark: Mark,
        what: &str,
        mut predicate: impl FnMut(&Value) -> bool,
    ) -> Value {
        let own = |message: &Value| is_of(message, &self.id) && predicate(message);
        self.client.wait_for(mark, what, own).await
    }

    /// The first of the agent's own messages of that type from the mark on.
    pub async fn wait_for_type(&self, mark: Mark, kind: &str) -> Value {
        self.wait_for(mark, kind, |m| m["type"] == kind).await
    }

    /// Waits until the agent says that it has this status.
    pub async fn status(&self, mark: Mark, status: &str) {
        let what = format!("status {status}");
        let is = |m: &Value| m["type"] == "status" && m["status"] == status;
        self.wait_for(mark, &what, is).await;
    }

    /// Sends a prompt that must be accepted; gives the place before its turn.
    pub async fn prompt(&self, message: &str) -> Mark {
        let mark = self.mark();
        self.ok("prompt", json!({ "message": message })).await;
        mark
    }

    /// Sends a prompt and waits for the end of its turn. A permission request fails the test.
    pub async fn turn(&self, message: &str) -> Turn {
        let mark = self.prompt(message).await;
        let unexpected = |ask: &Value| panic!("nobody was to be asked in this turn: {ask}");
        self.follow(mark, unexpected).await
    }

    /// Waits for the end of a turn that began after the mark, and has the closure answer the
    /// permission requests in it.
    pub async fn follow(&self, mark: Mark, mut answers: impl FnMut(&Value) -> Answer) -> Turn {
        let mut from = mark;
        loop {
            let notable = |m: &Value| {
                is_of(m, &self.id) && (m["type"] == "permission_request" || m["type"] == "turn_end")
            };
            let (after, message) = self.client.find(from, "the end of the turn", notable).await;
            if message["type"] == "turn_end" {
                let mut messages = self.client.messages.range(mark, after);
                messages.retain(|message| is_of(message, &self.id));
                return Turn::new(messages);
            }
            if let Some(answer) = answers(&message).to_message(&message) {
                self.client.send(self.addressed(answer)).await;
            }
            from = after;
        }
    }

    /// Answers a permission request; gives the `data` of the response.
    pub async fn answer(&self, request: &Value, answer: &Answer) -> Value {
        let message = answer.to_message(request).unwrap_or_default();
        self.ok("permission_response", message).await
    }
}
