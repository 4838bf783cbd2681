//! The few fields that every message shares: `id`, `type`, `agent_id`.

use std::borrow::Cow;

use serde::Deserialize;
use shard_types::AgentId;

/// What routes a message, read without looking at the rest of it.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Header<'a> {
    /// Pairs a command with its answer.
    #[serde(default, borrow)]
    pub id: Option<Cow<'a, str>>,
    /// The message type.
    #[serde(rename = "type", borrow)]
    pub kind: Cow<'a, str>,
    /// The agent that it is for, or from, on a daemon connection.
    #[serde(default, borrow, rename = "agent_id")]
    raw_agent_id: Option<Cow<'a, str>>,
}

/// A text that is no valid message (`INVALID_REQUEST`).
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct BadMessage {
    /// The `id`, where one could be read: the answer goes there.
    pub id: Option<String>,
    /// The `type`, where one could be read.
    pub kind: Option<String>,
    /// What is wrong, and with which field.
    pub message: String,
}

impl BadMessage {
    /// Something is wrong with the message of this header.
    pub fn new(header: &Header<'_>, message: impl Into<String>) -> Self {
        Self {
            id: header.id.as_deref().map(str::to_owned),
            kind: Some(header.kind.clone().into_owned()),
            message: message.into(),
        }
    }
}

impl<'a> Header<'a> {
    /// Reads the header of a message.
    ///
    /// # Errors
    /// [`BadMessage`] when the text is no JSON object, or has no string `type`; with the `id`
    /// where one can still be read.
    pub fn read(json: &'a str) -> Result<Self, BadMessage> {
        // Serde would also fill the fields from a JSON array, in their order.
        let header: serde_json::Result<Self> = if json.trim_start().starts_with('{') {
            serde_json::from_str(json)
        } else {
            Err(serde::de::Error::custom("a message is a JSON object"))
        };
        header.map_err(|error| explain(json, &error))
    }

    /// The agent that the message is for.
    ///
    /// # Errors
    /// When the field is there and is no id.
    pub fn agent_id(&self) -> Result<Option<AgentId>, BadMessage> {
        let parsed = self.raw_agent_id.as_deref().map(str::parse).transpose();
        parsed.map_err(|error| BadMessage::new(self, format!("`agent_id`: {error}")))
    }
}

/// The slow path of a message that has no good header.
fn explain(json: &str, error: &serde_json::Error) -> BadMessage {
    let value: serde_json::Value = match serde_json::from_str(json) {
        Ok(value) => value,
        Err(error) => {
            let at = format!("line {}, column {}", error.line(), error.column());
            let message = format!("not valid JSON at {at}; send one JSON object a line");
            return BadMessage {
                id: None,
                kind: None,
                message,
            };
        }
    };
    let text = |key: &str| value.get(key).and_then(|v| v.as_str()).map(str::to_owned);
    let message = match (value.is_object(), value.get("type"), value.get("id")) {
        (false, ..) => "a message is a JSON object".to_owned(),
        (true, None, _) => "missing field `type`".to_owned(),
        (true, Some(kind), _) if !kind.is_string() => "`type`: expected a string".to_owned(),
        (true, _, Some(id)) if !id.is_string() && !id.is_null() => {
            "`id`: expected a string".to_owned()
        }
        _ if value.get("agent_id").is_some_and(|id| !id.is_string()) => {
            "`agent_id`: expected a string".to_owned()
        }
        _ => error.to_string(),
    };
    BadMessage {
        id: text("id"),
        kind: text("type"),
        message,
    }
}

/// Adds the routing `agent_id` to a message that was printed without one, by splicing: the rest
/// is neither parsed nor copied field by field.
#[must_use]
pub fn with_agent_id(json: &str, agent_id: &AgentId) -> String {
    let body = json.strip_prefix('{').unwrap_or(json);
    // An id's alphabet needs no escaping.
    format!("{{\"agent_id\":\"{agent_id}\",{body}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_is_read_whatever_else_the_message_holds() {
        let json =
            r#"{"type":"prompt","message":"a\u2028b","id":"r\"1","agent_id":"agent-1","x":[1]}"#;
        let header = Header::read(json).unwrap();
        assert_eq!(
            (header.kind.as_ref(), header.id.as_deref()),
            ("prompt", Some("r\"1"))
        );
        assert_eq!(
            header.agent_id().unwrap().map(|id| id.to_string()),
            Some("agent-1".to_owned())
        );
    }

    #[test]
    fn a_bad_message_says_what_is_wrong_and_keeps_the_id() {
        let check = |json: &str, id: Option<&str>, message: &str| {
            let bad = Header::read(json).unwrap_err();
            assert_eq!(
                (bad.id.as_deref(), bad.message.as_str()),
                (id, message),
                "{json}"
            );
        };
        check(
            "nonsense",
            None,
            "not valid JSON at line 1, column 2; send one JSON object a line",
        );
        check("[1]", None, "a message is a JSON object");
        check(r#"["r1","abort"]"#, None, "a message is a JSON object");
        check(r#"{"id":"r1"}"#, Some("r1"), "missing field `type`");
        check(
            r#"{"id":"r1","type":7}"#,
            Some("r1"),
            "`type`: expected a string",
        );
        check(
            r#"{"id":7,"type":"abort"}"#,
            None,
            "`id`: expected a string",
        );
        check(
            r#"{"id":"r1","type":"abort","agent_id":7}"#,
            Some("r1"),
            "`agent_id`: expected a string",
        );
    }

    #[test]
    fn an_agent_id_is_spliced_in() {
        let id: AgentId = "agent-1".parse().unwrap();
        let json = with_agent_id(r#"{"type":"turn_start","turn_id":"turn-1"}"#, &id);
        assert_eq!(
            json,
            r#"{"agent_id":"agent-1","type":"turn_start","turn_id":"turn-1"}"#
        );
    }
}
