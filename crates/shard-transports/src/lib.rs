//! Bytes in, records out; messages in, bytes out (floor L4). No policy: what a message means is
//! decided elsewhere.

mod outbox;
pub mod stdio;

pub use outbox::{Outbox, OutboxFull};
