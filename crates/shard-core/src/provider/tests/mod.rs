//! Providers against a server that plays bytes.

mod calls;
pub(super) mod server;
