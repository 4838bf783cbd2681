//! Loading a session and summing it up, beside one pass of JSON over the same file.

use std::hint::black_box;
use std::path::Path;
use std::time::Instant;

use anyhow::{Context, Result};
use serde_json::Value;
use shard_contracts::{Compactor, ExtractorContext};
use shard_core::compaction::{Blocks, DefaultCompactor, cut, default_extractors};
use shard_session::load;
use shard_types::{EntryBody, SessionEntry, SessionId};

use super::{create, each_line, megabytes, work};
use crate::ROUNDS;
use crate::samples::Samples;
use crate::table::Table;

/// How many messages and results the sessions have.
const SIZES: [usize; 3] = [1000, 5000, super::ENTRIES];

/// How many of the newest tokens are kept, as agents do by default.
const KEEP: u64 = 20_000;

pub(super) fn measure(table: &mut Table) -> Result<()> {
    for entries in SIZES {
        let folder = tempfile::tempdir()?;
        let path = folder.path().join("session.jsonl");
        work::write(
            &mut create(&path, folder.path(), SessionId::generate())?,
            entries,
        )?;
        let (mut json, mut whole) = (Samples::default(), Samples::default());
        for _ in 0..ROUNDS {
            let start = Instant::now();
            each_line(&path, |line| {
                black_box(serde_json::from_slice::<Value>(line)?);
                Ok(())
            })?;
            json.push(start.elapsed());
            let start = Instant::now();
            black_box(load_and_compact(&path)?);
            whole.push(start.elapsed());
        }
        let size = megabytes(&path)?;
        table.times(
            &format!("one pass of JSON over {entries} messages ({size:.1} MB)"),
            &json,
        );
        table
            .times("loading and compacting them", &whole)
            .aim("JSON x2")
            .beside(whole.median(), json.median());
    }
    Ok(())
}

fn load_and_compact(path: &Path) -> Result<String> {
    let loaded = load(path)?;
    let said = loaded.entries.into_iter();
    let is_said = |entry: &SessionEntry| {
        matches!(entry.body, EntryBody::Message(_) | EntryBody::ToolResult(_))
    };
    let said: Vec<_> = said.filter(is_said).collect();
    let cut = cut(&said, KEEP).context("there is no place to cut")?;
    let blocks = Blocks::of(&said[..cut], 0);
    let context = ExtractorContext {
        origins: &blocks.origins,
        cwd: path.parent(),
        ..ExtractorContext::default()
    };
    let compactor = DefaultCompactor { reserve_ratio: 0.2 };
    let summary = compactor.summarize(&blocks.blocks, &default_extractors(), &context);
    Ok(summary?)
}
