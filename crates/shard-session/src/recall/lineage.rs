//! A session, and what it goes back to.
//!
//! A fork of a session with summaries holds copies of its window and no more, but its summary names
//! entries from before. They are in the source, under the same numbers: the fork's first line
//! says with which number its own begin. So a fork is searched together with its source as far as it
//! went then, and with that one's source, if it is a fork itself. What was said in a source later
//! has higher numbers and is not seen.

use std::collections::HashSet;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};

use shard_types::SessionId;

use super::build::place;
use super::inverted::Inverted;
use super::query::Fit;
use crate::header::Source;
use crate::locate::source_of;
use crate::{Reader, SessionError};

/// This much of a session may be without an index before one is worth writing, in bytes.
const BEHIND: u64 = 256 << 10;

/// One file of a lineage.
#[derive(Debug)]
pub(super) struct Piece {
    pub(super) session: PathBuf,
    pub(super) reader: Reader,
    inverted: Option<Inverted>,
    /// Its part of the lineage.
    pub(super) range: Range<usize>,
}

/// Oldest first; the session itself is the last. With it comes the source that is not there any
/// more, if one is missed.
pub(super) fn open(session: &Path) -> Result<(Vec<Piece>, Option<SessionId>), SessionError> {
    let mut pieces = vec![Piece::open(session)?];
    let mut known = HashSet::from([pieces[0].reader.header().session_id.clone()]);
    let mut source = pieces[0].reader.source().cloned();
    while let Some(Source {
        session_id,
        first_index: end @ 1..,
        ..
    }) = source
    {
        // Whoever writes a file by hand must not send its readers in circles.
        let piece = Some(&session_id).filter(|id| known.insert((*id).clone()));
        let Some(piece) = piece.and_then(|id| Piece::up_to(end, id, session)) else {
            pieces.reverse();
            return Ok((pieces, Some(session_id)));
        };
        source = piece.reader.source().cloned();
        // A fork whose own fork begins where it begins itself adds nothing.
        if !piece.range.is_empty() {
            pieces.push(piece);
        }
    }
    pieces.reverse();
    Ok((pieces, None))
}

impl Piece {
    /// The first entries of the session of this id, from which `fork` comes in the end; none if it
    /// is not there, or does not have so many.
    fn up_to(end: usize, id: &SessionId, fork: &Path) -> Option<Self> {
        let mut piece = Self::open(&source_of(fork, id)?).ok()?;
        let has_them = piece.range.start <= end && end <= piece.range.end;
        piece.range.end = end;
        (has_them && piece.reader.header().session_id == *id).then_some(piece)
    }

    fn open(session: &Path) -> Result<Self, SessionError> {
        let reader = Reader::open(session)?;
        let first = reader.first_index();
        let mut piece = Self {
            session: session.to_owned(),
            range: first..first.saturating_add(reader.index().len()),
            reader,
            inverted: None,
        };
        piece.open_index();
        Ok(piece)
    }

    /// Takes up what was appended to the last piece of a lineage.
    pub(super) fn refresh(&mut self) -> Result<(), SessionError> {
        self.reader.refresh()?;
        self.range.end = self.range.start.saturating_add(self.reader.index().len());
        Ok(())
    }

    /// Takes up an index that was written since.
    pub(super) fn open_index(&mut self) {
        let path = place(&self.session);
        let known = self.inverted.as_ref();
        if known.is_none_or(|inverted| inverted.is_replaced(&path)) {
            self.inverted = Inverted::open(&path, &self.reader).ok();
        }
    }

    /// What the index says is not to be trusted.
    pub(super) fn throw_index_away(&mut self) {
        self.inverted = None;
        _ = std::fs::remove_file(place(&self.session));
    }

    /// How many entries the index covers.
    pub(super) fn covered(&self) -> usize {
        let covered = self.inverted.as_ref().map_or(0, Inverted::covered);
        covered.min(self.range.len())
    }

    /// How well a word fits each entry that the index covers.
    ///
    /// # Errors
    /// When the index is damaged.
    pub(super) fn look_up(&self, word: &str, fits: &mut [Fit]) -> io::Result<()> {
        let Some(inverted) = &self.inverted else {
            return Ok(());
        };
        inverted.look_up(word, |at, fit| {
            if let Some(best) = fits.get_mut(at) {
                *best = fit.max(*best);
            }
        })
    }

    /// Whether so much is not in the index that it is worth to
    /// [bring it up to date](super::bring_up_to_date).
    pub(super) fn is_behind(&self) -> bool {
        let index = self.reader.index();
        let row_end = |at: usize| {
            let row = &index.rows()[index.said()[at] as usize];
            row.offset + u64::from(row.length)
        };
        let end = |count: usize| count.checked_sub(1).map_or(0, row_end);
        end(self.range.len()).saturating_sub(end(self.covered())) > BEHIND
    }
}
