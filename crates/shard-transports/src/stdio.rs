//! JSON lines over this process's stdin and stdout.
//!
//! Both ends are driven by a thread of their own with plain blocking calls: that works for pipes,
//! files and terminals alike, and leaves the flags of descriptors that other processes share as
//! they are.

use std::io::{self, Read, Write};
use std::sync::Arc;
use std::thread;

use shard_protocol::codec::{Decoder, Record};
use tokio::sync::mpsc;

use crate::Outbox;

/// Pieces of input that wait to be decoded.
const PIECES: usize = 4;

/// Size of one piece, in bytes.
const PIECE: usize = 64 * 1024;

/// The records that arrive on stdin.
pub struct Records {
    pieces: mpsc::Receiver<Vec<u8>>,
    decoder: Decoder,
    ready: std::vec::IntoIter<Record>,
    ended: bool,
}

/// Starts to read stdin.
///
/// # Errors
/// When no thread can be started.
pub fn records() -> io::Result<Records> {
    let (sender, pieces) = mpsc::channel(PIECES);
    thread::Builder::new()
        .name("stdin".to_owned())
        .spawn(move || {
            let mut stdin = io::stdin().lock();
            let mut buffer = vec![0; PIECE];
            loop {
                match stdin.read(&mut buffer) {
                    Ok(0) => return,
                    Ok(length) => {
                        if sender.blocking_send(buffer[..length].to_vec()).is_err() {
                            return;
                        }
                    }
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                    Err(_) => return, // a peer that cannot be read from is gone
                }
            }
        })?;
    Ok(Records {
        pieces,
        decoder: Decoder::default(),
        ready: Vec::new().into_iter(),
        ended: false,
    })
}

impl Records {
    /// The next record; `None` once stdin is closed. Cancel safe.
    pub async fn next(&mut self) -> Option<Record> {
        loop {
            if let Some(record) = self.ready.next() {
                return Some(record);
            }
            if self.ended {
                return None;
            }
            match self.pieces.recv().await {
                Some(piece) => self.ready = self.decoder.push(&piece).into_iter(),
                None => {
                    self.ended = true;
                    return self.decoder.finish();
                }
            }
        }
    }
}

/// Starts to write what `outbox` holds to `sink`, usually stdout. When it cannot be written any
/// more, the outbox is closed and takes nothing.
///
/// # Errors
/// When no thread can be started.
pub fn write(outbox: Arc<Outbox>, mut sink: impl Write + Send + 'static) -> io::Result<()> {
    thread::Builder::new()
        .name("writer".to_owned())
        .spawn(move || {
            while let Some(batch) = outbox.take() {
                if sink.write_all(&batch).and_then(|()| sink.flush()).is_err() {
                    outbox.give_up();
                    return;
                }
            }
        })?;
    Ok(())
}
