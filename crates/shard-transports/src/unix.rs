//! JSON lines over a unix socket.

use shard_protocol::MAX_MESSAGE_BYTES;
use shard_protocol::codec::{Decoder, Record};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::unix::OwnedReadHalf;

use crate::{Outbox, Records};

/// Size of one read, in bytes.
const PIECE: usize = 64 * 1024;

/// The records that arrive on a stream of bytes.
pub struct ByteRecords<R> {
    stream: R,
    decoder: Decoder,
    ready: std::vec::IntoIter<Record>,
    buffer: Vec<u8>,
    ended: bool,
}

/// The records of a unix socket.
pub type UnixRecords = ByteRecords<OwnedReadHalf>;

impl<R: AsyncReadExt + Unpin + Send> ByteRecords<R> {
    /// The records of this stream.
    #[must_use]
    pub fn new(stream: R) -> Self {
        Self::with_limit(stream, MAX_MESSAGE_BYTES)
    }

    /// The records of this stream, of at most so many bytes each.
    #[must_use]
    pub fn with_limit(stream: R, limit: usize) -> Self {
        Self {
            stream,
            decoder: Decoder::with_limit(limit),
            ready: Vec::new().into_iter(),
            buffer: vec![0; PIECE],
            ended: false,
        }
    }

    /// The next records, all that one read brought; empty at the end. Cancel safe.
    pub async fn next_batch(&mut self) -> Vec<Record> {
        let left: Vec<Record> = self.ready.by_ref().collect();
        if !left.is_empty() {
            return left;
        }
        while !self.ended {
            // A stream that breaks has ended: nobody is there to be told.
            let records = match self.stream.read(&mut self.buffer).await {
                Ok(length) if length > 0 => self.decoder.push(&self.buffer[..length]),
                _ => {
                    self.ended = true;
                    self.decoder.finish().into_iter().collect()
                }
            };
            if !records.is_empty() {
                return records;
            }
        }
        Vec::new()
    }
}

impl<R: AsyncReadExt + Unpin + Send> Records for ByteRecords<R> {
    async fn next(&mut self) -> Option<Record> {
        if self.ready.len() == 0 {
            self.ready = self.next_batch().await.into_iter();
        }
        self.ready.next()
    }
}

/// Writes what an outbox holds, each text as it stands, until it ends or the peer is gone; then the
/// outbox takes nothing more.
pub async fn write(outbox: &Outbox, mut sink: impl AsyncWriteExt + Unpin) {
    while let Some(batch) = outbox.batch().await {
        let written = match &*batch {
            [only] => sink.write_all(only).await,
            several => sink.write_all(&several.concat()).await,
        };
        if written.is_err() {
            return outbox.give_up();
        }
    }
    _ = sink.shutdown().await;
}
