//! Opening a session that was compacted, and keeping it open, beside a pass over its lines.

use std::fs::File;
use std::path::Path;
use std::time::Instant;

use anyhow::{Context, Result};
use rustix::fs::{Advice, fadvise};
use shard_session::{SessionFile, load};
use shard_testkit::{Home, ScriptedModel};
use shard_types::{
    ContentBlock, EntryBody, MessageDetails, Role, SessionId, ToolResultContent, ToolResultDetails,
};

use super::{ENTRIES, create, each_line, megabytes, talk, work};
use crate::ROUNDS;
use crate::memory::kept_by;
use crate::samples::Samples;
use crate::table::Table;

/// How many entries the last compaction keeps.
const KEPT: usize = 40;

/// Rows of the session of small ones.
const SMALL: usize = 100_000;

pub(super) fn measure(table: &mut Table) -> Result<()> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("session.jsonl");
    talk::write(&path)?;
    let size = megabytes(&path)?;
    beside(table, &format!("{size:.0} MB"), &path, Cache::Warm)?;
    beside(
        table,
        &format!("{size:.0} MB, not in memory"),
        &path,
        Cache::Cold,
    )?;
    let path = folder.path().join("small.jsonl");
    small(&mut create(&path, folder.path(), SessionId::generate())?)?;
    let size = megabytes(&path)?;
    let name = format!("{size:.0} MB, {SMALL} small rows");
    beside(table, &name, &path, Cache::Warm)?;
    kept(table)
}

/// Whether the system has the file in memory.
#[derive(Clone, Copy)]
enum Cache {
    Warm,
    Cold,
}

impl Cache {
    fn prepare(self, path: &Path) -> Result<()> {
        if let Self::Cold = self {
            let file = File::open(path)?;
            file.sync_all()?;
            fadvise(&file, 0, None, Advice::DontNeed)?;
        }
        Ok(())
    }
}

fn beside(table: &mut Table, name: &str, path: &Path, cache: Cache) -> Result<()> {
    let (mut lines, mut open) = (Samples::default(), Samples::default());
    for _ in 0..ROUNDS {
        cache.prepare(path)?;
        let start = Instant::now();
        each_line(path, |_| Ok(()))?;
        lines.push(start.elapsed());
        cache.prepare(path)?;
        let start = Instant::now();
        load(path)?;
        open.push(start.elapsed());
    }
    table.times(&format!("the lines of a session ({name})"), &lines);
    table
        .times("opening it", &open)
        .aim("lines x2")
        .beside(open.median(), lines.median());
    Ok(())
}

/// Calls of one word with results of one word.
fn small(file: &mut SessionFile) -> Result<()> {
    let mut ids = Vec::with_capacity(SMALL);
    for call in 0..SMALL / 2 {
        let id = format!("call-{call}");
        let asked = ContentBlock::ToolCall {
            id: id.clone(),
            name: "bash".to_owned(),
            args: [("command".to_owned(), "ls".into())].into_iter().collect(),
        };
        let asked = EntryBody::Message(MessageDetails {
            role: Role::Assistant,
            content: vec![asked],
            partial: false,
            usage: None,
        });
        ids.push(file.append(asked)?.id);
        let result = EntryBody::ToolResult(ToolResultDetails {
            tool_call_id: id,
            content: ToolResultContent::text("README.md"),
            is_error: false,
            exit_code: Some(0),
            duration_ms: Some(1),
            render: None,
            images: Vec::new(),
        });
        ids.push(file.append(result)?.id);
    }
    work::compact(file, &ids, KEPT)
}

/// What an agent keeps of a long session beyond what it keeps anyway.
fn kept(table: &mut Table) -> Result<()> {
    let model = ScriptedModel::silent();
    let home = Home::builder().model(&model);
    let home = home.env("SHARD_LOG", "shard=debug").build();
    let id = SessionId::generate();
    let path = home.shard_home().join(format!("sessions/{id}.jsonl"));
    let mut file = create(&path, &home.work(), id.clone())?;
    let ids = work::write(&mut file, ENTRIES)?;
    work::compact(&mut file, &ids, KEPT)?;
    drop(file);
    let size = megabytes(&path)?;
    let bare = kept_by(&home, &[])?.context("an agent does not say what memory it has")?;
    let more = kept_by(&home, &["--session", id.as_str()])?;
    let more = more.context("an agent does not say what memory it has")?;
    let kib = more.saturating_sub(bare) as f64;
    table
        .line(
            &format!("memory of an agent for each MB of a session ({size:.0} MB)"),
            &format!("{:.1} KB", kib * 1.024 / size),
        )
        .note(&format!("+{kib:.0} KiB in all"));
    Ok(())
}
