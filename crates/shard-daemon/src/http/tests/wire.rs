//! Requests and answers as bytes.

use std::time::Duration;

use serde_json::Value;
use tokio::io::AsyncReadExt as _;
use tokio::net::TcpStream;

use super::harness::Browser;

/// A test that hangs says where instead of waiting for the whole run to be killed.
const DEADLINE: Duration = Duration::from_secs(20);

/// A request, byte for byte.
#[derive(Clone)]
pub(super) struct Ask {
    method: String,
    target: String,
    headers: Vec<(String, String)>,
    pub(super) body: Vec<u8>,
}

impl Ask {
    pub(super) fn new(method: &str, target: &str, port: u16) -> Self {
        Self {
            method: method.to_owned(),
            target: target.to_owned(),
            headers: Vec::new(),
            body: Vec::new(),
        }
        .header("Host", &format!("127.0.0.1:{port}"))
        .header("Connection", "close")
    }

    pub(super) fn method(mut self, method: &str) -> Self {
        method.clone_into(&mut self.method);
        self
    }

    pub(super) fn without(mut self, name: &str) -> Self {
        self.headers.retain(|(other, _)| other != name);
        self
    }

    pub(super) fn header(self, name: &str, value: &str) -> Self {
        self.without(name).also(name, value)
    }

    pub(super) fn also(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    pub(super) fn bytes(&self) -> Vec<u8> {
        let mut text = format!("{} {} HTTP/1.1\r\n", self.method, self.target);
        for (name, value) in &self.headers {
            text.push_str(&format!("{name}: {value}\r\n"));
        }
        if self.method == "POST" {
            text.push_str(&format!("Content-Length: {}\r\n", self.body.len()));
        }
        let mut bytes = (text + "\r\n").into_bytes();
        bytes.extend(&self.body);
        bytes
    }
}

/// An answer, with every header checked that each of them has to have.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) headers: Vec<(String, String)>,
    pub(super) body: String,
}

impl Answer {
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        let mut found = self.headers.iter().filter(|(other, _)| other == name);
        let (_, value) = found.next()?;
        assert!(found.next().is_none(), "{name} twice: {self:?}");
        Some(value)
    }

    pub(super) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap()
    }

    pub(super) fn browser(&self) -> Browser {
        let cookie = self
            .header("set-cookie")
            .unwrap()
            .split(';')
            .next()
            .unwrap();
        Browser {
            cookie: cookie.to_owned(),
            secret: self.json()["client_secret"].as_str().unwrap().to_owned(),
        }
    }

    fn check_protection(&self) {
        assert_eq!(
            self.header("x-content-type-options"),
            Some("nosniff"),
            "{self:?}"
        );
        assert_eq!(
            self.header("referrer-policy"),
            Some("no-referrer"),
            "{self:?}"
        );
        let expected = "default-src 'none'; script-src 'self' \
            'sha256-5KYv+PUboo5h+0+YAtGRPbwv5d/QxzHslP4YGnUaxRw='; connect-src 'self'; \
            font-src 'self'; img-src 'self' data: blob:; style-src 'self' 'unsafe-inline'; \
            base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
        assert_eq!(
            self.header("content-security-policy"),
            Some(expected),
            "{self:?}"
        );
        assert!(self.header("vary").unwrap().contains("Origin"), "{self:?}");
        assert_ne!(
            self.header("access-control-allow-origin"),
            Some("*"),
            "{self:?}"
        );
    }
}

pub(super) async fn read_answer(stream: &mut TcpStream) -> Answer {
    let read = tokio::time::timeout(DEADLINE, read(stream)).await;
    let answer = read.expect("an answer within the deadline");
    answer.check_protection();
    answer
}

async fn read(stream: &mut TcpStream) -> Answer {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await.expect("the head of an answer"));
    }
    let head = String::from_utf8(head).unwrap();
    let mut lines = head.split("\r\n");
    let status = lines
        .next()
        .unwrap()
        .split(' ')
        .nth(1)
        .unwrap()
        .parse()
        .unwrap();
    let pairs = lines.filter_map(|line| line.split_once(": "));
    let headers = pairs
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect();
    let mut answer = Answer {
        status,
        headers,
        body: String::new(),
    };
    if answer.header("connection") == Some("close") {
        stream.read_to_string(&mut answer.body).await.unwrap();
    } else if let Some(length) = answer.header("content-length") {
        let mut body = vec![0; length.parse().unwrap()];
        stream.read_exact(&mut body).await.unwrap();
        answer.body = String::from_utf8(body).unwrap();
    }
    answer
}

/// Waits until the other side has closed; gives what it sent before.
pub(super) async fn read_to_end(stream: &mut TcpStream) -> Vec<u8> {
    let mut bytes = Vec::new();
    let read = tokio::time::timeout(DEADLINE, stream.read_to_end(&mut bytes)).await;
    _ = read.expect("the end of the connection within the deadline");
    bytes
}
