//! As much HTTP/1.1 as the scripted model needs: requests in, answers out, the connection kept
//! alive, and a grip on the TCP stream itself.

use std::io;
use std::time::Instant;

use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::request::Request;

/// One connection of a client.
pub(super) struct Connection {
    stream: TcpStream,
    /// Bytes that came and belong to no request yet.
    buffer: Vec<u8>,
}

impl Connection {
    pub(super) fn new(stream: TcpStream) -> Self {
        // Without it, small events would wait for each other.
        let _best_effort = stream.set_nodelay(true);
        Self {
            stream,
            buffer: Vec::new(),
        }
    }

    /// Reads the next request; none when the client closed the connection between requests.
    pub(super) async fn next_request(&mut self) -> io::Result<Option<Request>> {
        let Some(head) = self.head().await? else {
            return Ok(None);
        };
        let mut lines = head.split("\r\n");
        let mut words = lines.next().unwrap_or_default().split(' ');
        let (method, path) = match (words.next(), words.next()) {
            (Some(method), Some(path)) => (method.to_owned(), path.to_owned()),
            _ => return Err(malformed("a request line")),
        };
        let headers: Vec<(String, String)> = lines
            .filter_map(|line| line.split_once(':'))
            .map(|(name, value)| (name.trim().to_ascii_lowercase(), value.trim().to_owned()))
            .collect();
        let bytes = self.body(&headers).await?;
        let arrived = Instant::now();
        Ok(Some(Request {
            method,
            path,
            headers,
            body: parse(&bytes),
            arrived,
        }))
    }

    async fn head(&mut self) -> io::Result<Option<String>> {
        loop {
            if let Some(end) = find(&self.buffer, b"\r\n\r\n") {
                let head = self.take(end + 4);
                return Ok(Some(String::from_utf8_lossy(&head[..end]).into_owned()));
            }
            if self.stream.read_buf(&mut self.buffer).await? == 0 {
                return match self.buffer.is_empty() {
                    true => Ok(None),
                    false => Err(io::ErrorKind::UnexpectedEof.into()),
                };
            }
        }
    }

    async fn body(&mut self, headers: &[(String, String)]) -> io::Result<Vec<u8>> {
        let header = |name| headers.iter().find(|(key, _)| key == name).map(|h| &*h.1);
        if header("expect").is_some_and(|value| value.eq_ignore_ascii_case("100-continue")) {
            self.write(b"HTTP/1.1 100 Continue\r\n\r\n").await?;
        }
        if let Some(length) = header("content-length") {
            let length = length.parse().map_err(|_| malformed("content-length"))?;
            return self.exactly(length).await;
        }
        if !header("transfer-encoding").is_some_and(|value| value.contains("chunked")) {
            return Ok(Vec::new());
        }
        let mut whole = Vec::new();
        loop {
            let line = self.line().await?;
            let size = line.split(';').next().unwrap_or_default().trim();
            let size = usize::from_str_radix(size, 16).map_err(|_| malformed("chunk size"))?;
            whole.extend(self.exactly(size).await?);
            self.line().await?;
            if size == 0 {
                return Ok(whole);
            }
        }
    }

    async fn line(&mut self) -> io::Result<String> {
        loop {
            if let Some(end) = find(&self.buffer, b"\r\n") {
                let line = self.take(end + 2);
                return Ok(String::from_utf8_lossy(&line[..end]).into_owned());
            }
            self.more().await?;
        }
    }

    async fn exactly(&mut self, length: usize) -> io::Result<Vec<u8>> {
        while self.buffer.len() < length {
            self.more().await?;
        }
        Ok(self.take(length))
    }

    async fn more(&mut self) -> io::Result<()> {
        match self.stream.read_buf(&mut self.buffer).await? {
            0 => Err(io::ErrorKind::UnexpectedEof.into()),
            _ => Ok(()),
        }
    }

    fn take(&mut self, length: usize) -> Vec<u8> {
        let rest = self.buffer.split_off(length);
        std::mem::replace(&mut self.buffer, rest)
    }

    /// Answers with a whole body.
    pub(super) async fn respond(
        &mut self,
        status: u16,
        retry_after: Option<&str>,
        body: &Value,
    ) -> io::Result<()> {
        let body = body.to_string();
        let retry = retry_after.map(|value| format!("retry-after: {value}\r\n"));
        let answer = format!(
            "HTTP/1.1 {status} {}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n{}\r\n{body}",
            phrase(status),
            body.len(),
            retry.unwrap_or_default(),
        );
        self.write(answer.as_bytes()).await
    }

    /// Sends the head of a streamed answer.
    pub(super) async fn begin(&mut self) -> io::Result<()> {
        let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\
                    cache-control: no-cache\r\ntransfer-encoding: chunked\r\n\r\n";
        self.write(head.as_bytes()).await
    }

    /// Sends a piece of a streamed answer, as one HTTP chunk in one write.
    pub(super) async fn chunk(&mut self, bytes: &[u8]) -> io::Result<()> {
        if bytes.is_empty() {
            return Ok(()); // an empty chunk would end the body
        }
        let mut chunk = format!("{:x}\r\n", bytes.len()).into_bytes();
        chunk.extend_from_slice(bytes);
        chunk.extend_from_slice(b"\r\n");
        self.write(&chunk).await
    }

    /// Ends a streamed answer; the connection can take another request.
    pub(super) async fn end(&mut self) -> io::Result<()> {
        self.write(b"0\r\n\r\n").await
    }

    async fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.stream.write_all(bytes).await
    }

    /// Resolves when the client closes or resets the connection. Loses no bytes when dropped.
    pub(super) async fn gone(&mut self) {
        while let Ok(1..) = self.stream.read_buf(&mut self.buffer).await {}
    }

    /// Makes the coming drop a reset of the TCP connection instead of an orderly close.
    pub(super) fn reset_on_drop(&self) {
        let _best_effort = self.stream.set_zero_linger();
    }
}

fn parse(bytes: &[u8]) -> Value {
    if bytes.is_empty() {
        return Value::Null;
    }
    serde_json::from_slice(bytes)
        .unwrap_or_else(|_| Value::String(String::from_utf8_lossy(bytes).into_owned()))
}

fn find(haystack: &[u8], needle: &[u8]) -> Option<usize> {
    haystack.windows(needle.len()).position(|w| w == needle)
}

fn malformed(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("malformed {what}"))
}

fn phrase(status: u16) -> &'static str {
    match status {
        200 => "OK",
        400 => "Bad Request",
        401 => "Unauthorized",
        404 => "Not Found",
        429 => "Too Many Requests",
        500 => "Internal Server Error",
        503 => "Service Unavailable",
        529 => "Overloaded",
        _ => "Scripted",
    }
}
