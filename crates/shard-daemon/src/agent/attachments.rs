//! Who is attached to an agent, and in which role.

use std::sync::Arc;

use bytes::Bytes;
use shard_protocol::AttachRole;

use super::AskedFor;
use crate::client::{Client, ClientId, Reply};

/// One client of the agent.
#[derive(Debug)]
pub(super) struct Attachment {
    client: Arc<Client>,
    role: AttachRole,
    /// What it is to be told before the `sync` after which events reach it; empty once it was.
    reserved: Vec<Welcome>,
    /// It was welcomed before, so that it stays whatever becomes of a further wish to attach.
    attached: bool,
}

/// The answer that comes right before the `sync`.
#[derive(Debug)]
pub(super) struct Welcome {
    /// The role that it has from then on.
    pub(super) role: AttachRole,
    pub(super) reply: Reply,
    pub(super) asked: AskedFor,
}

/// All clients of the agent.
#[derive(Debug, Default)]
pub(super) struct Attachments(Vec<Attachment>);

impl Attachments {
    /// Takes a client in, or changes its role. Until it is welcomed it hears no events.
    pub(super) fn reserve(&mut self, welcome: Welcome) {
        let client = Arc::clone(&welcome.reply.client);
        match self.0.iter_mut().find(|it| it.client.id == client.id) {
            Some(attachment) => attachment.reserved.push(welcome),
            None => self.0.push(Attachment {
                client,
                role: welcome.role,
                reserved: vec![welcome],
                attached: false,
            }),
        }
    }

    /// Lets a client go, if it was there; with what it was still to be told.
    pub(super) fn remove(&mut self, client: ClientId) -> Option<Vec<Welcome>> {
        let at = self.0.iter().position(|it| it.client.id == client)?;
        Some(self.0.remove(at).reserved)
    }

    pub(super) fn role(&self, client: ClientId) -> Option<AttachRole> {
        let found = self.0.iter().find(|it| it.client.id == client);
        found.map(|it| it.role)
    }

    /// Whether somebody is there who may answer a question.
    pub(super) fn has_responder(&self) -> bool {
        self.0.iter().any(|it| it.role == AttachRole::Interactive)
    }

    pub(super) fn has_reserved(&self) -> bool {
        self.0.iter().any(|it| !it.reserved.is_empty())
    }

    /// Whether a line would reach anybody.
    pub(super) fn has_listener(&self) -> bool {
        self.listening().next().is_some()
    }

    /// Those that were welcomed.
    fn listening(&self) -> impl Iterator<Item = &Client> {
        let listening = self.0.iter().filter(|it| it.reserved.is_empty());
        listening.map(|it| &*it.client)
    }

    /// Who hears what is sent.
    pub(super) fn listeners(&self) -> Vec<ClientId> {
        self.listening().map(|client| client.id).collect()
    }

    /// Sends a line to all that were welcomed.
    pub(super) fn send(&self, line: &Bytes) {
        self.listening()
            .for_each(|client| client.forward(line.clone()));
    }

    /// Sends the `sync` of another process to all that were welcomed.
    pub(super) fn send_sync(&self, sync: &Bytes) {
        self.listening()
            .for_each(|client| client.send_sync(sync.clone()));
    }

    /// Sends a line to all that were welcomed and are not among these.
    pub(super) fn send_but(&self, line: &Bytes, but: &[ClientId]) {
        self.listening()
            .filter(|client| !but.contains(&client.id))
            .for_each(|client| client.forward(line.clone()));
    }

    /// Answers those that wait, each followed by the `sync`; from here on they hear events.
    pub(super) fn welcome(&mut self, sync: &Bytes, mut answer: impl FnMut(Welcome)) {
        for attachment in &mut self.0 {
            attachment.attached = true;
            for welcome in attachment.reserved.drain(..) {
                attachment.role = welcome.role;
                answer(welcome);
                attachment.client.send_sync(sync.clone());
            }
        }
    }

    /// Gives up those wishes to attach that wait, for they cannot be fulfilled. Who was attached
    /// before stays so, and has missed nothing: there was no process that could have said it.
    pub(super) fn turn_away(&mut self) -> Vec<Reply> {
        let waiting = self.0.iter_mut().flat_map(|it| it.reserved.drain(..));
        let replies = waiting.map(|welcome| welcome.reply).collect();
        self.0.retain(|it| it.attached);
        replies
    }
}
