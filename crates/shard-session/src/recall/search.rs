//! Looking for entries, and ranking what was found.

use std::collections::BinaryHeap;
use std::ops::{ControlFlow, Range};
use std::path::Path;

use shard_types::{ContentBlock, EntryBody, MessageDetails, SessionEntry, SessionId};

use super::TOOL;
use super::expression::Expression;
use super::lineage::{self, Piece};
use super::query::{Fit, Query, fit};
use super::text::text;
use super::words::each_word;
use crate::SessionError;
use crate::index::{Order, parse};
use crate::row::Kind;

/// Rows that need no parsing are passed over so quickly that only every so many of them is worth to
/// ask whether to go on.
const ASK_EVERY: usize = 64;

/// A session that is open for searching. Entries go by the numbers of the whole lineage.
#[derive(Debug)]
pub struct Recall {
    /// Oldest first; the session itself is the last.
    pieces: Vec<Piece>,
    lost: Option<SessionId>,
}

/// An entry that was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hit {
    /// Its index.
    pub at: usize,
    /// The rarest word of the query that it holds; 0 for a regular expression.
    pub word: usize,
}

/// What a search found.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Found {
    /// Best first.
    pub hits: Vec<Hit>,
    /// How many there are in all. Results of earlier searches are taken off as far as the hits
    /// reach.
    pub total: usize,
    /// The search was stopped here: what is older was not looked at.
    pub stopped_at: Option<usize>,
}

impl Recall {
    /// Opens a session for searching.
    ///
    /// # Errors
    /// When it cannot be read, or has no header.
    pub fn open(session: &Path) -> Result<Self, SessionError> {
        let (pieces, lost) = lineage::open(session)?;
        Ok(Self { pieces, lost })
    }

    /// Takes up what was appended since, and an index that was written since.
    ///
    /// # Errors
    /// When the session cannot be read.
    pub fn refresh(&mut self) -> Result<(), SessionError> {
        if let Some(session) = self.pieces.last_mut() {
            session.refresh()?;
        }
        self.pieces.iter_mut().for_each(Piece::open_index);
        Ok(())
    }

    /// The numbers of the entries that there are. They begin with 0 unless a [`lost`](Self::lost)
    /// source has the first ones.
    #[must_use]
    pub fn entries(&self) -> Range<usize> {
        let (first, last) = (self.pieces.first(), self.pieces.last());
        first.map_or(0, |piece| piece.range.start)..last.map_or(0, |piece| piece.range.end)
    }

    /// The session that has the first entries and is not there any more.
    #[must_use]
    pub fn lost(&self) -> Option<&SessionId> {
        self.lost.as_ref()
    }

    /// The message or result of this number; none if its row is damaged or not there.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn entry(&self, at: usize) -> Result<Option<SessionEntry>, SessionError> {
        match self.pieces.iter().find(|piece| piece.range.contains(&at)) {
            Some(piece) => piece.reader.entry(at - piece.range.start),
            None => Ok(None),
        }
    }

    /// The compactions, oldest first, with their numbers and what each stands for.
    ///
    /// # Errors
    /// When a file cannot be read.
    pub fn compactions(&self) -> Result<Vec<(u64, Range<usize>)>, SessionError> {
        let mut all = Vec::new();
        for Piece { reader, range, .. } in &self.pieces {
            let found = reader
                .compactions()?
                .into_iter()
                .map(|(number, what)| (number, what.start + range.start..what.end + range.start));
            // A fork's copy stands for what only its source has, and is found there; what the
            // source summed up later is no matter of the fork.
            all.extend(found.filter(|(_, what)| !what.is_empty() && what.end <= range.end));
        }
        Ok(all)
    }

    /// Where the model's window starts just now.
    ///
    /// # Errors
    /// When the session cannot be read.
    pub fn window_start(&self) -> Result<usize, SessionError> {
        match self.pieces.last() {
            Some(session) => Ok(session.range.start + session.reader.window_start()?),
            None => Ok(0),
        }
    }

    /// The sessions of which so much is not in an index that it is worth to
    /// [bring it up to date](super::bring_up_to_date).
    pub fn behind(&self) -> impl Iterator<Item = &Path> {
        let behind = self.pieces.iter().filter(|piece| piece.is_behind());
        behind.map(|piece| &*piece.session)
    }

    /// Searches the entries of `scope`, and gives the `most` best of what was found.
    ///
    /// Words are ranked by how many of them an entry holds, how many of these as they were given
    /// and not as the beginning of a longer word, how rare they are in the session, and how recent
    /// the entry is; matches of an expression by that alone. Searches themselves, calls of `recall`
    /// and their results, are not found.
    ///
    /// `stop` is asked now and then whether to go on.
    ///
    /// # Errors
    /// When the session cannot be read.
    pub fn search(
        &mut self,
        query: &Query,
        scope: Range<usize>,
        most: usize,
        stop: &dyn Fn() -> bool,
    ) -> Result<Found, SessionError> {
        let all = self.entries();
        let scope = scope.start.max(all.start)..scope.end.min(all.end);
        if scope.is_empty() {
            return Ok(Found::default());
        }
        let words = match query {
            Query::Regex(it) => return self.by_expression(it, &scope, most, stop),
            Query::Words(words) => words,
        };
        loop {
            match self.by_words(words, &scope, most, stop)? {
                Ok(found) => return Ok(found),
                // Without the index the same is found, only not as fast.
                Err(Damaged(piece)) => self.pieces[piece].throw_index_away(),
            }
        }
    }

    fn by_expression(
        &self,
        expression: &Expression,
        scope: &Range<usize>,
        most: usize,
        stop: &dyn Fn() -> bool,
    ) -> Result<Found, SessionError> {
        let mut matches = Vec::new();
        let may_match = |row: &[u8]| expression.may_match(row);
        let stopped_at = self.visit(scope, stop, may_match, |at, entry| {
            if expression.regex.is_match(&text(entry)) {
                matches.push(at);
            }
        })?;
        let total = matches.len();
        let ranked = matches.into_iter().map(|at| Hit { at, word: 0 });
        let found = self.without_searches(ranked, total, most)?;
        Ok(Found {
            stopped_at,
            ..found
        })
    }

    /// Goes through entries, newest first, until it is stopped; says where that was. Only rows
    /// that are `wanted` are parsed.
    fn visit(
        &self,
        scope: &Range<usize>,
        stop: &dyn Fn() -> bool,
        wanted: impl Fn(&[u8]) -> bool,
        mut each: impl FnMut(usize, &SessionEntry),
    ) -> Result<Option<usize>, SessionError> {
        let mut stopped_at = None;
        for Piece { reader, range, .. } in self.pieces.iter().rev() {
            let part = scope.start.max(range.start)..scope.end.min(range.end);
            if part.is_empty() || stopped_at.is_some() {
                continue;
            }
            let said = &reader.index().said()[part.start - range.start..part.end - range.start];
            let mut at = part.end;
            reader.visit_rows(said, Order::Backward, |_, row| {
                at -= 1;
                let is_wanted = wanted(row);
                if (is_wanted || at.is_multiple_of(ASK_EVERY)) && stop() {
                    stopped_at = Some(at);
                    return ControlFlow::Break(());
                }
                if let Some(entry) = is_wanted.then(|| parse(row)).flatten() {
                    each(at, &entry);
                }
                ControlFlow::Continue(())
            })?;
        }
        Ok(stopped_at)
    }

    fn by_words(
        &self,
        words: &[String],
        scope: &Range<usize>,
        most: usize,
        stop: &dyn Fn() -> bool,
    ) -> Result<Result<Found, Damaged>, SessionError> {
        let all = self.entries();
        let (direct, stopped_at) = self.look_directly(words, stop)?;
        let mut scores = vec![Score::default(); all.len()];
        for (number, word) in words.iter().enumerate() {
            let mut fits = Vec::with_capacity(all.len());
            for (at, piece) in self.pieces.iter().enumerate() {
                let start = fits.len();
                fits.resize(start + piece.covered(), Fit::None);
                if piece.look_up(word, &mut fits[start..]).is_err() {
                    return Ok(Err(Damaged(at)));
                }
                let direct = &direct[at];
                fits.extend(direct.iter().skip(number).step_by(words.len()));
            }
            let holders = fits.iter().filter(|fit| **fit != Fit::None).count();
            let rarity = rarity(holders, all.len());
            for (score, fit) in scores.iter_mut().zip(fits) {
                score.add(number, fit, rarity);
            }
        }
        let score = |at: usize| scores[at - all.start];
        let holding = scope.clone().filter(|&at| score(at).words > 0);
        let ranked: BinaryHeap<_> = holding.map(|at| (score(at).rank(), at)).collect();
        let total = ranked.len();
        let hits = descending(ranked).map(|(_, at)| Hit {
            at,
            word: score(at).rarest.into(),
        });
        let found = self.without_searches(hits, total, most)?;
        Ok(Ok(Found {
            stopped_at,
            ..found
        }))
    }

    /// How well each word fits each entry that no index covers, for each piece by itself, newest
    /// first as long as it is not stopped; of each entry all words, one after the other.
    fn look_directly(
        &self,
        words: &[String],
        stop: &dyn Fn() -> bool,
    ) -> Result<(Vec<Vec<Fit>>, Option<usize>), SessionError> {
        let mut stopped_at = None;
        let mut all = Vec::with_capacity(self.pieces.len());
        for piece in self.pieces.iter().rev() {
            let uncovered = piece.range.start + piece.covered()..piece.range.end;
            let mut fits = vec![Fit::None; uncovered.len() * words.len()];
            if stopped_at.is_none() {
                stopped_at = self.visit(
                    &uncovered,
                    stop,
                    |_| true,
                    |at, entry| {
                        let start = (at - uncovered.start) * words.len();
                        let fits = &mut fits[start..start + words.len()];
                        each_word(&text(entry), |found, _| {
                            for (term, best) in words.iter().zip(&mut *fits) {
                                *best = fit(term, found).max(*best);
                            }
                        });
                    },
                )?;
            }
            all.push(fits);
        }
        all.reverse();
        Ok((all, stopped_at))
    }

    /// The first `most` hits that are no results of searches.
    fn without_searches(
        &self,
        ranked: impl Iterator<Item = Hit>,
        total: usize,
        most: usize,
    ) -> Result<Found, SessionError> {
        let mut found = Found {
            total,
            ..Found::default()
        };
        for hit in ranked {
            if found.hits.len() == most {
                break;
            }
            match self.is_search(hit.at)? {
                true => found.total -= 1,
                false => found.hits.push(hit),
            }
        }
        Ok(found)
    }

    /// Whether an entry is the result of an earlier search.
    ///
    /// # Errors
    /// When the session cannot be read.
    pub fn is_search(&self, at: usize) -> Result<bool, SessionError> {
        let Some(piece) = self.pieces.iter().find(|piece| piece.range.contains(&at)) else {
            return Ok(false);
        };
        let (at, reader) = (at - piece.range.start, &piece.reader);
        let index = reader.index();
        let kind = |at: usize| index.rows()[index.said()[at] as usize].kind;
        if kind(at) != Kind::ToolResult {
            return Ok(false);
        }
        let Some(call) = (0..at).rfind(|&at| kind(at) == Kind::Message) else {
            return Ok(false);
        };
        let (message, result) = (reader.entry(call)?, reader.entry(at)?);
        let bodies = message.map(|it| it.body).zip(result.map(|it| it.body));
        let Some((EntryBody::Message(message), EntryBody::ToolResult(result))) = bodies else {
            return Ok(false);
        };
        Ok(calls_recall(&message, &result.tool_call_id))
    }
}

/// The index of the piece of this number.
struct Damaged(usize);

fn calls_recall(message: &MessageDetails, call: &str) -> bool {
    message.content.iter().any(|block| {
        matches!(block, ContentBlock::ToolCall { id, name, .. } if id == call && name == TOOL)
    })
}

fn descending<T: Ord>(mut heap: BinaryHeap<T>) -> impl Iterator<Item = T> {
    std::iter::from_fn(move || heap.pop())
}

/// How good an entry is.
#[derive(Debug, Clone, Copy, Default)]
struct Score {
    /// How many words it holds.
    words: u8,
    /// How many of them as they were given.
    same: u8,
    /// The rarest.
    rarest: u8,
    /// The rarity of that one.
    highest: u16,
    /// The sum of all rarities.
    rarity: u32,
}

impl Score {
    /// What counts most comes first.
    fn rank(self) -> (u8, u8, u32) {
        (self.words, self.same, self.rarity)
    }

    fn add(&mut self, word: usize, fit: Fit, rarity: u16) {
        if fit == Fit::None {
            return;
        }
        // A query has far fewer words than these have room for.
        self.words += 1;
        self.same += u8::from(fit == Fit::Same);
        self.rarity += u32::from(rarity);
        if rarity > self.highest {
            self.highest = rarity;
            self.rarest = word as u8;
        }
    }
}

/// How much a word says that `holders` of `count` entries hold: the logarithm, in small steps.
fn rarity(holders: usize, count: usize) -> u16 {
    if holders == 0 {
        return 0;
    }
    let times = count as f64 / holders as f64;
    1 + ((1.0 + times).log2() * 256.0) as u16
}
