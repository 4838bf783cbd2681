//! Which part of a session is looked at.

use std::ops::Range;
use std::str::FromStr;

use shard_session::recall::Recall;

/// A part of a session, as a call names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Scope {
    All,
    /// Since the last summary.
    Latest,
    /// What the summary of this number stands for.
    Compaction(u64),
    Indexes(Range<usize>),
}

impl FromStr for Scope {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let scope = match text.trim() {
            "all" | "" => Some(Self::All),
            "latest" => Some(Self::Latest),
            text => match text.split_once("..") {
                Some((start, end)) => indexes(start, end),
                None => {
                    let number = text.strip_prefix("compaction:").map(str::trim);
                    number.and_then(|number| Some(Self::Compaction(number.parse().ok()?)))
                }
            },
        };
        scope.ok_or_else(|| {
            "scope does not fit: it is all, latest, compaction:<n> or indexes such as 100..200"
                .to_owned()
        })
    }
}

fn indexes(start: &str, end: &str) -> Option<Scope> {
    let number = |text: &str, missing| match text.trim() {
        "" => Some(missing),
        text => text.parse().ok(),
    };
    Some(Scope::Indexes(number(start, 0)?..number(end, usize::MAX)?))
}

impl Scope {
    /// The indexes of its entries.
    pub(super) fn range(&self, recall: &Recall) -> Result<Range<usize>, String> {
        let failed = |error: shard_session::SessionError| error.to_string();
        let all = recall.entries();
        let range = match self {
            Self::All => all.clone(),
            Self::Latest => recall.window_start().map_err(failed)?..all.end,
            Self::Compaction(number) => {
                let compactions = recall.compactions().map_err(failed)?;
                let found = compactions.iter().rfind(|(known, _)| known == number);
                let Some((_, range)) = found else {
                    return Err(no_compaction(*number, &compactions, recall));
                };
                range.clone()
            }
            Self::Indexes(range) => range.clone(),
        };
        let within = |at: usize| at.clamp(all.start, all.end);
        Ok(within(range.start)..within(range.end))
    }
}

fn no_compaction(number: u64, known: &[(u64, Range<usize>)], recall: &Recall) -> String {
    if let Some(lost) = recall.lost() {
        return format!(
            "there is no compaction {number} any more: the session {lost}, which this one was split off from, is gone"
        );
    }
    let known: Vec<String> = known.iter().map(|(known, _)| known.to_string()).collect();
    match known.is_empty() {
        true => format!("there is no compaction {number}: this session has none; use scope all"),
        false => format!(
            "there is no compaction {number}; there are: {}",
            known.join(", ")
        ),
    }
}
