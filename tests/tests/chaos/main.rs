//! What holds whatever happens: the real daemon with many agents and clients, while processes,
//! connections, principals and the disk go away at random; and under load.
//!
//! `SHARD_CHAOS_SEED` repeats the choices of a run, as far as the machine plays along;
//! `SHARD_CHAOS_SECONDS` says how long it goes on.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod acts;
mod connection;
mod heard;
mod load;
mod model;
mod settled;
mod taken;

use std::time::{Duration, Instant};

use serde_json::Value;

use acts::Chaos;

/// How long it goes on unless somebody says otherwise.
const SECONDS: u64 = 20;

/// In the last part of the time the daemon is left alive, so that what it leaks adds up.
const CALM_PART: u32 = 3;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_lost_doubled_or_left_behind_whatever_goes_away() {
    let seconds = std::env::var("SHARD_CHAOS_SECONDS").ok();
    let seconds = seconds.and_then(|it| it.parse().ok()).unwrap_or(SECONDS);
    let time = Duration::from_secs(seconds);
    let mut chaos = Chaos::start().await;
    let began = Instant::now();
    while began.elapsed() < time {
        let calm = began.elapsed() > time / CALM_PART * (CALM_PART - 1);
        chaos.act(calm).await;
    }
    println!("{}", chaos.summary());
    chaos.settle().await;
}

fn word(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}
