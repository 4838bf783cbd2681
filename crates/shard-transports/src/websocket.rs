//! One JSON message a text frame.

use std::time::Duration;

use axum::extract::ws::{CloseFrame, Message, Utf8Bytes, WebSocket};
use bytes::Bytes;
use futures_util::stream::{SplitSink, SplitStream};
use futures_util::{SinkExt, StreamExt};
use shard_protocol::MAX_MESSAGE_BYTES;
use shard_protocol::codec::Record;
use tokio::sync::watch;
use tokio::time::{Instant, interval_at, timeout};

use crate::{Outbox, Records};

/// How often a peer is asked to show that it is there.
const PING_EVERY: Duration = Duration::from_secs(30);

/// How long a peer may take to take one batch. One that takes none of it is gone, or as good as.
const WRITE: Duration = Duration::from_secs(30);

/// Close code of a peer that reads too slowly.
const SLOW_CLIENT: u16 = 4008;

/// Close code of an ordinary end.
const NORMAL: u16 = 1000;

/// Largest part of an oversized message that is kept for finding its `id`, in bytes.
const KEPT_OF_OVERSIZED: usize = 4096;

/// The messages of a WebSocket.
pub struct WsRecords {
    stream: SplitStream<WebSocket>,
    heard: watch::Sender<Heard>,
}

/// When something was last heard; `None` while nobody listens, because the message before is still
/// being dealt with: a peer is not to blame for that.
type Heard = Option<Instant>;

/// Where messages for a WebSocket go.
pub struct WsSink {
    sink: SplitSink<WebSocket, Message>,
    heard: watch::Receiver<Heard>,
}

/// Splits a socket into its two directions.
#[must_use]
pub fn split(socket: WebSocket) -> (WsRecords, WsSink) {
    let (sink, stream) = socket.split();
    let (sender, heard) = watch::channel(None);
    (
        WsRecords {
            stream,
            heard: sender,
        },
        WsSink { sink, heard },
    )
}

impl Records for WsRecords {
    async fn next(&mut self) -> Option<Record> {
        let record = loop {
            self.heard.send_replace(Some(Instant::now()));
            let message = match self.stream.next().await? {
                Ok(message) => message,
                // Its beginning was not kept, so that there is no telling which command it was.
                Err(error) => return is_too_large(error).then(|| Record::TooLong(Vec::new())),
            };
            match message {
                Message::Text(text) if text.len() > MAX_MESSAGE_BYTES => {
                    let head = &text.as_bytes()[..KEPT_OF_OVERSIZED];
                    break Record::TooLong(head.to_vec());
                }
                Message::Text(text) => break Record::Line(text.as_str().to_owned()),
                Message::Binary(_) => break Record::NotUtf8,
                Message::Close(_) => return None,
                Message::Ping(_) | Message::Pong(_) => {} // the socket answers by itself
            }
        };
        self.heard.send_replace(None);
        Some(record)
    }
}

/// Whether a message was larger than what is read of any.
fn is_too_large(error: axum::Error) -> bool {
    let error = error.into_inner().downcast::<tungstenite::Error>();
    matches!(error.as_deref(), Ok(tungstenite::Error::Capacity(_)))
}

impl WsSink {
    /// Sends what an outbox holds, one frame a text, until it ends or the peer is gone; then the
    /// outbox takes nothing more. A peer that has not answered a ping when the next one is due counts
    /// as gone.
    pub async fn write(mut self, outbox: &Outbox) {
        let mut pings = interval_at(Instant::now() + PING_EVERY, PING_EVERY);
        let mut last_ping = None;
        loop {
            let sent = tokio::select! {
                batch = outbox.batch() => match batch {
                    Some(batch) => self.send(batch).await,
                    None => break,
                },
                _ = pings.tick() => {
                    let heard = *self.heard.borrow();
                    if heard.zip(last_ping).is_some_and(|(heard, ping)| heard < ping) {
                        outbox.give_up();
                        return;
                    }
                    last_ping = Some(Instant::now());
                    self.send_one(Message::Ping(Bytes::new())).await
                }
            };
            if sent.is_none() {
                outbox.give_up();
                return;
            }
        }
        let (code, reason) = if outbox.is_overrun() {
            (SLOW_CLIENT, "slow client")
        } else {
            (NORMAL, "")
        };
        let reason = Utf8Bytes::from_static(reason);
        let close = Message::Close(Some(CloseFrame { code, reason }));
        _ = self.send_one(close).await;
    }

    async fn send(&mut self, batch: Vec<Bytes>) -> Option<()> {
        let feed = async {
            for text in batch {
                // Lines carry their ending, which a frame does without.
                let end = text.len() - usize::from(text.ends_with(b"\n"));
                let text = Utf8Bytes::try_from(text.slice(..end)).ok()?;
                self.sink.feed(Message::Text(text)).await.ok()?;
            }
            self.sink.flush().await.ok()
        };
        timeout(WRITE, feed).await.ok().flatten()
    }

    async fn send_one(&mut self, message: Message) -> Option<()> {
        timeout(WRITE, self.sink.send(message)).await.ok()?.ok()
    }
}
