//! What a long session costs: to open it, to make it short, to find something in it, and to keep
//! it.

mod compaction;
mod opening;
mod recall;
mod talk;
mod work;

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

use anyhow::Result;
use shard_session::{Header, SessionFile};
use shard_types::SessionId;

use crate::table::Table;

/// Messages and results of the longest session.
const ENTRIES: usize = 20_000;

pub(crate) fn measure(table: &mut Table) -> Result<()> {
    compaction::measure(table)?;
    opening::measure(table)?;
    recall::measure(table)
}

/// Starts a session of this id below a folder.
fn create(path: &Path, cwd: &Path, id: SessionId) -> Result<SessionFile> {
    let header = Header {
        session_id: id,
        cwd: cwd.display().to_string(),
        created_at: 1,
    };
    Ok(SessionFile::create(path, &header)?)
}

/// Calls `each` with every line of a file: the least that reading a session can cost.
fn each_line(path: &Path, mut each: impl FnMut(&[u8]) -> Result<()>) -> Result<()> {
    let mut reader = BufReader::with_capacity(1 << 16, File::open(path)?);
    let mut line = Vec::new();
    while reader.read_until(b'\n', &mut line)? > 0 {
        each(&line)?;
        line.clear();
    }
    Ok(())
}

/// Of a file, in millions of bytes.
fn megabytes(path: &Path) -> Result<f64> {
    let bytes = u32::try_from(std::fs::metadata(path)?.len())?;
    Ok(f64::from(bytes) / 1e6)
}
