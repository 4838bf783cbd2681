//! Bytes in, records out; messages in, bytes out (floor L4). No policy: what a message means is
//! decided elsewhere.

mod outbox;
pub mod stdio;
pub mod unix;
pub mod websocket;

use std::future::Future;

use shard_protocol::codec::Record;

pub use outbox::{Outbox, OutboxFull};

/// What arrives from one peer, whatever carries it.
pub trait Records: Send {
    /// The next record; `None` once the peer is gone. Cancel safe.
    fn next(&mut self) -> impl Future<Output = Option<Record>> + Send;
}
