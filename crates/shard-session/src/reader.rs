//! Reading single messages of a session, whoever writes it meanwhile.

use std::fs::File;
use std::ops::{ControlFlow, Range};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use shard_types::SessionEntry;

use crate::header::Source;
use crate::index::{Index, Order, Row, Window, parse};
use crate::lines::Lines;
use crate::load::{Scan, failed, open};
use crate::row::{Head, Kind, Parent};
use crate::{Header, SessionError};

/// A session that is open for reading. It needs no lock: what is on file never changes.
#[derive(Debug)]
pub struct Reader {
    path: PathBuf,
    file: File,
    header: Header,
    source: Option<Source>,
    index: Index,
    /// Where the lines end that the index knows.
    end: u64,
    /// A line without an end stands there.
    torn: bool,
}

impl Reader {
    /// Opens a session and finds its rows.
    ///
    /// # Errors
    /// When it cannot be read, or has no header.
    pub fn open(path: &Path) -> Result<Self, SessionError> {
        let file = open(path)?;
        let scan = Scan::of(&file, path, |_, _| {})?;
        Ok(Self {
            path: path.to_owned(),
            file,
            header: scan.header,
            source: scan.source,
            index: scan.rows.chain().index,
            end: scan.end,
            torn: scan.torn,
        })
    }

    /// Takes up the rows that were appended since; another file that stands in the place of this
    /// one is read anew.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn refresh(&mut self) -> Result<(), SessionError> {
        if !self.is_in_place()? || !self.follow()? {
            *self = Self::open(&self.path)?;
        }
        Ok(())
    }

    fn is_in_place(&self) -> Result<bool, SessionError> {
        let failed = |source| failed(&self.path, source);
        let (ours, there) = (self.file.metadata(), std::fs::metadata(&self.path));
        let (ours, there) = (ours.map_err(failed)?, there.map_err(failed)?);
        Ok((ours.dev(), ours.ino()) == (there.dev(), there.ino()))
    }

    /// Adds the new rows; false if they do not simply follow on one another.
    fn follow(&mut self) -> Result<bool, SessionError> {
        let metadata = self.file.metadata();
        let length = metadata.map_err(|source| failed(&self.path, source))?.len();
        if self.torn || length < self.end {
            return Ok(false);
        }
        if length == self.end {
            return Ok(true);
        }
        let head = self.index.head().and_then(|row| row.key.id());
        let mut before = head.map_or_else(Vec::new, |id| id.as_str().into());
        let mut lines = Lines::from(&self.file, self.end);
        while let Some(line) = lines.next().map_err(|source| failed(&self.path, source))? {
            if !line.ended {
                break; // its writer is not done
            }
            if !line.is_blank() {
                let head = Head::read(line.bytes, &mut before);
                let (Some(head), Ok(length)) = (head, u32::try_from(line.bytes.len())) else {
                    return Ok(false);
                };
                if head.parent != Parent::Before {
                    return Ok(false);
                }
                self.index.push(Row {
                    offset: line.offset,
                    length,
                    kind: head.kind,
                    key: head.key,
                });
            }
            self.end = line.end;
        }
        Ok(true)
    }

    /// The first line.
    #[must_use]
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// What this session was split off from, if it is a fork.
    pub(crate) fn source(&self) -> Option<&Source> {
        self.source.as_ref()
    }

    /// The number under which `recall` has the first message or result.
    pub(crate) fn first_index(&self) -> usize {
        self.source.as_ref().map_or(0, |source| source.first_index)
    }

    /// Where each row stands.
    #[must_use]
    pub fn index(&self) -> &Index {
        &self.index
    }

    /// The message or result of this index; none if its row is damaged.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn entry(&self, at: usize) -> Result<Option<SessionEntry>, SessionError> {
        let Some(&place) = self.index.said().get(at) else {
            return Ok(None);
        };
        let entry = self.index.entry(&self.file, place as usize);
        entry.map_err(|source| failed(&self.path, source))
    }

    /// Goes through messages and results by their index. Damaged ones are passed over.
    pub(crate) fn visit(
        &self,
        range: Range<usize>,
        order: Order,
        mut each: impl FnMut(usize, SessionEntry) -> ControlFlow<()>,
    ) -> Result<(), SessionError> {
        let said = &self.index.said()[range];
        self.visit_rows(said, order, |place, line| match parse(line) {
            Some(entry) => each(self.index.said_before(place), entry),
            None => ControlFlow::Continue(()),
        })
    }

    pub(crate) fn visit_rows(
        &self,
        places: &[u32],
        order: Order,
        each: impl FnMut(usize, &[u8]) -> ControlFlow<()>,
    ) -> Result<(), SessionError> {
        let visited = self.index.visit(&self.file, places, order, each);
        visited.map_err(|source| failed(&self.path, source))
    }

    /// What a model sees right before the row at a place.
    pub(crate) fn window(&self, end: usize) -> Result<Window, SessionError> {
        let window = self.index.window(&self.file, end);
        window.map_err(|source| failed(&self.path, source))
    }

    /// What a model saw when the first compaction had been made; everything if there was none.
    pub(crate) fn first_window(&self) -> Result<Window, SessionError> {
        let rows = self.index.rows();
        for end in (1..=rows.len()).filter(|&end| rows[end - 1].kind == Kind::Compaction) {
            let window = self.window(end)?;
            if window.compaction.is_some() {
                return Ok(window);
            }
        }
        self.window(0)
    }

    /// The compactions, oldest first, with their numbers and what each stands for, by index.
    pub(crate) fn compactions(&self) -> Result<Vec<(u64, Range<usize>)>, SessionError> {
        let found = self.index.compactions(&self.file);
        found.map_err(|source| failed(&self.path, source))
    }

    /// Where the model's window starts just now, by index.
    pub(crate) fn window_start(&self) -> Result<usize, SessionError> {
        let window = self.window(self.index.rows().len())?;
        Ok(self.index.said_before(window.start))
    }
}
