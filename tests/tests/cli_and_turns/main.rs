//! What a client and a command line see of the agent: failing servers, words in the middle of a
//! turn, questions, models and modes, and the commands beside it.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod abort;
mod asks;
mod models;
mod modes;
mod provider_failures;
mod recall;
mod responses;
mod rounds;
mod shard_run;
mod steering;

use serde_json::Value;
use shard_testkit::Turn;

/// The key of the configured provider; no output may ever show it.
const SECRET: &str = "sk-mock-3f9a-never-shown";

/// Code and message of each error event.
fn errors(turn: &Turn) -> Vec<(&str, &str)> {
    let errors = turn.of("error").into_iter();
    errors
        .map(|e| (word(&e["code"]), word(&e["message"])))
        .collect()
}

fn word(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// The text blocks of a message, joined.
fn said(message: &Value) -> String {
    let blocks = message["content"].as_array().into_iter().flatten();
    blocks.map(|block| word(&block["text"])).collect()
}

/// What the deltas of one message say in its text blocks.
fn streamed(turn: &Turn) -> String {
    let deltas = turn.of("message_delta").into_iter();
    deltas
        .filter(|delta| delta["kind"] == "text")
        .map(|delta| word(&delta["text_delta"]))
        .collect()
}
