//! How messages get to and from a daemon.

use futures_util::stream::{SplitSink, SplitStream};
use futures_util::{SinkExt, StreamExt};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::sync::watch;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;

use crate::messages::Messages;

/// The writing side of a connection.
#[derive(Debug)]
pub(super) enum Sink {
    Unix(OwnedWriteHalf),
    WebSocket(SplitSink<WebSocketStream<TcpStream>, Message>),
}

impl Sink {
    pub(super) async fn text(&mut self, text: &str) -> Result<(), String> {
        match self {
            Self::Unix(stream) => {
                let line = format!("{text}\n");
                let written = stream.write_all(line.as_bytes()).await;
                written.map_err(|error| error.to_string())
            }
            Self::WebSocket(socket) => {
                let sent = socket.send(Message::text(text)).await;
                sent.map_err(|error| error.to_string())
            }
        }
    }

    pub(super) async fn bytes(&mut self, bytes: &[u8]) -> Result<(), String> {
        match self {
            Self::Unix(stream) => {
                let written = stream.write_all(bytes).await;
                written.map_err(|error| error.to_string())
            }
            Self::WebSocket(socket) => {
                let sent = socket.send(Message::binary(bytes.to_vec())).await;
                sent.map_err(|error| error.to_string())
            }
        }
    }
}

/// Waits while the test does not want to read; false once there is no test any more.
async fn wanted(reading: &mut watch::Receiver<bool>) -> bool {
    reading.wait_for(|reading| *reading).await.is_ok()
}

/// Takes lines apart at line feeds only: other line separators are part of a message.
pub(super) async fn read_lines(
    stream: OwnedReadHalf,
    messages: &Messages,
    mut reading: watch::Receiver<bool>,
) {
    let mut stream = BufReader::new(stream);
    let mut line = Vec::new();
    while wanted(&mut reading).await {
        match stream.read_until(b'\n', &mut line).await {
            Ok(1..) if line.ends_with(b"\n") => messages.push_line(&line[..line.len() - 1]),
            // What was cut off in the middle is no fault of what came before.
            _ => return,
        }
        line.clear();
    }
}

/// Takes messages as frames; one that holds a line break is kept like any other.
pub(super) async fn read_frames(
    mut stream: SplitStream<WebSocketStream<TcpStream>>,
    messages: &Messages,
    mut reading: watch::Receiver<bool>,
    close_code: &watch::Sender<Option<u16>>,
) {
    while wanted(&mut reading).await {
        match stream.next().await {
            Some(Ok(Message::Text(text))) => messages.push_line(text.as_bytes()),
            Some(Ok(Message::Close(frame))) => {
                close_code.send_replace(frame.map(|frame| frame.code.into()));
            }
            Some(Ok(_)) => {}
            Some(Err(_)) | None => return,
        }
    }
}
