//! The upgrade to a WebSocket.

use std::sync::Arc;

use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use super::Server;
use super::harness::{DEV_ORIGIN, Echo};
use super::wire::read_to_end;
use crate::security::access::WebOptions;

#[tokio::test]
async fn a_socket_needs_an_allowed_origin_before_anything_else() {
    let server = Server::start().await;
    let browser = server.enroll().await;
    let ticket = server.ticket(&browser).await;
    let good = server.upgrade(&ticket, &browser.cookie);
    let port = server.port;
    for origin in [
        "http://evil.example".to_owned(),
        format!("http://localhost:{port}"),
        format!("https://127.0.0.1:{port}"),
        format!("http://127.0.0.1:{port}.evil.example"),
        format!("http://127.0.0.1:{port}/"),
        "null".to_owned(),
        String::new(),
    ] {
        let answer = server.send(good.clone().header("Origin", &origin)).await;
        assert_eq!(answer.status, 400, "{origin}");
    }
    assert_eq!(
        server.send(good.clone().without("Origin")).await.status,
        400
    );
    let twice = good.clone().also("Origin", &server.origin);
    assert_eq!(server.send(twice).await.status, 400);
    let bare = server.get("/ws");
    assert_eq!(server.send(bare).await.status, 400);
    assert_eq!(
        server.send(good).await.status,
        101,
        "none of these used the ticket up"
    );
}

#[tokio::test]
async fn a_socket_needs_a_fresh_ticket_and_its_cookie() {
    let server = Server::start().await;
    let (one, two) = (server.enroll().await, server.enroll().await);
    let protocols = |ask: super::Ask, value: &str| ask.header("Sec-WebSocket-Protocol", value);
    let unticketed = server.upgrade("", &one.cookie);
    for (case, ask) in [
        (
            "none offered",
            unticketed.clone().without("Sec-WebSocket-Protocol"),
        ),
        ("no ticket", protocols(unticketed.clone(), "shard.v0")),
        ("an empty ticket", unticketed.clone()),
        ("an unknown ticket", server.upgrade("nonsense", &one.cookie)),
        (
            "nothing but an origin",
            server.get("/ws").header("Origin", &server.origin),
        ),
    ] {
        assert_eq!(server.send(ask).await.status, 401, "{case}");
    }
    let ticket = server.ticket(&one).await;
    let doubled = format!("shard.v0, ticket.{ticket}, ticket.{ticket}");
    let answer = server.send(protocols(unticketed.clone(), &doubled)).await;
    assert_eq!(answer.status, 401, "two tickets");
    let answer = server
        .send(server.upgrade(&ticket, &one.cookie).without("Cookie"))
        .await;
    assert_eq!(answer.status, 401, "no cookie");
    let answer = server.send(server.upgrade(&ticket, &two.cookie)).await;
    assert_eq!(answer.status, 401, "another session's cookie");
    let ticket = server.ticket(&one).await;
    let foreign = server
        .upgrade(&ticket, &one.cookie)
        .header("Origin", DEV_ORIGIN);
    assert_eq!(
        server.send(foreign).await.status,
        401,
        "another allowed origin than its own"
    );
    let ticket = server.ticket(&one).await;
    server.advance(30_000);
    assert_eq!(
        server
            .send(server.upgrade(&ticket, &one.cookie))
            .await
            .status,
        401,
        "expired"
    );
    let ticket = server.ticket(&one).await;
    let answer = server.send(server.upgrade(&ticket, &one.cookie)).await;
    assert_eq!(answer.status, 101);
    assert_eq!(answer.header("sec-websocket-protocol"), Some("shard.v0"));
    assert_eq!(
        answer.header("sec-websocket-accept"),
        Some("s3pPLMBiTxaQ9kYGzzhZRbK+xOo=")
    );
    assert_eq!(
        server
            .send(server.upgrade(&ticket, &one.cookie))
            .await
            .status,
        401,
        "replayed"
    );
}

#[tokio::test]
async fn what_could_not_become_a_socket_leaves_the_ticket_alone() {
    let server = Server::start().await;
    let browser = server.enroll().await;
    let ticket = server.ticket(&browser).await;
    let good = server.upgrade(&ticket, &browser.cookie);
    for ask in [
        good.clone().header("Connection", "close"),
        good.clone().without("Upgrade"),
        good.clone().without("Sec-WebSocket-Key"),
        good.clone().header("Sec-WebSocket-Version", "8"),
        good.clone()
            .header("Sec-WebSocket-Protocol", &format!("ticket.{ticket}")),
        good.clone().header(
            "Sec-WebSocket-Protocol",
            &format!("shard.v1, ticket.{ticket}"),
        ),
    ] {
        let shown = String::from_utf8(ask.bytes()).unwrap();
        let answer = server.send(ask.also("Connection", "close")).await;
        assert_eq!(answer.status / 100, 4, "{shown}");
        assert_ne!(answer.status, 401, "{shown}");
    }
    assert_eq!(server.send(good).await.status, 101);
}

#[tokio::test]
async fn a_socket_carries_messages_until_its_browser_logs_out() {
    let server = Server::start().await;
    let browser = server.enroll().await;
    let ticket = server.ticket(&browser).await;
    let upgrade = server.upgrade(&ticket, &browser.cookie).bytes();
    let (answer, mut socket) = server.send_raw(&upgrade).await;
    assert_eq!(answer.status, 101);
    // One masked text frame, "hi"; the mask is zero.
    socket
        .write_all(&[0x81, 0x82, 0, 0, 0, 0, b'h', b'i'])
        .await
        .unwrap();
    let mut echoed = [0; 4];
    socket.read_exact(&mut echoed).await.unwrap();
    assert_eq!(&echoed, b"\x81\x02hi");
    let unused = server.ticket(&browser).await;
    let logout = server
        .post("/logout", &json!({}))
        .header("Cookie", &browser.cookie);
    assert_eq!(server.send(logout).await.status, 204);
    read_to_end(&mut socket).await;
    let late = server.upgrade(&unused, &browser.cookie);
    assert_eq!(
        server.send(late).await.status,
        401,
        "its tickets are gone too"
    );
}

#[tokio::test]
async fn a_browser_has_only_so_many_sockets() {
    let sockets = Arc::new(Echo::one_each());
    let server = Server::serving(sockets, WebOptions::default(), 8).await;
    let (one, two) = (server.enroll().await, server.enroll().await);
    let mut open = Vec::new();
    for (browser, status) in [(&one, 101), (&one, 429), (&two, 101)] {
        let ticket = server.ticket(browser).await;
        let upgrade = server.upgrade(&ticket, &browser.cookie).bytes();
        let (answer, stream) = server.send_raw(&upgrade).await;
        assert_eq!(answer.status, status);
        open.push(stream);
    }
}

#[tokio::test]
async fn a_message_beyond_the_limit_reaches_the_one_who_refuses_it_with_an_answer() {
    let server = Server::start().await;
    let browser = server.enroll().await;
    let ticket = server.ticket(&browser).await;
    let upgrade = server.upgrade(&ticket, &browser.cookie).bytes();
    let (_, mut socket) = server.send_raw(&upgrade).await;
    let length = 16 * 1024 * 1024 + 1;
    // One masked binary frame with a length of eight bytes; the mask is zero.
    let mut frame = vec![0x82, 0xff];
    frame.extend((length as u64).to_be_bytes());
    frame.resize(frame.len() + 4 + length, 0);
    socket.write_all(&frame).await.unwrap();
    let mut echoed = vec![1; 10 + length];
    socket.read_exact(&mut echoed).await.unwrap();
    assert!(echoed.ends_with(&[0; 1024]));
    // Of a still larger one not even the beginning is kept.
    frame[2..10].copy_from_slice(&(24 * 1024 * 1024 + 1_u64).to_be_bytes());
    socket.write_all(&frame[..14]).await.unwrap();
    read_to_end(&mut socket).await;
}
