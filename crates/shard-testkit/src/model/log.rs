//! What the scripted model has seen. It lives in a watch channel, so that tests can wait on it.

use std::time::Instant;

use super::request::Request;

/// Everything that came, in order.
#[derive(Debug, Default)]
pub(super) struct Log {
    pub(super) chats: Vec<Exchange>,
    pub(super) others: Vec<Request>,
    pub(super) violations: Vec<String>,
    pub(super) signed: Vec<Signed>,
    pub(super) connections: usize,
}

/// A chat request, and how its answer went.
#[derive(Debug)]
pub(super) struct Exchange {
    pub(super) request: Request,
    /// How and when the answer ended.
    pub(super) end: Option<(End, Instant)>,
}

/// How an answer ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    /// As scripted.
    Played,
    /// The client went away first.
    ClientGone,
}

/// A thinking block that the model signed.
#[derive(Debug, Clone)]
pub(super) struct Signed {
    pub(super) signature: String,
    pub(super) model: String,
    pub(super) text: String,
}
