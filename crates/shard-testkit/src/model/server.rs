//! The server's side: takes connections, logs and checks requests, has replies played.

use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::{oneshot, watch};

use super::http::Connection;
use super::log::{End, Exchange, Log};
use super::play::{After, play};
use super::reply::Reply;
use super::request::{Provider, Request};
use super::script::Script;
use super::step::error;
use super::validity;

/// What the server and the test's handle share.
pub(super) struct Shared {
    pub(super) log: watch::Sender<Log>,
    pub(super) script: Mutex<Script>,
    pub(super) models: Vec<String>,
    numbers: AtomicUsize,
}

impl Shared {
    pub(super) fn new(script: Script, models: Vec<String>) -> Self {
        Self {
            log: watch::Sender::default(),
            script: Mutex::new(script),
            models,
            numbers: AtomicUsize::new(1),
        }
    }

    /// A number that was not given before, for ids and signatures.
    pub(super) fn fresh_number(&self) -> usize {
        self.numbers.fetch_add(1, Ordering::Relaxed)
    }

    pub(super) fn violation(&self, text: String) {
        self.log.send_modify(|log| log.violations.push(text));
    }

    /// Notes a chat request and says what to answer.
    fn accept(&self, provider: Provider, request: &Request) -> (usize, Reply) {
        let mut number = 0;
        let mut faults = Vec::new();
        self.log.send_modify(|log| {
            number = log.chats.len();
            faults = validity::check(provider, request, &log.signed);
            let say = |fault: &String| format!("request {number}: {fault}");
            log.violations.extend(faults.iter().map(say));
            log.chats.push(Exchange {
                request: request.clone(),
                end: None,
            });
        });
        if !faults.is_empty() {
            return (number, error(400).message(faults.join("; ")).into());
        }
        let mut script = self.script.lock().unwrap_or_else(PoisonError::into_inner);
        let reply = script.next(number, request).unwrap_or_else(|why| {
            self.violation(why.clone());
            error(500).message(why).into()
        });
        (number, reply)
    }

    fn model_list(&self) -> Value {
        let entry = |id: &String| json!({"id": id, "object": "model", "type": "model", "display_name": id, "created": 1_700_000_000});
        let data: Vec<Value> = self.models.iter().map(entry).collect();
        json!({"object": "list", "data": data, "has_more": false})
    }
}

/// Serves until `stop` is used or dropped.
pub(super) async fn serve(
    listener: TcpListener,
    shared: Arc<Shared>,
    mut stop: oneshot::Receiver<()>,
) {
    loop {
        tokio::select! {
            _ = &mut stop => return,
            accepted = listener.accept() => {
                let Ok((stream, _)) = accepted else { continue };
                let shared = shared.clone();
                shared.log.send_modify(|log| log.connections += 1);
                tokio::spawn(async move {
                    // An error is a client that went away; the log already says so.
                    let _gone = converse(Connection::new(stream), &shared).await;
                });
            }
        }
    }
}

/// Answers the requests of one connection, one after the other.
async fn converse(mut connection: Connection, shared: &Shared) -> io::Result<()> {
    while let Some(request) = connection.next_request().await? {
        let close = request.wants_close();
        let after = match request.provider() {
            Some(provider) => answer_chat(provider, request, shared, &mut connection).await?,
            None => answer_other(request, shared, &mut connection).await?,
        };
        if close || after == After::Close {
            return Ok(());
        }
    }
    Ok(())
}

async fn answer_chat(
    provider: Provider,
    request: Request,
    shared: &Shared,
    connection: &mut Connection,
) -> io::Result<After> {
    let (number, reply) = shared.accept(provider, &request);
    let played = play(provider, &request, reply, shared, connection).await;
    let end = match &played {
        Ok(_) => (End::Played, Instant::now()),
        Err(_) => (End::ClientGone, Instant::now()),
    };
    shared
        .log
        .send_modify(|log| log.chats[number].end = Some(end));
    played
}

async fn answer_other(
    request: Request,
    shared: &Shared,
    connection: &mut Connection,
) -> io::Result<After> {
    let path = request.path.split('?').next().unwrap_or_default();
    let is_list = request.method == "GET" && path == "/v1/models";
    shared.log.send_modify(|log| log.others.push(request));
    if is_list {
        let list = shared.model_list();
        connection.respond(200, None, &list).await?;
    } else {
        connection.respond(404, None, &error(404).to_body()).await?;
    }
    Ok(After::Keep)
}
