//! Checks of everything but the providers.

use std::collections::BTreeSet;
use std::ops::RangeInclusive;

use super::{Check, is_one_line};
use crate::Config;
use crate::endpoint::is_origin;
use crate::key_path::KeyPath;

/// A year: longer waits are slips, and deadlines that far away still fit the system's clock.
const SECONDS: RangeInclusive<u64> = 1..=31_536_000;
/// Below, an error message would not fit; above, no message could carry the result.
const OUTPUT_BYTES: RangeInclusive<u64> = 1_000..=8_388_608;
const ROUNDS: RangeInclusive<u32> = 1..=100_000;
const TOKENS: RangeInclusive<u64> = 1..=1_000_000_000;
const AGENTS: RangeInclusive<u32> = 1..=1_000;
const GENERATIONS: RangeInclusive<u32> = 0..=100;
/// Below, ordinary messages would cut clients off; above, one client could fill the memory.
const QUEUE_BYTES: RangeInclusive<u64> = 4_096..=1_073_741_824;
const NAME_CHARS: usize = 40;

pub(super) fn check(config: &Config, check: &mut Check<'_>) {
    let Config {
        permissions,
        compaction,
        tools,
        subagents,
        daemon,
        ..
    } = config;
    check.range(
        &["permissions", "ask_timeout_secs"],
        permissions.ask_timeout_secs,
        &SECONDS,
    );
    check.range(
        &["compaction", "keep_recent_tokens"],
        compaction.keep_recent_tokens,
        &TOKENS,
    );
    check.range(
        &["tools", "bash_timeout_secs"],
        tools.bash_timeout_secs,
        &SECONDS,
    );
    check.range(
        &["tools", "max_output_bytes"],
        tools.max_output_bytes,
        &OUTPUT_BYTES,
    );
    check.range(&["tools", "max_rounds"], tools.max_rounds, &ROUNDS);
    check.range(&["subagents", "max_tasks"], subagents.max_tasks, &AGENTS);
    check.range(
        &["subagents", "max_depth"],
        subagents.max_depth,
        &GENERATIONS,
    );
    check.range(
        &["subagents", "max_running"],
        subagents.max_running,
        &AGENTS,
    );
    check.range(
        &["daemon", "idle_timeout_secs"],
        daemon.idle_timeout_secs,
        &SECONDS,
    );
    check.range(
        &["daemon", "client_queue_bytes"],
        daemon.client_queue_bytes,
        &QUEUE_BYTES,
    );
    reserve(config, check);
    sandbox(config, check);
    names(config, check);
    origins(config, check);
}

fn reserve(config: &Config, check: &mut Check<'_>) {
    let ratio = config.compaction.reserve_ratio;
    if !(ratio > 0.0 && ratio < 1.0) {
        let path = KeyPath::new(&["compaction", "reserve_ratio"]);
        check.error(&path, "expected a number between 0 and 1");
    }
}

fn sandbox(config: &Config, check: &mut Check<'_>) {
    let path = KeyPath::new(&["sandbox", "write"]);
    for (index, folder) in config.sandbox.write.iter().enumerate() {
        check.anchored(&path.index(index), folder);
    }
}

fn names(config: &Config, check: &mut Check<'_>) {
    let path = KeyPath::new(&["subagents", "names"]);
    let mut seen = BTreeSet::new();
    if config.subagents.names.is_empty() {
        check.error(&path, "expected at least one name");
    }
    for (index, name) in config.subagents.names.iter().enumerate() {
        if !is_one_line(name) || name.chars().count() > NAME_CHARS {
            check.error(
                &path.index(index),
                format!("expected 1 to {NAME_CHARS} characters on one line"),
            );
        } else if !seen.insert(name.to_lowercase()) {
            check.error(
                &path.index(index),
                "expected names that differ; this one stands here twice",
            );
        }
    }
}

fn origins(config: &Config, check: &mut Check<'_>) {
    let path = KeyPath::new(&["daemon", "allowed_origins"]);
    for (index, origin) in config.daemon.allowed_origins.iter().enumerate() {
        if !is_origin(origin) {
            let message =
                "expected an origin in lower case such as https://shard.example, without a path";
            check.error(&path.index(index), message);
        }
    }
}
