//! One turn as its events told it, and the answers that a test gives in it.

use serde_json::{Value, json};
use shard_types::PermissionDecision;

/// What a test answers to a permission request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// This once.
    Allow,
    /// This exact call, from now on.
    AllowAlways,
    /// No.
    Deny,
    /// The offered choice with this id.
    Choice(String),
    /// Nothing: somebody else answers, or nobody.
    Leave,
}

impl Answer {
    /// The `permission_response` to that request; none for [`Answer::Leave`].
    pub(crate) fn to_message(&self, request: &Value) -> Option<Value> {
        let mut message = json!({
            "type": "permission_response",
            "request_id": request["request_id"],
        });
        let decision = match self {
            Self::Allow => PermissionDecision::Allow,
            Self::AllowAlways => PermissionDecision::AllowAlways,
            Self::Deny => PermissionDecision::Deny,
            Self::Choice(id) => {
                message["choice_id"] = id.as_str().into();
                return Some(message);
            }
            Self::Leave => return None,
        };
        message["decision"] = json!(decision);
        Some(message)
    }
}

/// The messages of one turn, from the prompt to `turn_end`.
#[derive(Debug, Clone, PartialEq)]
pub struct Turn {
    messages: Vec<Value>,
}

impl Turn {
    pub(crate) fn new(messages: Vec<Value>) -> Self {
        Self { messages }
    }

    /// All messages, in order; `turn_end` is the last.
    #[must_use]
    pub fn messages(&self) -> &[Value] {
        &self.messages
    }

    /// The messages of one type, in order.
    #[must_use]
    pub fn of(&self, kind: &str) -> Vec<&Value> {
        let messages = self.messages.iter();
        messages.filter(|message| message["type"] == kind).collect()
    }

    /// The types of all messages, in order.
    #[must_use]
    pub fn types(&self) -> Vec<&str> {
        let messages = self.messages.iter();
        messages
            .filter_map(|message| message["type"].as_str())
            .collect()
    }

    /// The tool results, in order.
    #[must_use]
    pub fn results(&self) -> Vec<&Value> {
        self.of("tool_result")
    }

    /// What the model read of the tool result with that number, from 0.
    ///
    /// # Panics
    /// When there are not that many.
    #[must_use]
    pub fn result_text(&self, number: usize) -> String {
        let results = self.results();
        let Some(result) = results.get(number) else {
            panic!("no tool result {number} among {:?}", self.types());
        };
        let content = &result["content"];
        match content["kind"].as_str() {
            Some("error") => content["message"].as_str().unwrap_or_default().to_owned(),
            Some("json") => content["value"].to_string(),
            _ => content["text"].as_str().unwrap_or_default().to_owned(),
        }
    }

    /// The text of the last complete message of the assistant.
    ///
    /// # Panics
    /// When there is none.
    #[must_use]
    pub fn text(&self) -> String {
        let complete = self.of("message_complete");
        let last = complete
            .iter()
            .rfind(|m| m["message"]["role"] == "assistant");
        let Some(last) = last else {
            panic!(
                "no complete message of the assistant among {:?}",
                self.types()
            );
        };
        let blocks = last["message"]["content"].as_array().into_iter().flatten();
        blocks
            .filter(|block| block["type"] == "text")
            .filter_map(|block| block["text"].as_str())
            .collect()
    }

    /// Why the turn ended: `done`, `aborted`, `error` or `limit`.
    #[must_use]
    pub fn reason(&self) -> &str {
        let end = self.messages.last();
        end.and_then(|end| end["reason"].as_str())
            .unwrap_or_default()
    }
}
