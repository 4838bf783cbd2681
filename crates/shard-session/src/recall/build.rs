//! Writing the inverted index.
//!
//! What is new since the last time becomes a segment. Segments before it that are not much larger
//! are made anew together with it, so that there are few, and each entry is indexed anew a few times
//! at most. A segment is closed when it has taken a bounded amount of memory.

use std::collections::HashMap;
use std::io::{self, BufWriter, Read, Write};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use foldhash::fast::RandomState;

use super::inverted::{
    Block, Inverted, MAGIC, Segment, digest, file_under, put_number, put_part, write_directory,
};
use super::text::text;
use super::words::each_word;
use crate::index::Order;
use crate::{Reader, SessionError};

/// Memory that one segment may take while it is made, in bytes.
const MEMORY: usize = 24 << 20;

/// What a word takes in memory beside its letters, in bytes: its place in the table, which is up
/// to half empty, and two allocations.
const PER_WORD: usize = 192;

/// A segment of this much of a session, in bytes, stays as it is.
const FULL: u64 = 32 << 20;

/// Size of a block, in bytes. The words of most entries make one larger.
const BLOCK: usize = 16 << 10;

/// Where the inverted index of a session is.
pub(super) fn place(session: &Path) -> PathBuf {
    session.with_extension("recall")
}

/// Writes the inverted index of a session anew where it does not cover everything. Takes a few
/// seconds for 100 MB of new rows, so not for whoever has something else to do. `stop` is asked
/// now and then; when it says so, everything is left as it was.
///
/// # Errors
/// When the session cannot be read or the index cannot be written.
pub fn bring_up_to_date(session: &Path, stop: &dyn Fn() -> bool) -> Result<(), SessionError> {
    let reader = Reader::open(session)?;
    let path = place(session);
    let before = Inverted::open(&path, &reader).ok();
    let failed = |source| SessionError::Io {
        action: "write the index for recall of",
        path: session.to_owned(),
        source,
    };
    let kept = before.as_ref().map_or(0, |before| kept(before, &reader));
    let segments = before.as_ref().map_or(&[][..], |it| &it.segments[..kept]);
    let covered = segments.last().map_or(0, |last| last.first + last.count);
    if covered == reader.index().len() {
        return Ok(());
    }
    let folder = session.parent().unwrap_or(Path::new("."));
    let mut file = tempfile::Builder::new()
        .prefix(".recall-")
        .tempfile_in(folder)
        .map_err(failed)?;
    let mut out = Out {
        file: BufWriter::new(file.as_file_mut()),
        length: 0,
        segments: segments.to_vec(),
    };
    out.copy(before.as_ref()).map_err(failed)?;
    let mut segment = Growing::new(covered);
    let mut outcome = Ok(());
    let mut stopped = false;
    reader.visit(
        covered..reader.index().len(),
        Order::Forward,
        |at, entry| {
            stopped = stop();
            segment.take(at, &text(&entry));
            if segment.memory > MEMORY {
                let full = std::mem::replace(&mut segment, Growing::new(at + 1));
                outcome = out.segment(full, at + 1, &reader);
            }
            match outcome.is_err() || stopped {
                true => ControlFlow::Break(()),
                false => ControlFlow::Continue(()),
            }
        },
    )?;
    outcome.map_err(failed)?;
    if stopped {
        return Ok(());
    }
    out.segment(segment, reader.index().len(), &reader)
        .and_then(|()| out.finish())
        .map_err(failed)?;
    drop(out);
    file.as_file().sync_data().map_err(failed)?;
    file.persist(&path).map_err(|error| failed(error.error))?;
    Ok(())
}

/// How many segments stay as they are.
fn kept(before: &Inverted, reader: &Reader) -> usize {
    let index = reader.index();
    let end = index.rows().last().map_or(0, |row| row.offset);
    let start_of = |at: usize| match at.checked_sub(1) {
        None => 0,
        Some(last) => before.segments[last].session_end,
    };
    let mut kept = before.segments.len();
    while kept > 0 {
        let size = start_of(kept) - start_of(kept - 1);
        let new = end.saturating_sub(start_of(kept));
        if size >= FULL || size > 2 * new {
            break;
        }
        kept -= 1;
    }
    kept
}

/// The entries of each word, for a segment that is being made.
struct Growing {
    first: usize,
    words: HashMap<Box<str>, Entries, RandomState>,
    memory: usize,
    /// The word that is being added.
    filed: String,
}

#[derive(Default)]
struct Entries {
    /// One more than the last entry, counted from the segment's first; 0 before there is one.
    next: usize,
    /// Differences.
    bytes: Vec<u8>,
}

impl Growing {
    fn new(first: usize) -> Self {
        Self {
            first,
            words: HashMap::default(),
            memory: 0,
            filed: String::new(),
        }
    }

    fn take(&mut self, at: usize, text: &str) {
        let at = at - self.first;
        each_word(text, |word, _| {
            file_under(word, &mut self.filed);
            let word = self.filed.as_str();
            let entries = match self.words.get_mut(word) {
                Some(entries) => entries,
                None => {
                    self.memory += word.len() + PER_WORD;
                    self.words.entry(word.into()).or_default()
                }
            };
            if entries.next <= at {
                let difference = at - entries.next.saturating_sub(1);
                let before = entries.bytes.len();
                put_number(&mut entries.bytes, difference);
                self.memory += entries.bytes.len() - before;
                entries.next = at + 1;
            }
        });
    }
}

/// The file that is being written.
struct Out<W: Write> {
    file: BufWriter<W>,
    length: u64,
    segments: Vec<Segment>,
}

impl<W: Write> Out<W> {
    fn put(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.length += bytes.len() as u64;
        self.file.write_all(bytes)
    }

    /// Begins with the segments that are kept, as they stand.
    fn copy(&mut self, before: Option<&Inverted>) -> io::Result<()> {
        match (before, self.segments.last()) {
            (Some(before), Some(last)) => {
                let end = last.end;
                let mut file = &before.file;
                io::Seek::rewind(&mut file)?;
                self.length = io::copy(&mut file.take(end), &mut self.file)?;
                match self.length == end {
                    true => Ok(()),
                    false => Err(io::ErrorKind::UnexpectedEof.into()),
                }
            }
            _ => self.put(&MAGIC),
        }
    }

    /// Adds a segment of the entries before `end`.
    fn segment(&mut self, segment: Growing, end: usize, reader: &Reader) -> io::Result<()> {
        let Some(last) = end.checked_sub(1).filter(|last| *last >= segment.first) else {
            return Ok(());
        };
        let index = reader.index();
        let row = &index.rows()[index.said()[last] as usize];
        let mut words: Vec<_> = segment.words.into_iter().collect();
        words.sort_unstable_by(|a, b| a.0.cmp(&b.0));
        let mut blocks = Vec::new();
        let mut block = Vec::with_capacity(2 * BLOCK);
        let (mut first_word, mut before): (&str, &str) = ("", "");
        for (word, entries) in &words {
            if block.is_empty() {
                (first_word, before) = (word, "");
            }
            let shared = shared(before, word);
            put_number(&mut block, shared);
            put_part(&mut block, &word.as_bytes()[shared..]);
            put_part(&mut block, &entries.bytes);
            before = word;
            if block.len() >= BLOCK {
                self.block(&mut blocks, first_word, &mut block)?;
            }
        }
        if !block.is_empty() {
            self.block(&mut blocks, first_word, &mut block)?;
        }
        self.segments.push(Segment {
            first: segment.first,
            count: end - segment.first,
            last_id: index.id(last).map_or_else(String::new, |id| id.to_string()),
            session_end: row.offset + u64::from(row.length),
            end: self.length,
            blocks,
        });
        Ok(())
    }

    fn block(
        &mut self,
        blocks: &mut Vec<Block>,
        first_word: &str,
        bytes: &mut Vec<u8>,
    ) -> io::Result<()> {
        blocks.push(Block {
            first_word: first_word.into(),
            offset: self.length,
            length: bytes.len(),
            digest: digest(bytes),
        });
        self.put(bytes)?;
        bytes.clear();
        Ok(())
    }

    fn finish(&mut self) -> io::Result<()> {
        let directory = write_directory(&self.segments);
        let offset = self.length;
        self.put(&directory)?;
        self.put(&offset.to_le_bytes())?;
        self.put(&(directory.len() as u64).to_le_bytes())?;
        self.put(&digest(&directory).to_le_bytes())?;
        self.put(&MAGIC)?;
        self.file.flush()
    }
}

/// How many bytes two words begin with in common.
fn shared(a: &str, b: &str) -> usize {
    let same = a.bytes().zip(b.bytes()).take_while(|(a, b)| a == b);
    same.count()
}
