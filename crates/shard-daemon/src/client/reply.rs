//! Where the answer to a command goes.

use std::sync::Arc;

use serde::Serialize;
use serde_json::Value;
use serde_json::value::{RawValue, to_raw_value};
use shard_protocol::{ErrorBody, Response, ServerMessage};
use shard_types::ErrorCode;

use super::{Client, line};

/// What came of a command.
pub(crate) type Outcome = Result<Value, ErrorBody>;

/// The answer that a client waits for. A command without an `id` gets none.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) client: Arc<Client>,
    id: Option<String>,
    command: String,
}

/// A body that was printed by an agent and is passed on as it stands.
#[derive(Serialize)]
pub(crate) struct Printed<'a> {
    pub(crate) success: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) data: Option<&'a RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) error: Option<&'a RawValue>,
}

impl Reply {
    pub(crate) fn new(client: Arc<Client>, id: Option<String>, command: String) -> Self {
        Self {
            client,
            id,
            command,
        }
    }

    pub(crate) fn send(mut self, outcome: Outcome) {
        self.answer(outcome);
    }

    fn answer(&mut self, outcome: Outcome) {
        if let Some(id) = self.id.take() {
            let response = Response::to(id, std::mem::take(&mut self.command), outcome);
            self.client.say(&ServerMessage::Response(response));
        }
    }

    /// Answers with data that may be large: it is printed once, and never a tree.
    pub(crate) fn print(self, data: &impl Serialize) {
        match to_raw_value(data) {
            Ok(data) => self.send_printed(&Printed {
                success: true,
                data: Some(&data),
                error: None,
            }),
            Err(error) => self.send(Err(refuse(ErrorCode::InternalError, error.to_string()))),
        }
    }

    /// Passes on what an agent answered.
    pub(crate) fn send_printed(mut self, body: &Printed<'_>) {
        #[derive(Serialize)]
        struct Whole<'a> {
            r#type: &'static str,
            id: &'a str,
            command: &'a str,
            #[serde(flatten)]
            body: &'a Printed<'a>,
        }
        let Some(id) = self.id.take() else { return };
        let whole = Whole {
            r#type: "response",
            id: &id,
            command: &self.command,
            body,
        };
        // Strings and raw JSON cannot fail to print.
        self.client
            .send(line(serde_json::to_string(&whole).unwrap_or_default()));
    }
}

/// Whoever waits hears something also when what was to answer has broken down.
impl Drop for Reply {
    fn drop(&mut self) {
        let message = "the daemon broke down over this command, which is a bug in it";
        self.answer(Err(refuse(ErrorCode::InternalError, message)));
    }
}

/// `data` of a successful answer.
pub(crate) fn data(value: impl Serialize) -> Outcome {
    serde_json::to_value(value).map_err(|error| refuse(ErrorCode::InternalError, error.to_string()))
}

/// Why a command is not carried out.
pub(crate) fn refuse(code: ErrorCode, message: impl Into<String>) -> ErrorBody {
    ErrorBody::new(code, message)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::{Clients, Who};

    /// What the client heard after its greeting.
    async fn heard(answer: impl FnOnce(Reply)) -> Vec<Value> {
        let client = Clients::default().join(Who::Terminal, 1 << 20);
        let reply = |id: &str| Reply::new(Arc::clone(&client), Some(id.to_owned()), "x".to_owned());
        answer(reply("r1"));
        client.outbox.close();
        let lines = client.outbox.batch().await.unwrap_or_default();
        let parsed = lines
            .iter()
            .map(|line| serde_json::from_slice(line).unwrap());
        parsed.skip(1).collect()
    }

    #[tokio::test]
    async fn every_reply_is_answered_once_whatever_becomes_of_it() {
        let dropped = heard(drop).await;
        assert_eq!(dropped.len(), 1, "{dropped:?}");
        assert_eq!(dropped[0]["id"], "r1");
        assert_eq!(dropped[0]["error"]["code"], "INTERNAL_ERROR");
        let sent = heard(|reply| reply.send(Ok(Value::Null))).await;
        assert_eq!(sent.len(), 1, "{sent:?}");
        assert_eq!(sent[0]["success"], true);
        let printed = heard(|reply| reply.print(&["a"])).await;
        let wanted = serde_json::json!({
            "type": "response", "id": "r1", "command": "x", "success": true, "data": ["a"],
        });
        assert_eq!(printed, [wanted]);
    }
}
