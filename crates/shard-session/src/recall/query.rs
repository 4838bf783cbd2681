//! What is searched for.

use std::ops::Range;

use super::expression::Expression;
use super::words::each_word;

/// How many words of a query count.
const WORDS: usize = 32;

/// A word of at least this many characters also finds what begins with it.
const PREFIX: usize = 3;

/// A query.
#[derive(Debug, Clone)]
pub enum Query {
    /// Words, without repetition.
    Words(Vec<String>),
    /// A regular expression.
    Regex(Expression),
}

/// Why a query cannot be searched for.
#[derive(Debug, thiserror::Error)]
pub enum BadQuery {
    /// It has no letter and no digit.
    #[error(
        "the query {0:?} has no word to search for; to search for such a text, write it as a regular expression between slashes"
    )]
    NoWord(String),
    /// The regular expression is not valid, or too large.
    #[error(
        "the regular expression between the slashes is not valid: {0}; without slashes it is searched for as words"
    )]
    Regex(#[source] regex::Error),
}

/// How well a word of a text fits one of a query.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(crate) enum Fit {
    #[default]
    None,
    /// The text's word begins with it.
    Prefix,
    Same,
}

/// Whether a word also finds what begins with it.
pub(crate) fn is_prefix(term: &str) -> bool {
    term.chars().nth(PREFIX - 1).is_some()
}

pub(crate) fn fit(term: &str, word: &str) -> Fit {
    match word.strip_prefix(term) {
        Some("") => Fit::Same,
        Some(_) if is_prefix(term) => Fit::Prefix,
        _ => Fit::None,
    }
}

impl Query {
    /// Words; or a regular expression between slashes, `/…/`, or `/…/i` if case does not count.
    ///
    /// # Errors
    /// [`BadQuery`].
    pub fn parse(query: &str) -> Result<Self, BadQuery> {
        let query = query.trim();
        if let Some((pattern, ignore_case)) = between_slashes(query) {
            let expression = Expression::new(pattern, ignore_case);
            return expression.map(Self::Regex).map_err(BadQuery::Regex);
        }
        let mut words: Vec<String> = Vec::new();
        each_word(query, |word, _| {
            if words.len() < WORDS && !words.iter().any(|known| known == word) {
                words.push(word.to_owned());
            }
        });
        match words.is_empty() {
            true => Err(BadQuery::NoWord(query.chars().take(80).collect())),
            false => Ok(Self::Words(words)),
        }
    }

    /// Where a text shows what was found: a match of the expression, or the place of the word of
    /// this number, whole before its beginning.
    #[must_use]
    pub fn place(&self, text: &str, word: usize) -> Option<Range<usize>> {
        match self {
            Self::Regex(expression) => expression.regex.find(text).map(|found| found.range()),
            Self::Words(words) => {
                let term = words.get(word)?;
                let mut best = (Fit::None, None);
                each_word(text, |word, range| {
                    let fit = fit(term, word);
                    if fit > best.0 {
                        best = (fit, Some(range));
                    }
                });
                best.1
            }
        }
    }
}

fn between_slashes(query: &str) -> Option<(&str, bool)> {
    let inner = query.strip_prefix('/')?;
    let (pattern, ignore_case) = match inner.strip_suffix("/i") {
        Some(pattern) => (pattern, true),
        None => (inner.strip_suffix('/')?, false),
    };
    (!pattern.is_empty()).then_some((pattern, ignore_case))
}
