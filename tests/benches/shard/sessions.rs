//! What a long session costs: to open it, and to find something in it.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::time::Instant;

use anyhow::Result;
use shard_session::recall::{Query, Recall, bring_up_to_date};
use shard_session::{Header, SessionFile, load};
use shard_types::{
    CompactionDetails, ContentBlock, EntryBody, EntryId, MessageDetails, Role, SessionId,
    ToolResultContent, ToolResultDetails,
};

use crate::ROUNDS;
use crate::samples::Samples;
use crate::table::Table;

/// How many messages and results the session has.
const ENTRIES: usize = 20_000;

/// Words of one entry, and how many different ones there are.
const WORDS: usize = 220;
const VOCABULARY: u64 = 50_000;

/// How many entries the last compaction keeps.
const KEPT: usize = 40;

pub(crate) fn measure(table: &mut Table) -> Result<()> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("session.jsonl");
    write(&path)?;
    let megabytes = std::fs::metadata(&path)?.len() / 1_000_000;
    let (mut lines, mut open) = (Samples::default(), Samples::default());
    for _ in 0..ROUNDS {
        let start = Instant::now();
        read_lines(&path)?;
        lines.push(start.elapsed());
        let start = Instant::now();
        load(&path)?;
        open.push(start.elapsed());
    }
    table.times(&format!("the lines of a session ({megabytes} MB)"), &lines);
    table
        .times("opening it", &open)
        .aim("lines x2")
        .beside(open.median(), lines.median());
    bring_up_to_date(&path, &|| false)?;
    let mut recall = Recall::open(&path)?;
    let query = Query::parse("word17 src/word4242.rs")?;
    let mut found = Samples::default();
    for _ in 0..ROUNDS {
        let start = Instant::now();
        recall.search(&query, 0..usize::MAX, 25, &|| false)?;
        found.push(start.elapsed());
    }
    table.times("recall: words", &found).aim("10 ms");
    Ok(())
}

fn read_lines(path: &Path) -> Result<()> {
    let mut reader = BufReader::with_capacity(1 << 16, File::open(path)?);
    let mut line = Vec::new();
    while reader.read_until(b'\n', &mut line)? > 0 {
        line.clear();
    }
    Ok(())
}

/// Writes a session of questions and results that ends with a compaction.
fn write(path: &Path) -> Result<()> {
    let header = Header {
        session_id: SessionId::generate(),
        cwd: "/w".to_owned(),
        created_at: 1,
    };
    let mut file = SessionFile::create(path, &header)?;
    let mut words = Words(1);
    let mut ids: Vec<EntryId> = Vec::with_capacity(ENTRIES);
    while ids.len() < ENTRIES {
        let call = format!("call-{}", ids.len());
        let asked = ContentBlock::ToolCall {
            id: call.clone(),
            name: "bash".to_owned(),
            args: [("command".to_owned(), words.text(WORDS).into())]
                .into_iter()
                .collect(),
        };
        let asked = EntryBody::Message(MessageDetails {
            role: Role::Assistant,
            content: vec![asked],
            partial: false,
            usage: None,
        });
        let result = EntryBody::ToolResult(ToolResultDetails {
            tool_call_id: call,
            content: ToolResultContent::text(words.text(WORDS)),
            is_error: false,
            exit_code: Some(0),
            duration_ms: Some(1),
            render: None,
            images: Vec::new(),
        });
        ids.push(file.append(asked)?.id);
        ids.push(file.append(result)?.id);
    }
    let kept = ids.len() - KEPT;
    file.append(EntryBody::Compaction(CompactionDetails {
        summary: "what was done".to_owned(),
        message_range: (ids[0].clone(), ids[kept - 1].clone()),
        first_kept_entry_id: ids[kept].clone(),
        tokens_before: 2,
        tokens_after: 1,
        compactor: "bench".to_owned(),
        index: 0,
    }))?;
    Ok(())
}

/// Words, the same in each run; low numbers come often.
struct Words(u64);

impl Words {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        let below = self.0 % VOCABULARY;
        (self.0 >> 32) % (below + 1)
    }

    fn text(&mut self, count: usize) -> String {
        let mut text = String::new();
        for number in 0..count {
            let word = self.next();
            text += &match number % 8 {
                0 => format!("src/word{word}.rs:{number} "),
                _ => format!("word{word} "),
            };
        }
        text
    }
}
