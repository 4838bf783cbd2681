//! A direct connection: one peer that is bound to one agent, over any stream of records.
//!
//! Turns records into commands for the session, and the session's events and answers into lines.
//! It decides nothing: what is wrong with a message is said on the connection, which goes on.

use std::sync::Arc;

use shard_contracts::{BoxFuture, EventSubscriber};
use shard_protocol::codec::{self, Record};
use shard_protocol::{
    AgentCommand, BadMessage, DaemonCommand, ErrorBody, Header, MAX_MESSAGE_BYTES, Response,
    RuntimeCommand, ServerMessage,
};
use shard_types::ErrorCode;
use shard_types::event::{AgentEvent, Error};

use crate::agent::{AgentHandle, Reply};

/// Takes lines for the peer. It must not block: what is too much ends the connection.
pub trait Outlet: Send + Sync {
    /// Sends one message, given without its line ending.
    fn send(&self, line: String);

    /// Resolves once there is room.
    fn ready(&self) -> BoxFuture<'_, ()>;
}

/// Whether the connection goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// It does.
    Continue,
    /// The peer broke the framing beyond repair; close it.
    Close,
}

/// One direct connection.
pub struct Direct {
    agent: AgentHandle,
    outlet: Arc<dyn Outlet>,
}

impl Direct {
    /// A connection to this agent. Its events come through [`Events`].
    #[must_use]
    pub fn new(agent: AgentHandle, outlet: Arc<dyn Outlet>) -> Self {
        Self { agent, outlet }
    }

    /// Deals with one record of the peer.
    pub async fn take(&self, record: Record) -> Next {
        match record {
            Record::Line(line) => {
                if let Err(bad) = self.message(&line).await {
                    self.refuse(bad);
                }
                Next::Continue
            }
            Record::NotUtf8 => {
                self.refuse(BadMessage {
                    id: None,
                    kind: None,
                    message: "the line is not UTF-8; send JSON in UTF-8".to_owned(),
                });
                Next::Continue
            }
            Record::TooLong(head) => {
                let message = format!(
                    "the message is larger than {MAX_MESSAGE_BYTES} bytes; the connection is closed"
                );
                self.refuse(BadMessage {
                    id: codec::field_of_oversized(&head, "id"),
                    kind: codec::field_of_oversized(&head, "type"),
                    message,
                });
                Next::Close
            }
        }
    }

    async fn message(&self, line: &str) -> Result<(), BadMessage> {
        let header = Header::read(line)?;
        if let Some(command) = RuntimeCommand::parse(&header.kind, line) {
            let command = command.map_err(|bad| BadMessage::new(&header, bad.to_string()))?;
            let revoke = match command {
                RuntimeCommand::OwnGrantsList(_) => None,
                RuntimeCommand::OwnGrantsRevoke(wish) => Some(wish.grant_id),
                RuntimeCommand::SyncRequest(_) => {
                    self.agent.sync().await;
                    return Ok(());
                }
                RuntimeCommand::RuntimeInit(_) => {
                    let message = "`runtime.init` is the first line of a daemon, and comes once";
                    return Err(BadMessage::new(&header, message.to_owned()));
                }
            };
            self.agent.grants(revoke, self.reply(header)).await;
            return Ok(());
        }
        let Some(command) = AgentCommand::parse(&header.kind, line) else {
            let kind = &header.kind;
            let message = if DaemonCommand::TYPES.contains(&&**kind) {
                format!("`{kind}` is for a daemon; this connection is bound to one agent")
            } else {
                format!("there is no command `{kind}`")
            };
            return Err(BadMessage::new(&header, message));
        };
        let command = command.map_err(|bad| BadMessage::new(&header, bad.to_string()))?;
        self.agent.command(command, self.reply(header)).await;
        Ok(())
    }

    /// Answers the message of this header, if it wants an answer.
    fn reply(&self, header: Header<'_>) -> Reply {
        let outlet = Arc::clone(&self.outlet);
        match header.id {
            Some(id) => {
                let (id, kind) = (id.into_owned(), header.kind.into_owned());
                Box::new(move |outcome| respond(&*outlet, Response::to(id, kind, outcome)))
            }
            None => Box::new(|_| ()),
        }
    }

    fn refuse(&self, bad: BadMessage) {
        let BadMessage { id, kind, message } = bad;
        match id {
            Some(id) => {
                let error = ErrorBody::new(ErrorCode::InvalidRequest, message);
                respond(
                    &*self.outlet,
                    Response::to(id, kind.unwrap_or_default(), Err(error)),
                );
            }
            None => {
                let code = ErrorCode::InvalidRequest;
                let error = Error {
                    code,
                    message,
                    fatal: Some(false),
                    data: None,
                };
                self.outlet
                    .send(ServerMessage::Agent(None, error.into()).to_json());
            }
        }
    }
}

fn respond(outlet: &dyn Outlet, response: Response) {
    outlet.send(ServerMessage::Response(response).to_json());
}

/// Sends every event of an agent to its peer.
pub struct Events(pub Arc<dyn Outlet>);

impl EventSubscriber for Events {
    fn event(&self, event: &AgentEvent) {
        match serde_json::to_string(event) {
            Ok(line) => self.0.send(line),
            Err(error) => {
                tracing::error!(%error, kind = event.type_name(), "an event cannot be printed")
            }
        }
    }

    fn ready(&self) -> BoxFuture<'_, ()> {
        self.0.ready()
    }
}
