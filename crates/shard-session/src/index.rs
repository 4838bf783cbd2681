//! Where each row of a session stands.

use std::fs::File;
use std::io;
use std::ops::{ControlFlow, Range};
use std::os::unix::fs::FileExt;

use shard_types::{CompactionDetails, EntryBody, EntryId, SessionEntry};

use crate::row::{self, Head, Key, Kind, Parent};

/// How much of a file is read at a time to get at its rows, in bytes, unless one row is larger.
const SPAN: u64 = 1 << 20;

/// Rows further apart than this are read one by one.
const GAP: u64 = 64 << 10;

/// The rows of the chain that ends with a session's last row, oldest first: their places and
/// kinds, some 40 bytes each, and nothing of what they hold.
///
/// What was said, messages and results, is counted from 0 in the order of the chain. These numbers
/// are what `recall` calls an entry's index. They hang on the heads of rows alone, not on whether
/// the details can be read, so they never change as the session grows.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Index {
    rows: Vec<Row>,
    /// Places in `rows` of what was said.
    said: Vec<u32>,
}

/// Where a row stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Row {
    pub(crate) offset: u64,
    /// Without the newline.
    pub(crate) length: u32,
    pub(crate) kind: Kind,
    pub(crate) key: Key,
}

/// What a model sees at some row of the chain: a summary, if there is one, and the rows from
/// `start` on.
#[derive(Debug)]
pub(crate) struct Window {
    /// The place of the first row that is kept.
    pub(crate) start: usize,
    /// The compaction that is in force.
    pub(crate) compaction: Option<(usize, CompactionDetails)>,
}

impl Index {
    /// How much was said: the number of messages and results.
    #[must_use]
    pub fn len(&self) -> usize {
        self.said.len()
    }

    /// Nothing was said.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.said.is_empty()
    }

    /// The index of a message or a result.
    #[must_use]
    pub fn find(&self, id: &EntryId) -> Option<usize> {
        let place = u32::try_from(self.place(id)?).ok()?;
        self.said.binary_search(&place).ok()
    }

    /// The id of the message or result of this index.
    #[must_use]
    pub fn id(&self, at: usize) -> Option<EntryId> {
        self.rows[*self.said.get(at)? as usize].key.id()
    }

    fn of(mut rows: Vec<Row>) -> Self {
        rows.shrink_to_fit();
        let said = (0..).zip(&rows).filter(|(_, row)| row.kind.is_said());
        Self {
            said: said.map(|(place, _)| place).collect(),
            rows,
        }
    }

    pub(crate) fn push(&mut self, row: Row) {
        if row.kind.is_said() {
            // Rows of a hundred bytes would fill 400 GB before this number is too small.
            self.said
                .push(u32::try_from(self.rows.len()).unwrap_or(u32::MAX));
        }
        self.rows.push(row);
    }

    /// The last row of the chain.
    pub(crate) fn head(&self) -> Option<&Row> {
        self.rows.last()
    }

    pub(crate) fn rows(&self) -> &[Row] {
        &self.rows
    }

    /// The places of what was said, by index.
    pub(crate) fn said(&self) -> &[u32] {
        &self.said
    }

    /// How much was said before a place: the index of what stands there, or of what comes next.
    pub(crate) fn said_before(&self, place: usize) -> usize {
        self.said.partition_point(|&said| (said as usize) < place)
    }

    /// The place of a row on the chain. What is asked for is mostly near the end.
    pub(crate) fn place(&self, id: &EntryId) -> Option<usize> {
        let key = Key::of(id);
        self.rows.iter().rposition(|row| row.key == key)
    }

    /// Goes through rows at ascending `places`, or backwards, reading the file in large pieces.
    pub(crate) fn visit(
        &self,
        file: &File,
        places: &[u32],
        order: Order,
        mut each: impl FnMut(usize, &[u8]) -> ControlFlow<()>,
    ) -> io::Result<()> {
        let mut buffer = Vec::new();
        let mut left = places;
        while !left.is_empty() {
            let taken = match order {
                Order::Forward => self.span(left.len(), |at| left[at]),
                Order::Backward => self.span(left.len(), |at| left[left.len() - 1 - at]),
            };
            let piece: &[u32] = match order {
                Order::Forward => left.split_off(..taken),
                Order::Backward => left.split_off(left.len() - taken..),
            }
            .unwrap_or_default();
            let start = self.rows[piece[0] as usize].offset;
            let last = &self.rows[piece[piece.len() - 1] as usize];
            let length = last.offset + u64::from(last.length) - start;
            buffer.resize(usize::try_from(length).unwrap_or(usize::MAX), 0);
            file.read_exact_at(&mut buffer, start)?;
            let mut give = |place: u32| {
                let row = &self.rows[place as usize];
                let from = usize::try_from(row.offset - start).unwrap_or(usize::MAX);
                each(place as usize, &buffer[from..from + row.length as usize])
            };
            let done = match order {
                Order::Forward => piece.iter().try_for_each(|&place| give(place)),
                Order::Backward => piece.iter().rev().try_for_each(|&place| give(place)),
            };
            if done.is_break() {
                return Ok(());
            }
        }
        Ok(())
    }

    /// How many of the next rows are read together.
    fn span(&self, count: usize, place: impl Fn(usize) -> u32) -> usize {
        let range = |at: usize| {
            let row = &self.rows[place(at) as usize];
            row.offset..row.offset + u64::from(row.length)
        };
        let first = range(0);
        let mut before = first.clone();
        let more = (1..count).take_while(|&at| {
            let next = range(at);
            let gap = next.start.max(before.start) - next.end.min(before.end);
            let all = next.end.max(first.end) - next.start.min(first.start);
            before = next;
            gap <= GAP && all <= SPAN
        });
        1 + more.count()
    }

    /// The row at a place; none if its details are damaged.
    pub(crate) fn entry(&self, file: &File, place: usize) -> io::Result<Option<SessionEntry>> {
        let row = &self.rows[place];
        let mut line = vec![0; row.length as usize];
        file.read_exact_at(&mut line, row.offset)?;
        Ok(parse(&line))
    }

    /// What a model sees right before the row at `end`. A compaction that cannot be read is passed
    /// over. If what one refers to is not there, everything is seen: too much rather than too little.
    pub(crate) fn window(&self, file: &File, end: usize) -> io::Result<Window> {
        let all = Window {
            start: 0,
            compaction: None,
        };
        let compactions = (0..end).rev();
        for place in compactions.filter(|&at| self.rows[at].kind == Kind::Compaction) {
            let body = self.entry(file, place)?.map(|entry| entry.body);
            let Some(EntryBody::Compaction(details)) = body else {
                continue;
            };
            let kept = self.place(&details.first_kept_entry_id);
            let after = || Some(self.place(&details.message_range.1)? + 1);
            let Some(start) = kept.or_else(after).filter(|&start| start <= end) else {
                return Ok(all);
            };
            return Ok(Window {
                start,
                compaction: Some((place, details)),
            });
        }
        Ok(all)
    }

    /// The compactions on the chain, oldest first, with what each stands for.
    pub(crate) fn compactions(&self, file: &File) -> io::Result<Vec<(u64, Range<usize>)>> {
        let mut found = Vec::new();
        let places = (0..self.rows.len()).filter(|&at| self.rows[at].kind == Kind::Compaction);
        for place in places {
            let body = self.entry(file, place)?.map(|entry| entry.body);
            if let Some(EntryBody::Compaction(details)) = body {
                let (first, last) = &details.message_range;
                let range = match (self.place(first), self.place(last)) {
                    (Some(first), Some(last)) => {
                        self.said_before(first)..self.said_before(last + 1)
                    }
                    _ => 0..0,
                };
                found.push((details.index, range));
            }
        }
        Ok(found)
    }
}

/// In which order rows are gone through.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Order {
    Forward,
    Backward,
}

pub(crate) fn parse(line: &[u8]) -> Option<SessionEntry> {
    let line = std::str::from_utf8(line).ok()?;
    row::entry(line).or_else(|| SessionEntry::from_json(line).ok())
}

/// The rows of a file in its order.
#[derive(Debug, Default)]
pub(crate) struct Rows {
    rows: Vec<Row>,
    /// Rows whose parent is not the row before them in the file, ascending.
    odd: Vec<(usize, Option<Key>)>,
    /// Rows that damaged lines stand right before, ascending.
    after_damage: Vec<usize>,
    damaged: bool,
}

impl Rows {
    pub(crate) fn len(&self) -> usize {
        self.rows.len()
    }

    pub(crate) fn push(&mut self, offset: u64, length: u32, head: Head) {
        let place = self.rows.len();
        match head.parent {
            Parent::Before => {}
            Parent::None => self.odd.push((place, None)),
            Parent::Is(key) => self.odd.push((place, Some(key))),
        }
        if std::mem::take(&mut self.damaged) {
            self.after_damage.push(place);
        }
        self.rows.push(Row {
            offset,
            length,
            kind: head.kind,
            key: head.key,
        });
    }

    pub(crate) fn push_damage(&mut self) {
        self.damaged = true;
    }

    /// Walks from the last row to the first. Where a parent is lost to damage, the walk goes on
    /// with the row before the damage; rows on no way to the head are left out.
    pub(crate) fn chain(mut self) -> Chain {
        let mut by_key = None;
        let mut lost = Vec::new();
        // Rows that follow on one another, last first.
        let mut runs: Vec<Range<usize>> = Vec::new();
        let mut end = self.rows.len();
        while end > 0 {
            // Within a run each row's parent is the row before it.
            let known = self.odd.partition_point(|(place, _)| *place < end);
            let Some((start, parent)) = known.checked_sub(1).map(|at| &self.odd[at]) else {
                runs.push(0..end);
                break;
            };
            let start = *start;
            runs.push(start..end);
            end = match parent {
                None if self.after_damage.binary_search(&start).is_ok() => start,
                None => 0,
                Some(key) => {
                    let by_key = by_key.get_or_insert_with(|| sorted(&self.rows));
                    match find(&self.rows, by_key, key) {
                        Some(parent) if parent < start => parent + 1,
                        // Lost, or a loop: only damage explains it, so the file's order is the
                        // best guess.
                        _ => {
                            lost.push(key.clone());
                            start
                        }
                    }
                }
            };
        }
        // The header names the session, whatever the chain looks like.
        if runs.last().is_some_and(|run| run.start > 0) {
            runs.push(0..1);
        }
        runs.reverse();
        let mut kept = 0;
        for run in &runs {
            if run.start == kept {
                kept = run.end;
                continue;
            }
            for place in run.clone() {
                self.rows.swap(kept, place);
                kept += 1;
            }
        }
        self.rows.truncate(kept);
        Chain {
            index: Index::of(self.rows),
            runs,
            lost,
        }
    }
}

/// What a walk over the rows of a file found.
#[derive(Debug)]
pub(crate) struct Chain {
    pub(crate) index: Index,
    /// The rows of the file that are on the chain.
    pub(crate) runs: Vec<Range<usize>>,
    /// Parents that are named and not there.
    pub(crate) lost: Vec<Key>,
}

/// Places by the key of their rows, of equal keys the last one last.
fn sorted(rows: &[Row]) -> Vec<u32> {
    let count = u32::try_from(rows.len()).unwrap_or(u32::MAX);
    let mut places: Vec<u32> = (0..count).collect();
    places.sort_by(|&a, &b| rows[a as usize].key.cmp(&rows[b as usize].key));
    places
}

fn find(rows: &[Row], by_key: &[u32], key: &Key) -> Option<usize> {
    let end = by_key.partition_point(|&place| rows[place as usize].key <= *key);
    let place = by_key[end.checked_sub(1)?] as usize;
    (rows[place].key == *key).then_some(place)
}
