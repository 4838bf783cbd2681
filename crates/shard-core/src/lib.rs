//! The agent itself (floor L2): session, turn loop, tools, gate, modes and providers.
//!
//! Start reading at [`agent`]: it owns a conversation. Everything that it can do comes in through
//! [`host`], built-in capabilities included.

pub mod agent;
pub mod boot;
mod bundled;
pub mod bus;
pub mod catalog;
mod context_files;
pub mod direct;
#[cfg(any(test, feature = "fuzzing"))]
pub mod fuzz;
pub mod gate;
mod history;
pub mod host;
mod keys;
pub mod modes;
pub mod paths;
mod prompt;
pub mod provider;
pub mod rule_files;
mod toolbox;
pub mod tools;
mod turn;
