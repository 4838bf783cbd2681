//! Finding something in a long session, with the index that agents make.

use std::time::Instant;

use anyhow::{Result, ensure};
use shard_session::recall::{Query, Recall, bring_up_to_date};
use shard_types::SessionId;

use super::{ENTRIES, create, megabytes, talk, work};
use crate::ROUNDS;
use crate::samples::Samples;
use crate::table::Table;

/// Looked for in a session of work, each by what is looked for.
const IN_WORK: [(&str, &str); 5] = [
    ("words", "function_16_42 mismatched"),
    ("a path", "src/part_2/file_122.rs:7"),
    ("an expression", r"/fn function_16_\d+/"),
    ("an expression, in any case", r"/file_12\d\.RS:9/i"),
    ("an expression of no word", r"/\d{3}\.rs:1\b/"),
];

/// Looked for among random words.
const IN_TALK: [(&str, &str); 2] = [
    ("words", "word17 src/word4242.rs"),
    ("an expression", r"/word31\d src/"),
];

pub(super) fn measure(table: &mut Table) -> Result<()> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("work.jsonl");
    work::write(
        &mut create(&path, folder.path(), SessionId::generate())?,
        ENTRIES,
    )?;
    search(table, &path, "of work", &IN_WORK)?;
    let path = folder.path().join("talk.jsonl");
    talk::write(&path)?;
    search(table, &path, "of random words", &IN_TALK)
}

fn search(
    table: &mut Table,
    path: &std::path::Path,
    what: &str,
    queries: &[(&str, &str)],
) -> Result<()> {
    bring_up_to_date(path, &|| false)?;
    let size = megabytes(path)?;
    let mut recall = Recall::open(path)?;
    for (kind, text) in queries {
        let query = Query::parse(text)?;
        let mut found = Samples::default();
        let mut total = 0;
        for _ in 0..ROUNDS {
            let start = Instant::now();
            total = recall.search(&query, 0..usize::MAX, 25, &|| false)?.total;
            found.push(start.elapsed());
        }
        ensure!(total > 0, "{text} is not in the session");
        let name = format!("recall in {ENTRIES} entries {what} ({size:.0} MB): {kind}");
        table
            .times(&name, &found)
            .aim("10 ms")
            .note(&format!("{total} hits"));
    }
    Ok(())
}
