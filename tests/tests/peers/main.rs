//! Whole turns against model servers that others wrote: llama.cpp with a small real model, and a mock
//! of the vendors' APIs. `cargo xtask test --peers` installs them and runs these tests; nothing else
//! does, as they want the network and minutes.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod aimock;
mod llama;
mod peer;

use serde_json::Value;
use shard_testkit::Turn;

fn word(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// What the deltas of a turn say in blocks of that kind.
fn streamed(turn: &Turn, kind: &str) -> String {
    let deltas = turn.of("message_delta").into_iter();
    deltas
        .filter(|delta| delta["kind"] == kind)
        .map(|delta| word(&delta["text_delta"]))
        .collect()
}

/// The messages of the error events.
fn errors(turn: &Turn) -> Vec<&str> {
    let errors = turn.of("error").into_iter();
    errors.map(|error| word(&error["message"])).collect()
}
