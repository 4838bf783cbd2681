//! HTTP/1.1 as bare as it gets, so that a test may also send what no client library would.

use std::time::Duration;

use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// How long an answer may take.
const DEADLINE: Duration = Duration::from_secs(20);

/// A request to a daemon's listener.
///
/// It comes with what a good browser sends: the exact `Host`, and with a POST the daemon's own
/// `Origin` and a content type. Each of them can be replaced or left out.
#[derive(Debug, Clone)]
pub struct Http {
    port: u16,
    method: String,
    path: String,
    headers: Vec<(String, String)>,
    body: String,
}

/// An answer.
#[derive(Debug, Clone)]
pub struct HttpResponse {
    /// The status.
    pub status: u16,
    /// Names in lower case, in the order in which they came.
    pub headers: Vec<(String, String)>,
    /// The body; empty after an upgrade.
    pub body: String,
}

impl Http {
    /// A request without a body.
    #[must_use]
    pub fn new(port: u16, method: &str, path: &str) -> Self {
        Self {
            port,
            method: method.to_owned(),
            path: path.to_owned(),
            headers: vec![("Host".to_owned(), format!("127.0.0.1:{port}"))],
            body: String::new(),
        }
    }

    /// A GET.
    #[must_use]
    pub fn get(port: u16, path: &str) -> Self {
        Self::new(port, "GET", path)
    }

    /// A POST of a JSON document.
    #[must_use]
    pub fn post(port: u16, path: &str, body: &Value) -> Self {
        let mut request = Self::new(port, "POST", path)
            .with("Origin", &format!("http://127.0.0.1:{port}"))
            .with("Content-Type", "application/json");
        request.body = body.to_string();
        request
    }

    /// Sets a header, in the place of one of that name.
    #[must_use]
    pub fn with(self, name: &str, value: &str) -> Self {
        self.without(name).and(name, value)
    }

    /// Adds a header, beside one of that name.
    #[must_use]
    pub fn and(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Leaves a header out.
    #[must_use]
    pub fn without(mut self, name: &str) -> Self {
        self.headers
            .retain(|(other, _)| !other.eq_ignore_ascii_case(name));
        self
    }

    /// Makes it the upgrade of a browser to a WebSocket, with that ticket or none.
    #[must_use]
    pub fn upgrade(port: u16, ticket: Option<&str>) -> Self {
        let protocols = match ticket {
            Some(ticket) => format!("shard.v0, ticket.{ticket}"),
            None => "shard.v0".to_owned(),
        };
        Self::get(port, "/ws")
            .with("Origin", &format!("http://127.0.0.1:{port}"))
            .with("Connection", "Upgrade")
            .with("Upgrade", "websocket")
            .with("Sec-WebSocket-Version", "13")
            .with("Sec-WebSocket-Key", "c2hhcmQtdGVzdC1rZXktMQ==")
            .with("Sec-WebSocket-Protocol", &protocols)
    }

    /// Sends it over a connection of its own, and reads the answer. Fails the test after 20 s.
    pub async fn send(self) -> HttpResponse {
        let what = format!("{} {}", self.method, self.path);
        match tokio::time::timeout(DEADLINE, self.exchange()).await {
            Ok(Ok(response)) => response,
            Ok(Err(error)) => panic!("{what}: {error}"),
            Err(_) => panic!("{what}: no answer within {DEADLINE:?}"),
        }
    }

    async fn exchange(self) -> std::io::Result<HttpResponse> {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).await?;
        let mut head = format!("{} {} HTTP/1.1\r\n", self.method, self.path);
        let mut headers = self.headers;
        if !headers.iter().any(|(name, _)| name == "Connection") {
            headers.push(("Connection".to_owned(), "close".to_owned()));
        }
        if !self.body.is_empty() {
            headers.push(("Content-Length".to_owned(), self.body.len().to_string()));
        }
        for (name, value) in headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        head.push_str("\r\n");
        stream.write_all(head.as_bytes()).await?;
        stream.write_all(self.body.as_bytes()).await?;
        let mut bytes = Vec::new();
        let mut piece = [0; 8192];
        loop {
            let length = stream.read(&mut piece).await?;
            bytes.extend_from_slice(&piece[..length]);
            let text = String::from_utf8_lossy(&bytes);
            if length == 0 || is_whole(&text) {
                return parse(&text);
            }
        }
    }
}

/// Whether an answer is over although the connection is not: by its length, or by an upgrade.
fn is_whole(text: &str) -> bool {
    parse(text).is_ok_and(|response| {
        let length = response.header("content-length");
        let length = length.and_then(|length| length.parse::<usize>().ok());
        response.status == 101 || length.is_some_and(|length| response.body.len() >= length)
    })
}

fn parse(text: &str) -> std::io::Result<HttpResponse> {
    let bad = || std::io::Error::other(format!("no HTTP answer: {text:?}"));
    let (head, body) = text.split_once("\r\n\r\n").ok_or_else(bad)?;
    let mut lines = head.split("\r\n");
    let status = lines.next().and_then(|line| line.split(' ').nth(1));
    let headers = lines.filter_map(|line| line.split_once(':'));
    Ok(HttpResponse {
        status: status.and_then(|it| it.parse().ok()).ok_or_else(bad)?,
        headers: headers
            .map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned()))
            .collect(),
        body: body.to_owned(),
    })
}

impl HttpResponse {
    /// The first header of that name, which is given in lower case.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(key, _)| key == name);
        found.map(|(_, value)| value.as_str())
    }

    /// The body as JSON; null when it is none.
    #[must_use]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_default()
    }
}
