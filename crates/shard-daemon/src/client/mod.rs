//! Whoever is connected: browsers, terminals, and the tools of agents.

mod connection;
mod reply;

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use shard_protocol::{DaemonEvent, PROTOCOL_VERSION, ServerMessage};
use shard_transports::{Outbox, OutboxFull};
use shard_types::PrincipalId;
use shard_types::event::Hello;

use crate::metrics::Metrics;

pub(crate) use connection::{Wire, not_attached, serve};
pub(crate) use reply::{Outcome, Printed, Reply, data, refuse};

/// Who is at the other end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Who {
    /// A person's program on the unix socket.
    Terminal,
    /// A browser that was let in.
    Browser(PrincipalId),
    /// Something that an agent started. It may not act for a person.
    Tool,
}

impl Who {
    /// As answers to questions name it.
    pub(crate) fn source(&self) -> &'static str {
        match self {
            Self::Terminal => "terminal",
            Self::Browser(_) => "web",
            Self::Tool => "tool",
        }
    }
}

/// Names one connection within this daemon's life.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct ClientId(u64);

/// One connection, as the rest of the daemon sees it.
#[derive(Debug)]
pub(crate) struct Client {
    pub(crate) id: ClientId,
    pub(crate) who: Who,
    pub(crate) outbox: Outbox,
    metrics: Arc<Metrics>,
}

impl Client {
    /// Sends one message, with its line ending. A client that is too slow loses its connection,
    /// and nobody else notices.
    pub(crate) fn send(&self, line: Bytes) {
        self.metrics.sent_bytes.add(line.len());
        self.sent(self.outbox.push(line));
    }

    /// Sends a `sync`, the same way.
    pub(crate) fn send_sync(&self, line: Bytes) {
        self.metrics.sent_bytes.add(line.len());
        self.sent(self.outbox.push_state(line));
    }

    fn sent(&self, sent: Result<(), OutboxFull>) {
        if let Err(error) = sent {
            self.metrics.slow_clients.add(1);
            tracing::info!(client = self.id.0, %error, "a connection is closed");
        }
    }

    /// Sends an event of an agent.
    pub(crate) fn forward(&self, line: Bytes) {
        self.metrics.events_forwarded.add(1);
        self.send(line);
    }

    pub(crate) fn say(&self, message: &ServerMessage) {
        self.send(line(message.to_json()));
    }
}

/// A message as it goes out.
pub(crate) fn line(mut json: String) -> Bytes {
    json.push('\n');
    json.into()
}

/// What the daemon itself can do. What an agent can do is in its `sync`.
const CAPABILITIES: [&str; 3] = ["streaming-deltas", "websocket", "unix-socket"];

fn hello() -> Hello {
    Hello {
        protocol_version: PROTOCOL_VERSION.to_owned(),
        server_version: env!("CARGO_PKG_VERSION").to_owned(),
        capabilities: CAPABILITIES.map(str::to_owned).to_vec(),
    }
}

/// All connections.
///
/// A lock, held for moments: every actor tells all clients something now and then, and an actor of
/// its own for that would only stand in the way.
#[derive(Debug, Default)]
pub(crate) struct Clients {
    next: AtomicU64,
    connected: Mutex<HashMap<ClientId, Arc<Client>>>,
    metrics: Arc<Metrics>,
}

impl Clients {
    pub(crate) fn new(metrics: Arc<Metrics>) -> Self {
        Self {
            metrics,
            ..Self::default()
        }
    }

    fn connected(&self) -> MutexGuard<'_, HashMap<ClientId, Arc<Client>>> {
        self.connected
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes in a new connection, with the bound of its outbox in bytes. `hello` is the first thing
    /// that it hears.
    pub(crate) fn join(&self, who: Who, limit: usize) -> Arc<Client> {
        let client = Arc::new(Client {
            id: ClientId(self.next.fetch_add(1, Ordering::Relaxed)),
            who,
            outbox: Outbox::new(limit),
            metrics: Arc::clone(&self.metrics),
        });
        client.say(&ServerMessage::Agent(None, hello().into()));
        self.connected().insert(client.id, Arc::clone(&client));
        client
    }

    pub(crate) fn leave(&self, id: ClientId) {
        self.connected().remove(&id);
    }

    /// How many are browsers', and how many come over the unix socket.
    pub(crate) fn count(&self) -> (usize, usize) {
        let connected = self.connected();
        let browsers = connected.values();
        let browsers = browsers.filter(|it| matches!(it.who, Who::Browser(_)));
        let browsers = browsers.count();
        (browsers, connected.len() - browsers)
    }

    /// How many connections one browser has.
    pub(crate) fn count_of(&self, principal: &PrincipalId) -> usize {
        let is_its = |it: &&Arc<Client>| matches!(&it.who, Who::Browser(id) if id == principal);
        self.connected().values().filter(is_its).count()
    }

    /// Tells every connection of a person.
    pub(crate) fn broadcast(&self, event: impl Into<DaemonEvent>) {
        let line = line(ServerMessage::Daemon(event.into()).to_json());
        let connected = self.connected();
        let people = connected.values().filter(|client| client.who != Who::Tool);
        people.for_each(|client| client.send(line.clone()));
    }

    /// Ends the connections of one browser.
    pub(crate) fn close_browser(&self, principal: &PrincipalId) {
        for client in self.connected().values() {
            if matches!(&client.who, Who::Browser(id) if id == principal) {
                client.outbox.close();
            }
        }
    }

    /// Ends all connections; what waits is still written.
    pub(crate) fn close_all(&self) {
        self.connected()
            .values()
            .for_each(|client| client.outbox.close());
    }
}
