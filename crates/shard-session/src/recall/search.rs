//! Looking for entries, and ranking what was found.

use std::collections::BinaryHeap;
use std::ops::{ControlFlow, Range};
use std::path::{Path, PathBuf};

use regex::Regex;
use shard_types::{ContentBlock, EntryBody, MessageDetails};

use super::TOOL;
use super::build::place;
use super::inverted::Inverted;
use super::query::{Fit, Query, fit};
use super::text::text;
use super::words::each_word;
use crate::index::Order;
use crate::row::Kind;
use crate::{Reader, SessionError};

/// This much of a session may be without an index before one is worth writing, in bytes.
const BEHIND: u64 = 256 << 10;

/// A session that is open for searching.
#[derive(Debug)]
pub struct Recall {
    session: PathBuf,
    reader: Reader,
    inverted: Option<Inverted>,
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
        let mut recall = Self {
            session: session.to_owned(),
            reader: Reader::open(session)?,
            inverted: None,
        };
        recall.open_index();
        Ok(recall)
    }

    /// Takes up what was appended since, and an index that was written since.
    ///
    /// # Errors
    /// When the session cannot be read.
    pub fn refresh(&mut self) -> Result<(), SessionError> {
        self.reader.refresh()?;
        self.open_index();
        Ok(())
    }

    fn open_index(&mut self) {
        let path = place(&self.session);
        let known = self.inverted.as_ref();
        if known.is_none_or(|inverted| inverted.is_replaced(&path)) {
            self.inverted = Inverted::open(&path, &self.reader).ok();
        }
    }

    /// Reads single entries.
    #[must_use]
    pub fn reader(&self) -> &Reader {
        &self.reader
    }

    /// Whether so much is not in the index that it is worth to
    /// [bring it up to date](super::bring_up_to_date).
    #[must_use]
    pub fn is_behind(&self) -> bool {
        let index = self.reader.index();
        let row_end = |at: usize| {
            let row = &index.rows()[index.said()[at] as usize];
            row.offset + u64::from(row.length)
        };
        let end = |count: usize| count.checked_sub(1).map_or(0, row_end);
        end(index.len()).saturating_sub(end(self.covered())) > BEHIND
    }

    /// How many entries the index covers.
    fn covered(&self) -> usize {
        self.inverted.as_ref().map_or(0, Inverted::covered)
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
        let scope = scope.start..scope.end.min(self.reader.index().len());
        if scope.is_empty() {
            return Ok(Found::default());
        }
        match query {
            Query::Regex(regex) => self.by_regex(regex, scope, most, stop),
            Query::Words(words) => match self.by_words(words, scope.clone(), most, stop)? {
                Some(found) => Ok(found),
                None => {
                    // The index is damaged. Without it the same is found, only not as fast.
                    self.inverted = None;
                    _ = std::fs::remove_file(place(&self.session));
                    let found = self.by_words(words, scope, most, stop)?;
                    Ok(found.unwrap_or_default())
                }
            },
        }
    }

    fn by_regex(
        &self,
        regex: &Regex,
        scope: Range<usize>,
        most: usize,
        stop: &dyn Fn() -> bool,
    ) -> Result<Found, SessionError> {
        let mut matches = Vec::new();
        let mut stopped_at = None;
        self.reader.visit(scope, Order::Backward, |at, entry| {
            if stop() {
                stopped_at = Some(at);
                return ControlFlow::Break(());
            }
            if regex.is_match(&text(&entry)) {
                matches.push(at);
            }
            ControlFlow::Continue(())
        })?;
        let total = matches.len();
        let ranked = matches.into_iter().map(|at| Hit { at, word: 0 });
        let found = self.without_searches(ranked, total, most)?;
        Ok(Found {
            stopped_at,
            ..found
        })
    }

    /// None if the index turned out to be damaged.
    fn by_words(
        &self,
        words: &[String],
        scope: Range<usize>,
        most: usize,
        stop: &dyn Fn() -> bool,
    ) -> Result<Option<Found>, SessionError> {
        let count = self.reader.index().len();
        let covered = self.covered();
        let (direct, stopped_at) = self.look_directly(words, covered, stop)?;
        let mut scores = vec![Score::default(); count];
        for (number, word) in words.iter().enumerate() {
            let mut fits = vec![Fit::None; covered];
            let looked_up = self.inverted.as_ref().map_or(Ok(()), |inverted| {
                inverted.look_up(word, |at, fit| fits[at] = fits[at].max(fit))
            });
            if looked_up.is_err() {
                return Ok(None);
            }
            fits.extend(direct.iter().skip(number).step_by(words.len()));
            let holders = fits.iter().filter(|fit| **fit != Fit::None).count();
            let rarity = rarity(holders, count);
            for (score, fit) in scores.iter_mut().zip(fits) {
                score.add(number, fit, rarity);
            }
        }
        let holding = scope.filter(|&at| scores[at].words > 0);
        let ranked: BinaryHeap<_> = holding.map(|at| (scores[at].rank(), at)).collect();
        let total = ranked.len();
        let hits = descending(ranked).map(|(_, at)| Hit {
            at,
            word: scores[at].rarest.into(),
        });
        let found = self.without_searches(hits, total, most)?;
        Ok(Some(Found {
            stopped_at,
            ..found
        }))
    }

    /// How well each word fits each entry that the index does not cover, newest first as long as
    /// it is not stopped; of each entry all words, one after the other.
    fn look_directly(
        &self,
        words: &[String],
        covered: usize,
        stop: &dyn Fn() -> bool,
    ) -> Result<(Vec<Fit>, Option<usize>), SessionError> {
        let count = self.reader.index().len();
        let mut fits = vec![Fit::None; (count - covered) * words.len()];
        let mut stopped_at = None;
        self.reader
            .visit(covered..count, Order::Backward, |at, entry| {
                if stop() {
                    stopped_at = Some(at);
                    return ControlFlow::Break(());
                }
                let start = (at - covered) * words.len();
                let fits = &mut fits[start..start + words.len()];
                each_word(&text(&entry), |found, _| {
                    for (term, best) in words.iter().zip(&mut *fits) {
                        *best = fit(term, found).max(*best);
                    }
                });
                ControlFlow::Continue(())
            })?;
        Ok((fits, stopped_at))
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
        let index = self.reader.index();
        let kind = |at: usize| index.rows()[index.said()[at] as usize].kind;
        if kind(at) != Kind::ToolResult {
            return Ok(false);
        }
        let Some(call) = (0..at).rfind(|&at| kind(at) == Kind::Message) else {
            return Ok(false);
        };
        let (message, result) = (self.reader.entry(call)?, self.reader.entry(at)?);
        let bodies = message.map(|it| it.body).zip(result.map(|it| it.body));
        let Some((EntryBody::Message(message), EntryBody::ToolResult(result))) = bodies else {
            return Ok(false);
        };
        Ok(calls_recall(&message, &result.tool_call_id))
    }
}

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
