//! Reading a session, whatever has happened to it.
//!
//! Opening costs about one pass over the file's lines, however long the session is, and keeps what
//! an agent goes on with: the window that the model sees, and the checkpoints. The pass reads the
//! head of each row and looks whether it is text and ends as a row ends. The rest of a row before
//! the window is not parsed; of its [`Index`] 40 bytes stay in memory.
//!
//! What this costs: a row before the window whose head is good and whose details are not goes
//! unnoticed until somebody reads it, be it a page, a fork or `recall`, who then passes over it.
//! [`check`] finds such rows too, by parsing everything. A row with a good head keeps its place in
//! the chain and its number in the index, so that neither depends on who has read how much.

use std::collections::HashSet;
use std::fs::File;
use std::io;
use std::ops::{ControlFlow, Range};
use std::path::Path;
use std::sync::Arc;

use shard_types::{Checkpoint, EntryBody, EntryId, SessionEntry, Usage};

use crate::header::{FirstLine, Source};
use crate::index::{self, Chain, Index, Order, Rows};
use crate::lines::Lines;
use crate::regular::open_regular;
use crate::row::{Head, Key, Kind};
use crate::{Header, SessionError};

/// A line that could not be read. It stays in the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Damage {
    /// Its number, from 1.
    pub line: u64,
}

/// What a session holds.
#[derive(Debug, Clone, PartialEq)]
pub struct Loaded {
    /// The first line.
    pub header: Header,
    /// What an agent goes on with, oldest first: the header, the rows of the model's window, the
    /// compaction that it begins with, and checkpoints of any age but for those of tool calls
    /// before the window. Without a compaction that is the whole chain.
    pub entries: Vec<SessionEntry>,
    /// Every row of the chain, read or not.
    pub index: Arc<Index>,
    /// What `recall` adds to the numbers in `index`: 0 but in a fork of a session with summaries,
    /// whose numbers go on from those of its source.
    pub first_index: usize,
    /// Messages before the window whose accepted prompts are among `entries`: they were delivered.
    pub delivered: Vec<EntryId>,
    /// What the provider calls took whose answers stand before the window.
    pub usage_before: Option<Usage>,
    /// Lines that were skipped.
    pub damage: Vec<Damage>,
    /// The last line has no end: the machine went down while it was written.
    pub(crate) torn: bool,
}

/// Reads a session without becoming its writer.
///
/// # Errors
/// When it cannot be read, or has no header.
pub fn load(path: &Path) -> Result<Loaded, SessionError> {
    read(&open(path)?, path)
}

/// Finds every damaged line of a session by parsing all of it.
///
/// # Errors
/// When it cannot be read, or has no header.
pub fn check(path: &Path) -> Result<Vec<Damage>, SessionError> {
    let file = open(path)?;
    let mut damage = Vec::new();
    let found = each_line(&file, path, |number, _, line| {
        if index::parse(line).is_none() {
            damage.push(Damage { line: number });
        }
    });
    found.map(|_| damage)
}

pub(crate) fn open(path: &Path) -> Result<File, SessionError> {
    open_regular(path).map_err(|source| SessionError::Io {
        action: "open",
        path: path.to_owned(),
        source,
    })
}

pub(crate) fn read(file: &File, path: &Path) -> Result<Loaded, SessionError> {
    let mut spent = Spent::default();
    let scan = Scan::of(file, path, |place, line| spent.note(place, line))?;
    let Chain { index, runs, lost } = scan.rows.chain();
    let io = |source| failed(path, source);
    let window = index.window(file, index.rows().len()).map_err(io)?;
    let mut opening = Opening {
        index: &index,
        start: window.start,
        prompts: Vec::new(),
        entries: Vec::new(),
        damaged: Vec::new(),
    };
    let compaction = window.compaction.map(|(place, _)| place);
    opening.read(file, compaction).map_err(io)?;
    let Opening {
        prompts,
        entries,
        damaged,
        ..
    } = opening;
    let mut damage = scan.damage;
    damage.extend(numbers(file, &damaged).map_err(io)?);
    damage.sort_unstable_by_key(|damage| damage.line);
    let prompts: HashSet<Key> = prompts.iter().map(Key::of).collect();
    let before = index.rows()[..window.start].iter();
    let messages = before.filter(|row| row.kind == Kind::Message);
    let proofs = messages.map(|row| &row.key).chain(&lost);
    Ok(Loaded {
        delivered: proofs
            .filter(|key| prompts.contains(key))
            .filter_map(Key::id)
            .collect(),
        usage_before: spent.before(&runs, window.start),
        first_index: scan.source.map_or(0, |source| source.first_index),
        header: scan.header,
        entries,
        damage,
        torn: scan.torn,
        index: Arc::new(index),
    })
}

pub(crate) fn failed(path: &Path, source: io::Error) -> SessionError {
    SessionError::Io {
        action: "read",
        path: path.to_owned(),
        source,
    }
}

/// What one pass over a file's lines finds.
#[derive(Debug)]
pub(crate) struct Scan {
    pub(crate) header: Header,
    pub(crate) source: Option<Source>,
    pub(crate) rows: Rows,
    pub(crate) damage: Vec<Damage>,
    /// Where the last line that has an end ends.
    pub(crate) end: u64,
    pub(crate) torn: bool,
}

impl Scan {
    /// Reads the heads of all rows; `seen` gets each answer of the model, with its place among the
    /// rows of the file.
    pub(crate) fn of(
        file: &File,
        path: &Path,
        mut seen: impl FnMut(usize, &[u8]),
    ) -> Result<Self, SessionError> {
        let (mut rows, mut damage, mut before) = (Rows::default(), Vec::new(), Vec::new());
        let ((header, source), end, torn) = each_line(file, path, |number, offset, line| {
            match (Head::read(line, &mut before), u32::try_from(line.len())) {
                (Some(head), Ok(length)) => {
                    if head.kind == Kind::Message {
                        seen(rows.len(), line);
                    }
                    rows.push(offset, length, head);
                }
                _ => {
                    damage.push(Damage { line: number });
                    rows.push_damage();
                }
            }
        })?;
        Ok(Self {
            header,
            source,
            rows,
            damage,
            end,
            torn,
        })
    }
}

/// Goes through the lines that are not blank, with the number and the offset of each. Gives the
/// header, where the last whole line ends, and whether there is more behind that.
fn each_line(
    file: &File,
    path: &Path,
    mut each: impl FnMut(u64, u64, &[u8]),
) -> Result<(FirstLine, u64, bool), SessionError> {
    let corrupt = |reason| SessionError::Corrupt {
        path: path.to_owned(),
        reason,
    };
    let mut lines = Lines::from(file, 0);
    let (mut header, mut end, mut torn) = (None, 0, false);
    while let Some(line) = lines.next().map_err(|source| failed(path, source))? {
        torn = !line.ended;
        if line.ended {
            end = line.end;
        }
        if header.is_none() {
            header = Some(Header::with_source(line.bytes).map_err(corrupt)?);
        }
        if !line.is_blank() {
            each(line.number, line.offset, line.bytes);
        }
    }
    let header = header.ok_or_else(|| corrupt("it is empty".to_owned()))?;
    Ok((header, end, torn))
}

/// The numbers of the lines that start at these offsets, which ascend.
fn numbers(file: &File, offsets: &[u64]) -> io::Result<Vec<Damage>> {
    let mut found = Vec::new();
    let mut wanted = offsets.iter().peekable();
    let mut lines = Lines::from(file, 0);
    while wanted.peek().is_some() {
        let Some(line) = lines.next()? else { break };
        if wanted.next_if_eq(&&line.offset).is_some() {
            found.push(Damage { line: line.number });
        }
    }
    Ok(found)
}

/// The rows that an agent goes on with.
struct Opening<'a> {
    index: &'a Index,
    /// Where the window starts.
    start: usize,
    /// Prompts that were accepted before the window.
    prompts: Vec<EntryId>,
    entries: Vec<SessionEntry>,
    /// Offsets of rows whose details do not fit.
    damaged: Vec<u64>,
}

impl Opening<'_> {
    fn read(&mut self, file: &File, compaction: Option<usize>) -> io::Result<()> {
        let rows = self.index.rows();
        let wanted = |place: &usize| match rows[*place].kind {
            Kind::Checkpoint => true,
            // One behind that in force is damaged; one before it is no longer of interest.
            Kind::Compaction => compaction.is_none_or(|compaction| *place >= compaction),
            _ => *place >= self.start,
        };
        let places = (0..rows.len()).filter(wanted);
        let places: Vec<u32> = places.filter_map(|at| u32::try_from(at).ok()).collect();
        self.index
            .visit(file, &places, Order::Forward, |place, line| {
                match index::parse(line) {
                    Some(entry) => self.take(place, entry),
                    None => self.damaged.push(rows[place].offset),
                }
                ControlFlow::Continue(())
            })
    }

    fn take(&mut self, place: usize, entry: SessionEntry) {
        if place < self.start
            && let EntryBody::Checkpoint(Checkpoint::PromptAccepted { message_id, .. }) =
                &entry.body
        {
            self.prompts.push(message_id.clone());
        }
        self.entries.push(entry);
    }
}

/// What the answers of the model say that they took. It is the last thing in their rows, and kept
/// as text until it is known which of them stand before the window.
#[derive(Default)]
struct Spent {
    text: Vec<u8>,
    parts: Vec<(usize, Range<usize>)>,
}

impl Spent {
    fn note(&mut self, place: usize, line: &[u8]) {
        /// No usage is longer, in bytes.
        const LONGEST: usize = 512;
        let Some(row) = line.trim_ascii_end().strip_suffix(b"}}") else {
            return;
        };
        let tail = &row[row.len().saturating_sub(LONGEST)..];
        if tail.last() != Some(&b'}') {
            return;
        }
        // A call's arguments may hold the word; but then more than this follows on them.
        let usage = memchr::memrchr(b'{', tail).map(|at| tail.split_at(at));
        if let Some((before, usage)) = usage
            && before.ends_with(b",\"usage\":")
        {
            let start = self.text.len();
            self.text.extend(usage);
            self.parts.push((place, start..self.text.len()));
        }
    }

    /// The sum of what stands before the place `start` of the chain, whose rows are at `runs`.
    fn before(&self, runs: &[Range<usize>], start: usize) -> Option<Usage> {
        let mut parts = self.parts.iter().peekable();
        let (mut sum, mut left): (Option<Usage>, usize) = (None, start);
        for run in runs {
            let end = run.end.min(run.start.saturating_add(left));
            left -= end - run.start;
            while let Some((place, part)) = parts.next_if(|(place, _)| *place < end) {
                if *place >= run.start
                    && let Ok(usage) = serde_json::from_slice(&self.text[part.clone()])
                {
                    sum.get_or_insert_default().add(&usage);
                }
            }
        }
        sum
    }
}
