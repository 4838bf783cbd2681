//! The agent itself (floor L2): session, turn loop, tools, gate, modes and providers.
//!
//! Start reading at [`agent`]: it owns a conversation. Everything that it can do comes in through
//! [`host`], built-in capabilities included.

mod activations;
pub mod agent;
pub mod boot;
mod bundled;
pub mod bus;
pub mod catalog;
pub mod compaction;
pub mod direct;
#[cfg(any(test, feature = "fuzzing"))]
pub mod fuzz;
pub mod gate;
mod history;
pub mod host;
mod keys;
pub mod knowledge;
pub mod modes;
mod own_folders;
pub mod paths;
pub mod picture;
mod prompt;
pub mod provider;
pub mod reload;
mod toolbox;
pub mod tools;
mod turn;
