//! What a client can receive.

use serde::Serialize;
use serde_json::{Map, Value};
use shard_types::AgentId;
use shard_types::event::AgentEvent;

use crate::{BadMessage, DaemonEvent, Header, Response};

/// One message from a server, as a client reads it. Prints as it stands on the wire.
#[derive(Debug, Clone, PartialEq)]
pub enum ServerMessage {
    /// An answer.
    Response(Response),
    /// An event of one agent; of which one, on a daemon connection.
    Agent(Option<AgentId>, AgentEvent),
    /// An event of the daemon.
    Daemon(DaemonEvent),
    /// A type that this build does not know, kept whole so that it can be passed on.
    Unknown(Map<String, Value>),
}

impl ServerMessage {
    /// Reads one message.
    ///
    /// # Errors
    /// When the text is no message, or a known type has a body that does not fit.
    pub fn read(json: &str) -> Result<Self, BadMessage> {
        let header = Header::read(json)?;
        let bad = |error: crate::BadBody| BadMessage::new(&header, error.to_string());
        if header.kind == "response" {
            let body = shard_types::wire_support::parse_body(json).map_err(bad)?;
            return Ok(Self::Response(body));
        }
        if let Some(event) = AgentEvent::parse(&header.kind, json) {
            let agent_id = header.agent_id()?;
            return Ok(Self::Agent(agent_id, event.map_err(bad)?));
        }
        if let Some(event) = DaemonEvent::parse(&header.kind, json) {
            return Ok(Self::Daemon(event.map_err(bad)?));
        }
        let whole = serde_json::from_str(json)
            .map_err(|error| BadMessage::new(&header, error.to_string()))?;
        Ok(Self::Unknown(whole))
    }

    /// Prints the message as one line without its line ending.
    #[must_use]
    pub fn to_json(&self) -> String {
        match self {
            Self::Response(body) => tagged("response", body),
            Self::Agent(Some(agent_id), event) => crate::with_agent_id(&print(event), agent_id),
            Self::Agent(None, event) => print(event),
            Self::Daemon(event) => print(event),
            Self::Unknown(whole) => print(whole),
        }
    }
}

fn print(value: &impl Serialize) -> String {
    // Maps with string keys and finite numbers cannot fail to print.
    serde_json::to_string(value).unwrap_or_default()
}

fn tagged(kind: &str, body: &impl Serialize) -> String {
    #[derive(Serialize)]
    struct Tagged<'a, T> {
        r#type: &'a str,
        #[serde(flatten)]
        body: &'a T,
    }
    print(&Tagged { r#type: kind, body })
}
