//! Earlier Turns: for each message of the user one line with what was asked, done and said last.

use std::collections::BTreeMap;

use shard_contracts::{Extractor, ExtractorContext};
use shard_types::NormalizedBlock;

use super::excerpt::{first_line, line};
use super::files::{self, Touch};

pub(super) const SECTION: &str = "Earlier Turns";
/// Bytes of what was asked, and of what was said last.
const ASKED: usize = 140;
const OUTCOME: usize = 160;
/// Files named.
const FILES: usize = 4;

/// What lies between two messages of the user.
pub(super) struct Turn {
    /// The positions of its blocks.
    pub(super) blocks: std::ops::Range<usize>,
    /// How many of them are the user's: none in a turn that began before the first block.
    pub(super) asked: usize,
}

/// The turns of a conversation, oldest first. Words of the user that follow each other belong to
/// one turn.
pub(super) fn turns(blocks: &[NormalizedBlock]) -> Vec<Turn> {
    let mut turns: Vec<Turn> = Vec::new();
    for (at, block) in blocks.iter().enumerate() {
        let asks = matches!(block, NormalizedBlock::User { .. });
        match turns.last_mut() {
            Some(turn) if !asks || turn.blocks.len() == turn.asked => {
                turn.blocks.end = at + 1;
                turn.asked += usize::from(asks);
            }
            _ => turns.push(Turn {
                blocks: at..at + 1,
                asked: usize::from(asks),
            }),
        }
    }
    turns
}

/// How to have the entries of these blocks again.
pub(super) fn breadcrumb(
    context: &ExtractorContext<'_>,
    blocks: impl Iterator<Item = usize>,
) -> String {
    let mut indices: Vec<u64> = blocks.filter_map(|block| context.origin(block)).collect();
    indices.sort_unstable();
    indices.dedup();
    let indices: Vec<_> = indices.iter().map(u64::to_string).collect();
    let scope = format!("recall: scope=compaction:{}", context.compaction_index);
    match indices.is_empty() {
        true => scope,
        false => format!("{scope} index=[{}]", indices.join(", ")),
    }
}

/// `[n]` with the index of the block's entry and a space, or nothing where it is not known.
pub(super) fn mark(context: &ExtractorContext<'_>, block: usize) -> String {
    let mark = |index| format!("[{index}] ");
    context.origin(block).map(mark).unwrap_or_default()
}

pub(super) struct EarlierTurns;

impl Extractor for EarlierTurns {
    fn section(&self) -> &'static str {
        SECTION
    }

    fn extract(&self, blocks: &[NormalizedBlock], context: &ExtractorContext<'_>) -> Vec<String> {
        let touched = files::touched(blocks, context.cwd);
        let mut touched = touched.as_slice();
        let turns = turns(blocks).into_iter().map(|turn| {
            let count = touched
                .iter()
                .take_while(|touch| touch.block < turn.blocks.end);
            let (of_turn, later) = touched.split_at(count.count());
            touched = later;
            told(&turn, blocks, of_turn, context)
        });
        turns.collect()
    }
}

fn told(
    turn: &Turn,
    blocks: &[NormalizedBlock],
    touched: &[Touch],
    context: &ExtractorContext<'_>,
) -> String {
    let of_turn = &blocks[turn.blocks.clone()];
    let mut words = of_turn.iter().filter_map(|block| match block {
        NormalizedBlock::User { text } => Some(text.as_str()),
        _ => None,
    });
    let asked = match words.next_back() {
        Some(text) => format!("asked \"{}\"", line(text, ASKED)),
        None => "went on with the turn before".to_owned(),
    };
    let said = of_turn.iter().enumerate().rfind(|(_, block)| {
        !matches!(
            block,
            NormalizedBlock::Thinking { .. } | NormalizedBlock::User { .. }
        )
    });
    let (last, outcome) = match said {
        Some((at, NormalizedBlock::Assistant { text })) => (
            Some(at),
            format!("; said \"{}\"", line(first_line(text), OUTCOME)),
        ),
        Some((at, _)) => (Some(at), "; no word of the model after that".to_owned()),
        None => (None, "; no answer yet".to_owned()),
    };
    // A turn that goes on is found again by its first step.
    let ends = std::iter::once(turn.asked.saturating_sub(1)).chain(last);
    let breadcrumb = breadcrumb(context, ends.map(|at| turn.blocks.start + at));
    format!(
        "{asked}{}{}{outcome} ({breadcrumb})",
        tools(of_turn),
        changed(touched)
    )
}

/// The tools that ran, most used first.
fn tools(blocks: &[NormalizedBlock]) -> String {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for block in blocks {
        match block {
            NormalizedBlock::ToolCall { name, .. } => *counts.entry(name).or_default() += 1,
            NormalizedBlock::Bash { .. } => *counts.entry("bash").or_default() += 1,
            _ => {}
        }
    }
    let mut counts: Vec<_> = counts.into_iter().collect();
    counts.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let shown = counts
        .iter()
        .take(5)
        .map(|(name, count)| format!("{} ×{count}", line(name, 30)));
    let shown: Vec<_> = shown.collect();
    match shown.is_empty() {
        true => String::new(),
        false => format!("; ran {}", shown.join(", ")),
    }
}

fn changed(touched: &[Touch]) -> String {
    let mut paths: Vec<&str> = Vec::new();
    for touch in touched.iter().filter(|touch| touch.kind.changes()) {
        if !paths.contains(&touch.path.as_str()) && paths.len() <= FILES {
            paths.push(&touch.path);
        }
    }
    let more = if paths.len() > FILES { ", …" } else { "" };
    paths.truncate(FILES);
    match paths.is_empty() {
        true => String::new(),
        false => format!("; changed {}{more}", paths.join(", ")),
    }
}
