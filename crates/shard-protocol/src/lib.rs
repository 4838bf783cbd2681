//! Every message of Shard's protocol, the envelope around it, and the framing (floor L1).
//!
//! `docs/PROTOCOL.md` explains the messages to people; the Rust types here are the one source of
//! their JSON Schemas and of their validation. Bodies of events of one agent live in
//! [`shard_types::event`]. A message is read in two steps: [`Header::read`] takes the few fields
//! that route it, then the family that knows its `type` reads the body from the same text.

mod agent_command;
mod agent_data;
pub mod codec;
mod daemon_command;
mod daemon_data;
mod daemon_event;
mod envelope;
#[cfg(any(test, feature = "fuzzing"))]
pub mod fuzz;
mod operator;
mod private;
mod response;
pub mod schema;
mod server_message;
mod subagent;
mod workspace;

pub use agent_command::*;
pub use agent_data::*;
pub use daemon_command::*;
pub use daemon_data::*;
pub use daemon_event::*;
pub use envelope::{BadMessage, Header, with_agent_id};
pub use operator::*;
pub use private::*;
pub use response::{ErrorBody, Response};
pub use server_message::ServerMessage;
pub use shard_types::wire_support::BadBody;
pub use subagent::*;
pub use workspace::*;

/// Version of the protocol. Programs of different majors do not talk to each other.
pub const PROTOCOL_VERSION: &str = "0.1.0";

/// Largest message that is taken in, in bytes, on every transport.
pub const MAX_MESSAGE_BYTES: usize = 16 * 1024 * 1024;
