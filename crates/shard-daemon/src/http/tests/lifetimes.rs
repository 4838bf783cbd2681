//! How long connections are kept, and how many.

use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::time::Instant;

use super::Server;
use super::wire::{read_answer, read_to_end};

// Time is paused in here: whenever nothing else can happen, the next deadline is due at once.

#[tokio::test(start_paused = true)]
async fn a_client_that_says_nothing_or_never_ends_is_dropped() {
    let server = Server::start().await;
    for beginning in ["", "GET / HTTP/1.1\r\nHost: 127"] {
        let mut stream = server.connect().await;
        stream.write_all(beginning.as_bytes()).await.unwrap();
        let began = Instant::now();
        assert_eq!(read_to_end(&mut stream).await, b"", "{beginning}");
        assert_eq!(began.elapsed().as_secs(), 15, "{beginning}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_connection_is_not_used_for_ever() {
    let server = Server::start().await;
    let ask = server.get("/healthz").without("Connection").bytes();
    let mut stream = server.connect().await;
    let began = Instant::now();
    for _ in 0..59 {
        stream.write_all(&ask).await.unwrap();
        assert_eq!(read_answer(&mut stream).await.status, 200);
        tokio::time::advance(Duration::from_secs(10)).await;
    }
    stream.write_all(&ask).await.unwrap();
    assert_eq!(read_answer(&mut stream).await.status, 200);
    tokio::time::advance(Duration::from_secs(10)).await;
    assert_eq!(
        read_to_end(&mut stream).await,
        b"",
        "closed between two requests"
    );
    assert_eq!(began.elapsed().as_secs(), 600, "and not for being idle");
}

#[tokio::test(start_paused = true)]
async fn a_body_that_does_not_arrive_is_not_waited_for() {
    let server = Server::start().await;
    let mut ask = server.post("/enroll/token", &serde_json::json!({}));
    ask.body = vec![b' '; 100];
    let bytes = ask.bytes();
    let (answer, _) = server.send_raw(&bytes[..bytes.len() - 50]).await;
    assert_eq!(answer.status, 408);
}

#[tokio::test]
async fn a_head_without_end_is_refused() {
    let server = Server::start().await;
    let mut stream = server.connect().await;
    let huge = format!(
        "GET / HTTP/1.1\r\nHost: x\r\nX: {}\r\n\r\n",
        "x".repeat(40 * 1024)
    );
    _ = stream.write_all(huge.as_bytes()).await;
    let answer = String::from_utf8(read_to_end(&mut stream).await).unwrap();
    assert!(answer.starts_with("HTTP/1.1 431 "), "{answer}");
}

#[tokio::test]
async fn one_connection_too_many_makes_the_one_give_way_that_was_idle_for_longest() {
    let server = Server::with(2).await;
    let ask = server.get("/healthz");
    let keep = ask.clone().without("Connection").bytes();
    let (mut oldest, mut used) = (server.connect().await, server.connect().await);
    for stream in [&mut oldest, &mut used] {
        stream.write_all(&keep).await.unwrap();
        assert_eq!(read_answer(stream).await.status, 200);
    }
    let mut third = server.connect().await;
    third.write_all(&keep).await.unwrap();
    assert_eq!(read_answer(&mut third).await.status, 200);
    assert_eq!(read_to_end(&mut oldest).await, b"");
    used.write_all(&keep).await.unwrap();
    assert_eq!(read_answer(&mut used).await.status, 200, "this one was not");
}

#[tokio::test]
async fn many_that_say_nothing_keep_nobody_waiting() {
    let server = Server::with(8).await;
    let mut silent = Vec::new();
    for beginning in ["", "GET / HTTP/1.1\r\nHost: 127"]
        .into_iter()
        .cycle()
        .take(40)
    {
        let mut stream = server.connect().await;
        stream.write_all(beginning.as_bytes()).await.unwrap();
        silent.push(stream);
    }
    let began = Instant::now();
    assert_eq!(server.send(server.get("/healthz")).await.status, 200);
    assert!(
        began.elapsed() < Duration::from_secs(14),
        "no timeout passed"
    );
}

#[tokio::test]
async fn one_connection_too_many_waits_for_requests_that_are_under_way() {
    let server = Server::with(1).await;
    let mut ask = server.post("/enroll/token", &serde_json::json!({}));
    ask.body = b"{ \"token\": \"x\" }".to_vec();
    let bytes = ask.header("Expect", "100-continue").bytes();
    let (most, rest) = bytes.split_at(bytes.len() - 1);
    let mut first = server.connect().await;
    first.write_all(most).await.unwrap();
    let mut told = [0; 25];
    first.read_exact(&mut told).await.unwrap();
    assert_eq!(&told, b"HTTP/1.1 100 Continue\r\n\r\n", "it is being read");
    let mut second = server.connect().await;
    second
        .write_all(&server.get("/healthz").bytes())
        .await
        .unwrap();
    let mut byte = [0];
    assert!(second.try_read(&mut byte).is_err(), "nothing so far");
    first.write_all(rest).await.unwrap();
    assert_eq!(read_answer(&mut first).await.status, 401);
    drop(first);
    assert_eq!(read_answer(&mut second).await.status, 200);
}

#[tokio::test]
async fn stopping_ends_idle_connections_and_the_listener() {
    let server = Server::start().await;
    let mut idle = server.connect().await;
    let keep = server.get("/healthz").without("Connection").bytes();
    idle.write_all(&keep).await.unwrap();
    assert_eq!(read_answer(&mut idle).await.status, 200);
    server.shutdown.cancel();
    read_to_end(&mut idle).await;
    server.ended.await.unwrap();
    let refused = tokio::net::TcpStream::connect(("127.0.0.1", server.port)).await;
    assert!(refused.is_err());
}
