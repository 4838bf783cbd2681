//! Compaction from outside: recorded sessions with the output of real tools and the summaries that
//! they give, and properties of any session.

#![expect(
    clippy::unwrap_used,
    reason = "in a test a wrong assumption is to panic"
)]

mod extensions;
mod goldens;
mod properties;
mod successive;

use std::path::{Path, PathBuf};

use shard_contracts::{Compactor, ExtractorContext};
use shard_core::compaction::{Blocks, DefaultCompactor, default_extractors};
use shard_types::SessionEntry;

/// The longest a summary may be.
const LONGEST: usize = 24 * 1024;

const COMPACTOR: DefaultCompactor = DefaultCompactor { reserve_ratio: 0.2 };

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/compaction")
}

/// The rows of a recorded session. A row's index is its line.
fn session(name: &str) -> Vec<SessionEntry> {
    let path = folder().join("sessions").join(format!("{name}.jsonl"));
    let text = std::fs::read_to_string(&path).unwrap();
    let rows = text
        .lines()
        .map(|row| SessionEntry::from_json(row).unwrap());
    rows.collect()
}

/// The summary of entries that begin at an index, after a summary.
fn summary(
    entries: &[SessionEntry],
    first_index: u64,
    previous: Option<&str>,
    index: u64,
    cwd: &str,
) -> String {
    let blocks = Blocks::of(entries, first_index);
    let context = ExtractorContext {
        previous_summary: previous,
        compaction_index: index,
        origins: &blocks.origins,
        cwd: Some(Path::new(cwd)),
        ..ExtractorContext::default()
    };
    COMPACTOR
        .summarize(&blocks.blocks, &default_extractors(), &context)
        .unwrap()
}
