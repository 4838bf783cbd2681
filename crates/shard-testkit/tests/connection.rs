//! The TCP connection itself, with a client that speaks HTTP by hand.

#![expect(clippy::unwrap_used, reason = "it is how these tests fail")]

use std::io::ErrorKind;

use serde_json::json;
use shard_testkit::{Gate, ScriptedModel, cut, hang_up, hold, reply};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

fn body() -> String {
    let message = json!({"role": "user", "content": "Hello"});
    json!({"model": "m1", "stream": true, "messages": [message]}).to_string()
}

fn request() -> String {
    let body = body();
    let length = body.len();
    format!("POST /v1/chat/completions HTTP/1.1\r\nContent-Length: {length}\r\n\r\n{body}")
}

/// The same request, its body in two chunks.
fn chunked_request() -> String {
    let body = body();
    let (one, two) = body.split_at(10);
    let head = "POST /v1/chat/completions HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n";
    let (a, b) = (one.len(), two.len());
    format!("{head}{a:x}\r\n{one}\r\n{b:x};x=y\r\n{two}\r\n0\r\n\r\n")
}

async fn read_to(stream: &mut TcpStream, end: &str) -> String {
    let mut got = Vec::new();
    while !got.ends_with(end.as_bytes()) {
        got.push(stream.read_u8().await.unwrap());
    }
    String::from_utf8(got).unwrap()
}

#[tokio::test]
async fn requests_that_came_together_are_answered_in_order() {
    let model = ScriptedModel::start(["first", "second"]);
    let mut stream = TcpStream::connect(model.address()).await.unwrap();
    let both = chunked_request() + &request();
    stream.write_all(both.as_bytes()).await.unwrap();
    for word in ["first", "second"] {
        let answer = read_to(&mut stream, "\r\n0\r\n\r\n").await;
        assert!(answer.contains(word), "{answer}");
    }
    let [first, second] = &*model.requests() else {
        panic!("two requests");
    };
    assert_eq!(first.body, second.body);
}

#[tokio::test]
async fn a_cut_is_a_reset_and_a_hang_up_is_an_end() {
    for (step, want) in [(cut(), Err(ErrorKind::ConnectionReset)), (hang_up(), Ok(0))] {
        let gate = Gate::new();
        let model = ScriptedModel::start([reply!["half", hold(&gate), step]]);
        let mut stream = TcpStream::connect(model.address()).await.unwrap();
        stream.write_all(request().as_bytes()).await.unwrap();
        read_to(&mut stream, "half").await;
        gate.reached().await;
        gate.open();
        let mut rest = Vec::new();
        let end = stream.read_to_end(&mut rest).await;
        let end = end.map(|_| 0).map_err(|error| error.kind());
        assert_eq!(end, want);
        assert!(!rest.ends_with(b"0\r\n\r\n"), "the body has an end");
    }
}
