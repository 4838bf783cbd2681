//! The agent itself (floor L2): session, turn loop, tools, gate, modes and providers.
//!
//! Start reading at [`agent`]: it owns a conversation. Everything that it can do comes in through
//! [`host`], built-in capabilities included.

pub mod gate;
pub mod paths;
pub mod provider;
pub mod tools;
