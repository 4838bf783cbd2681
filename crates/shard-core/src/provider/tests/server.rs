//! A server on loopback that reads requests and plays prepared answers, one after the other.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;

/// What happens after the bytes of an answer.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum After {
    /// The connection stays open for the next request.
    Keep,
    /// The connection is reset.
    Cut,
    /// Nothing, until the peer goes.
    Hang,
}

/// One prepared answer.
#[derive(Clone)]
pub(crate) struct Answer {
    bytes: Vec<u8>,
    after: After,
}

impl Answer {
    pub(crate) fn raw(text: impl Into<Vec<u8>>, after: After) -> Self {
        Self {
            bytes: text.into(),
            after,
        }
    }

    pub(crate) fn json(status: u16, body: &str) -> Self {
        Self::with(status, "content-type: application/json\r\n", body)
    }

    pub(crate) fn with(status: u16, headers: &str, body: &str) -> Self {
        let length = body.len();
        let text =
            format!("HTTP/1.1 {status} X\r\n{headers}content-length: {length}\r\n\r\n{body}");
        Self::raw(text, After::Keep)
    }

    /// A stream of events, whole or with only the events that came before `after`.
    pub(crate) fn events(events: &[&str], after: After) -> Self {
        let mut text = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\
                        transfer-encoding: chunked\r\n\r\n"
            .to_owned();
        for event in events {
            let data = format!("data: {event}\n\n");
            text += &format!("{:x}\r\n{data}\r\n", data.len());
        }
        if after == After::Keep {
            text += "0\r\n\r\n";
        }
        Self::raw(text, after)
    }
}

/// What the connections share.
#[derive(Default)]
struct Play {
    answers: Mutex<VecDeque<Answer>>,
    requests: Mutex<Vec<String>>,
    connections: AtomicUsize,
    hung_up: Notify,
}

/// The running server; it ends with the test's runtime.
pub(crate) struct Server {
    port: u16,
    play: Arc<Play>,
}

impl Server {
    pub(crate) async fn start(answers: Vec<Answer>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let port = listener.local_addr().expect("an address").port();
        let play = Arc::new(Play {
            answers: Mutex::new(answers.into()),
            ..Play::default()
        });
        let server = Self {
            port,
            play: Arc::clone(&play),
        };
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                play.connections.fetch_add(1, Ordering::Relaxed);
                tokio::spawn(serve(stream, Arc::clone(&play)));
            }
        });
        server
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    pub(crate) fn base(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.port)
    }

    /// Whole requests, head and body.
    pub(crate) fn requests(&self) -> Vec<String> {
        self.play.requests.lock().expect("requests").clone()
    }

    pub(crate) fn connections(&self) -> usize {
        self.play.connections.load(Ordering::Relaxed)
    }

    /// Waits until a peer left a hanging answer.
    pub(crate) async fn until_hung_up(&self) {
        let left = self.play.hung_up.notified();
        let left = tokio::time::timeout(Duration::from_secs(5), left).await;
        left.expect("the peer hangs up");
    }
}

async fn serve(mut stream: TcpStream, play: Arc<Play>) {
    while let Some(request) = read_request(&mut stream).await {
        play.requests.lock().expect("requests").push(request);
        let answer = play.answers.lock().expect("answers").pop_front();
        let Some(answer) = answer else { return };
        if stream.write_all(&answer.bytes).await.is_err() {
            return;
        }
        match answer.after {
            After::Keep => {}
            After::Cut => return,
            After::Hang => {
                // Ends when the peer goes: nothing else is expected of it.
                let _ = stream.read(&mut [0; 64]).await;
                play.hung_up.notify_one();
                return;
            }
        }
    }
}

async fn read_request(stream: &mut TcpStream) -> Option<String> {
    let mut text = Vec::new();
    loop {
        let mut piece = [0; 4096];
        match stream.read(&mut piece).await {
            Ok(0) | Err(_) => return None,
            Ok(count) => text.extend_from_slice(&piece[..count]),
        }
        let whole = String::from_utf8_lossy(&text);
        let Some((head, body)) = whole.split_once("\r\n\r\n") else {
            continue;
        };
        let length = head.lines().find_map(|line| {
            let (name, value) = line.split_once(':')?;
            name.eq_ignore_ascii_case("content-length")
                .then(|| value.trim().parse::<usize>().ok())?
        });
        if body.len() >= length.unwrap_or(0) {
            return Some(whole.into_owned());
        }
    }
}
