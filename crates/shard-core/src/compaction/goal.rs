//! Session Goal: what the user set out to do, and where they changed course.

use std::sync::LazyLock;

use regex::Regex;
use shard_contracts::{Extractor, ExtractorContext};
use shard_types::NormalizedBlock;

use super::document::items;
use super::excerpt::{lines, start};
use super::turns::mark;

pub(super) const SECTION: &str = "Session Goal";
/// Bytes of the first task, and of each change of it.
const FIRST: usize = 1200;
const CHANGE: usize = 320;
/// A message this long is a task of its own, in whatever language it is.
const LONG: usize = 400;
/// So many bytes in common make an item and a message the same; of no item less is kept.
const SAME: usize = 40;
/// How far into a message a change of course is looked for, in bytes.
const LOOK: usize = 2000;

#[expect(clippy::unwrap_used, reason = "a constant that a test compiles")]
static SMALL_TALK: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r"(?i)^\W*(?:(?:ok(?:ay)?|y(?:es|ep|eah)?|no?|sure|go(?: on| ahead)?|continue|proceed|do it|please|thanks?(?: you)?|hi|hey|hello|great|nice|perfect|good|cool|lgtm|ja|nein|weiter|danke|hallo|oui|non|merci|bonjour|there)\W*)+$",
    )
    .unwrap()
});

/// How people begin when they add to a task or leave it, and what they say anywhere.
#[expect(clippy::unwrap_used, reason = "a constant that a test compiles")]
static CHANGES: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(concat!(
        r"(?im)^\W*(?:(?:ok(?:ay)?|so|and|but|great|good|nice|perfect|thanks|no|please|hmm|wait)\W+){0,3}",
        r"(?:now|also|next|then|instead|actually|wait|stop|forget|drop|new task|additionally|in addition|",
        r"furthermore|let'?s|one more|another|after that|from now on|as well)\b",
        r"|\b(?:change of plans?|new task|forget (?:that|it|about)|switch (?:over )?to|",
        r"rather than that|instead of|start over|never ?mind)\b",
    ))
    .unwrap()
});

pub(super) struct SessionGoal;

impl Extractor for SessionGoal {
    fn section(&self) -> &'static str {
        SECTION
    }

    fn extract(&self, blocks: &[NormalizedBlock], context: &ExtractorContext<'_>) -> Vec<String> {
        let known = items(context.previous_summary, SECTION);
        let mut goal = !known.is_empty();
        let mut told = Vec::new();
        let mut fallback = None;
        for (at, block) in blocks.iter().enumerate() {
            let NormalizedBlock::User { text } = block else {
                continue;
            };
            let mark = mark(context, at);
            if !mark.is_empty() && known.iter().any(|item| is_about(item, &mark, text)) {
                continue;
            }
            if SMALL_TALK.is_match(start(text, LOOK)) {
                fallback.get_or_insert_with(|| format!("{mark}{}", lines(text, CHANGE)));
            } else if !goal {
                goal = true;
                told.push(format!("{mark}{}", lines(text, FIRST)));
            } else if text.len() >= LONG || CHANGES.is_match(start(text, LOOK)) {
                told.push(format!("{mark}{}", lines(text, CHANGE)));
            }
        }
        if !goal {
            told.extend(fallback);
        }
        told
    }
}

/// Whether an item tells of this message. The mark alone does not say so: in a fork entries are
/// counted anew.
fn is_about(item: &str, mark: &str, text: &str) -> bool {
    let told = item.strip_prefix(mark);
    told.is_some_and(|told| start(told, SAME) == start(&lines(text, CHANGE), SAME))
}

#[cfg(test)]
mod tests;
