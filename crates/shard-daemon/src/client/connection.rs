//! One connection, whatever carries it: takes its records in, one after another, and hands each to
//! whoever it is for.

use std::collections::HashSet;
use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use shard_protocol::codec::{self, Record};
use shard_protocol::{
    AgentCommand, Agents, BadMessage, DaemonCommand, Header, MAX_MESSAGE_BYTES, ServerMessage,
};
use shard_transports::Records;
use shard_types::event::Error;
use shard_types::{AgentId, ErrorCode};
use tokio::sync::Semaphore;

use super::{Client, Reply, Who, refuse};
use crate::agent::{AskedFor, GrantsWish, Wish};
use crate::daemon::Daemon;
use crate::orchestrator;

/// Commands of one connection that are carried out at the same time.
const AT_ONCE: u32 = 32;

/// How long a client that says nothing more may wait for what it asked for.
const LAST_ANSWERS: Duration = Duration::from_secs(30);

/// How long the last messages of a connection may take to be taken.
const LAST_MESSAGES: Duration = Duration::from_secs(2);

/// The two directions of a connection.
pub(crate) struct Wire<R, W> {
    pub(crate) records: R,
    /// Resolves once nothing more can be written.
    pub(crate) writing: W,
}

/// Serves one connection until either side ends it.
pub(crate) async fn serve<R: Records, W: Future<Output = ()>>(
    daemon: Arc<Daemon>,
    client: Arc<Client>,
    wire: Wire<R, W>,
) {
    let _served = daemon.connections.token();
    let Wire {
        mut records,
        writing,
    } = wire;
    let mut writing = pin!(writing);
    let mut connection = Connection {
        daemon,
        client,
        attached: HashSet::new(),
        at_once: Arc::new(Semaphore::new(AT_ONCE as usize)),
    };
    let client = Arc::clone(&connection.client);
    let taken = async {
        while let Some(record) = records.next().await {
            if connection.take(record).await.is_break() {
                return;
            }
        }
    };
    let (mut written, mut said_all) = (false, false);
    tokio::select! {
        () = taken => said_all = true,
        () = client.outbox.closed() => {}
        () = &mut writing => written = true,
    }
    let at_once = Arc::clone(&connection.at_once);
    connection.leave().await;
    if said_all {
        // It may have closed its side only, and still listen for the answers.
        tokio::select! {
            _ = tokio::time::timeout(LAST_ANSWERS, at_once.acquire_many(AT_ONCE)) => {}
            () = client.outbox.closed() => {}
            () = &mut writing => written = true,
        }
    }
    client.outbox.close();
    if !written && tokio::time::timeout(LAST_MESSAGES, writing).await.is_err() {
        client.outbox.give_up();
    }
}

struct Connection {
    daemon: Arc<Daemon>,
    client: Arc<Client>,
    /// Agents that it was ever attached to: they are told when it ends.
    attached: HashSet<AgentId>,
    at_once: Arc<Semaphore>,
}

type Next = std::ops::ControlFlow<()>;

impl Connection {
    async fn take(&mut self, record: Record) -> Next {
        match record {
            Record::Line(line) => {
                if let Err(bad) = self.message(line).await {
                    self.refuse(bad);
                }
                Next::Continue(())
            }
            Record::NotUtf8 => {
                self.refuse(BadMessage {
                    id: None,
                    kind: None,
                    message: "the message is no UTF-8 text; send JSON in UTF-8".to_owned(),
                });
                Next::Continue(())
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
                Next::Break(())
            }
        }
    }

    async fn message(&mut self, line: String) -> Result<(), BadMessage> {
        let header = Header::read(&line)?;
        let kind = header.kind.to_string();
        let id = header.id.as_deref().map(str::to_owned);
        // Not before the command is known to be one: a reply must be answered once it is there.
        let reply = |id| Reply::new(Arc::clone(&self.client), id, kind.clone());
        if AgentCommand::TYPES.contains(&&*kind) {
            let agent_id = header.agent_id()?;
            let reply = reply(id);
            self.agent_command(agent_id, kind, line, reply).await;
            return Ok(());
        }
        let Some(command) = DaemonCommand::parse(&kind, &line) else {
            return Err(BadMessage::new(
                &header,
                format!("there is no command `{kind}`"),
            ));
        };
        let command = command.map_err(|bad| BadMessage::new(&header, bad.to_string()))?;
        let reply = reply(id);
        if self.client.who == Who::Tool && !kind.starts_with("subagent.") {
            let message = format!("`{kind}` is for people; what an agent starts may not use it");
            reply.send(Err(refuse(ErrorCode::PermissionDenied, message)));
            return Ok(());
        }
        self.daemon_command(command, reply).await;
        Ok(())
    }

    /// Hands a command to its agent, in the order in which they come.
    async fn agent_command(
        &self,
        agent_id: Option<AgentId>,
        kind: String,
        line: String,
        reply: Reply,
    ) {
        if self.client.who == Who::Tool {
            let message = "what an agent starts may not drive agents";
            return reply.send(Err(refuse(ErrorCode::PermissionDenied, message)));
        }
        let agent = agent_id.and_then(|id| self.daemon.registry.get(&id));
        let Some(agent) = agent else {
            return reply.send(Err(not_attached()));
        };
        agent.ask(Wish::Command { kind, line, reply }).await;
    }

    /// What concerns one agent's process goes to it in order; all else runs by itself, so that a
    /// slow command holds up no other.
    async fn daemon_command(&mut self, command: DaemonCommand, reply: Reply) {
        let wish = match command {
            DaemonCommand::AgentAttach(wish) => {
                let (role, asked) = (wish.role.unwrap_or_default(), AskedFor::Agent);
                Some((wish.agent_id, Wish::Attach { role, asked, reply }))
            }
            DaemonCommand::AgentDetach(wish) => Some((wish.agent_id, Wish::Detach { reply })),
            DaemonCommand::AgentTerminate(wish) => Some((wish.agent_id, Wish::Terminate { reply })),
            DaemonCommand::AgentKill(wish) => {
                let force = wish.force.unwrap_or(false);
                Some((wish.agent_id, Wish::Kill { force, reply }))
            }
            DaemonCommand::GrantsList(wish) => {
                let revoke = None;
                Some((wish.agent_id, Wish::Grants(GrantsWish { revoke, reply })))
            }
            DaemonCommand::GrantsRevoke(wish) => {
                let revoke = Some(wish.grant_id);
                Some((wish.agent_id, Wish::Grants(GrantsWish { revoke, reply })))
            }
            DaemonCommand::SessionActivate(wish) => {
                let (role, asked) = (wish.role.unwrap_or_default(), AskedFor::Session);
                match orchestrator::activate(&self.daemon, &wish.session_id).await {
                    Ok(agent_id) => Some((agent_id, Wish::Attach { role, asked, reply })),
                    Err(error) => return reply.send(Err(error)),
                }
            }
            DaemonCommand::DaemonShutdown(wish) => {
                // The end closes this connection too, so the answer goes first.
                reply.send(Ok(serde_json::Value::Null));
                self.daemon.shut_down(wish.force.unwrap_or(false));
                None
            }
            // The one answer that grows with the number of agents.
            DaemonCommand::AgentList(_) => {
                let agents = self.daemon.registry.list();
                reply.print(&Agents { agents });
                None
            }
            command => {
                // Never closed, so this only waits.
                let permit = Arc::clone(&self.at_once).acquire_owned().await;
                let daemon = Arc::clone(&self.daemon);
                tokio::spawn(async move {
                    let who = reply.client.who.clone();
                    let outcome = orchestrator::carry_out(&daemon, &who, command).await;
                    reply.send(outcome);
                    drop(permit);
                });
                None
            }
        };
        if let Some((agent_id, wish)) = wish {
            match self.daemon.registry.find(&agent_id) {
                Ok(agent) => {
                    if matches!(wish, Wish::Attach { .. }) {
                        self.attached.insert(agent_id);
                    }
                    agent.ask(wish).await;
                }
                Err(error) => wish.refuse(error),
            }
        }
    }

    fn refuse(&self, bad: BadMessage) {
        let BadMessage { id, kind, message } = bad;
        let code = ErrorCode::InvalidRequest;
        match id {
            Some(id) => {
                let reply =
                    Reply::new(Arc::clone(&self.client), Some(id), kind.unwrap_or_default());
                reply.send(Err(refuse(code, message)));
            }
            None => {
                let error = Error {
                    code,
                    message,
                    fatal: Some(false),
                    data: None,
                };
                self.client.say(&ServerMessage::Agent(None, error.into()));
            }
        }
    }

    async fn leave(self) {
        self.daemon.shared.clients.leave(self.client.id);
        for agent_id in &self.attached {
            if let Some(agent) = self.daemon.registry.get(agent_id) {
                agent
                    .ask(Wish::Gone {
                        client: self.client.id,
                    })
                    .await;
            }
        }
    }
}

/// A command to an agent on a connection that is not attached to it.
pub(crate) fn not_attached() -> shard_protocol::ErrorBody {
    refuse(
        ErrorCode::NotAttached,
        "this connection is not attached to that agent; send `agent.attach` first",
    )
}
