//! Peers that are there, and those that are not.

use std::sync::Arc;

use axum::extract::ws::WebSocket;
use futures_util::future::BoxFuture;
use shard_transports::{Outbox, Records as _, websocket};
use shard_types::PrincipalId;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::Instant;

use super::Server;
use crate::http::Sockets;
use crate::security::access::WebOptions;

/// Serves sockets as connections do, with nothing to say; or takes no more than one message.
struct Quiet {
    listens: bool,
}

impl Sockets for Quiet {
    fn connected(&self, socket: WebSocket, _: PrincipalId) -> BoxFuture<'static, ()> {
        let listens = self.listens;
        Box::pin(async move {
            let (mut records, sink) = websocket::split(socket);
            let outbox = Outbox::new(1 << 20);
            let read = async {
                while records.next().await.is_some() {
                    if !listens {
                        std::future::pending::<()>().await;
                    }
                }
            };
            tokio::select! {
                () = read => {}
                () = sink.write(&outbox) => {}
            }
        })
    }

    fn has_room(&self, _: &PrincipalId) -> bool {
        true
    }

    fn close(&self, _: &PrincipalId) {}
}

async fn socket(listens: bool) -> (Server, TcpStream) {
    let sockets = Arc::new(Quiet { listens });
    let server = Server::serving(sockets, WebOptions::default(), 8).await;
    let browser = server.enroll().await;
    let ticket = server.ticket(&browser).await;
    let upgrade = server.upgrade(&ticket, &browser.cookie).bytes();
    let (answer, stream) = server.send_raw(&upgrade).await;
    assert_eq!(answer.status, 101);
    (server, stream)
}

/// Waits for a ping; gives the seconds since then.
async fn pinged(stream: &mut TcpStream, began: Instant) -> u64 {
    let mut frame = [0; 2];
    stream.read_exact(&mut frame).await.unwrap();
    assert_eq!(frame, [0x89, 0], "a ping without contents");
    began.elapsed().as_secs()
}

// Time is paused in here: whenever nothing else can happen, the next deadline is due at once.

#[tokio::test(start_paused = true)]
async fn a_peer_is_asked_every_half_minute_and_gone_when_it_does_not_answer() {
    let (_server, mut stream) = socket(true).await;
    let began = Instant::now();
    for seconds in [30, 60, 90] {
        assert_eq!(pinged(&mut stream, began).await, seconds);
        // A masked pong; the mask is zero.
        stream.write_all(&[0x8a, 0x80, 0, 0, 0, 0]).await.unwrap();
    }
    assert_eq!(pinged(&mut stream, began).await, 120);
    // By hand, because a deadline of the test's own would come first.
    let after = stream.read(&mut [0]).await;
    assert!(matches!(after, Ok(0) | Err(_)), "gone: {after:?}");
    assert_eq!(began.elapsed().as_secs(), 150);
}

#[tokio::test(start_paused = true)]
async fn a_peer_that_nobody_listens_to_is_not_blamed() {
    let (_server, mut stream) = socket(false).await;
    stream
        .write_all(&[0x81, 0x82, 0, 0, 0, 0, b'h', b'i'])
        .await
        .unwrap();
    let began = Instant::now();
    for seconds in [30, 60, 90, 120] {
        assert_eq!(pinged(&mut stream, began).await, seconds);
    }
}
