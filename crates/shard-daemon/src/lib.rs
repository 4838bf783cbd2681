//! The daemon: supervises one agent process for each Agent, and lets any number of clients talk to
//! them (floor L4).
//!
//! Identity is durable, processes are replaceable: an Agent is a manifest and a session on disk,
//! and a Runtime is whichever process serves it just now. Nothing here runs a model, a tool or a
//! permission rule; that is what the process does.

pub mod http;
mod manifest;
pub mod security;
mod state_file;

pub use manifest::{MadeBy, Managed, Manifest, ManifestError};
