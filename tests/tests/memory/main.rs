//! A session that outlives its window: compacted again and again, searched, forked, killed.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod forks;
mod kills;
mod long_session;
mod windows;

use serde_json::Value;
use shard_testkit::Request;

fn word(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// About how many tokens a request has.
fn size(request: &Request) -> u64 {
    request.body.to_string().len() as u64 / 4
}
