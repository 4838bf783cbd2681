//! Model providers: the places where models answer.
//!
//! Owns everything between a [`ProviderRequest`](shard_contracts::ProviderRequest) and a
//! wire: request bodies, connections, event streams and the words of errors. It knows nothing of
//! sessions, tools or turns, and it never retries: one call is one try. [`RetryPolicy`] says how
//! long a caller should wait before the next.
//!
//! Read `settings` for what a provider is told, `call` for the path of one call, then `openai` (chat
//! completions), `responses` or `anthropic` for a wire format. The decoders there are state machines without I/O.
//!
//! Invariant: no key and no configured header value reaches an error text, a debug print or a log.

mod anthropic;
mod blocks;
mod call;
mod catalog;
mod configured;
mod demo;
mod discover;
mod failure;
mod fault;
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) mod fuzz;
mod halves;
mod http;
mod openai;
mod responses;
mod retry;
mod settings;
mod sse;
#[cfg(test)]
mod tests;
mod wire;

pub(crate) use configured::{Surroundings, configured};
pub use discover::{Offer, from_environment, local_servers};
pub use retry::RetryPolicy;
pub use settings::{KeySource, ProviderSettings, build};
