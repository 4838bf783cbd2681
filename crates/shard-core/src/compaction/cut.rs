//! Where a window may be cut.

use shard_types::{EntryBody, Role, SessionEntry};

use super::normalize::answers;
use super::size::estimate;

/// Where a window may be cut so that about `keep_recent_tokens` of the newest entries stay: the
/// index of the first entry that stays, more than 0. None when there is no safe cut, or nothing to
/// gain because all of it is no more than what shall stay.
///
/// A call and its result stay on one side, and with them all calls of the same message. The first
/// entry that stays is a message. What stays is as much as fits `keep_recent_tokens`; where even
/// the last message and its results are more than that, these stay. The start of a turn is
/// preferred when at least half of the wanted size stays with it.
#[must_use]
pub fn cut(entries: &[SessionEntry], keep_recent_tokens: u64) -> Option<usize> {
    let split = split_pairs(entries);
    let said = |entry: &SessionEntry| matches!(entry.body, EntryBody::Message(_));
    let first = entries.iter().position(said)?;
    let mut kept = 0u64;
    let mut best = None;
    let mut turn = None;
    for (at, entry) in entries.iter().enumerate().skip(first + 1).rev() {
        kept = kept.saturating_add(estimate(entry));
        if kept > keep_recent_tokens && best.is_some() {
            return turn.or(best);
        }
        if split[at] {
            continue;
        }
        let EntryBody::Message(message) = &entry.body else {
            continue;
        };
        best = Some(at);
        if message.role == Role::User && kept >= keep_recent_tokens / 2 {
            turn = Some(at);
        }
    }
    kept = kept.saturating_add(estimate(&entries[first]));
    (kept > keep_recent_tokens)
        .then_some(turn.or(best))
        .flatten()
}

/// For each position whether a cut before it would part a call from its result.
fn split_pairs(entries: &[SessionEntry]) -> Vec<bool> {
    let mut steps = vec![0i64; entries.len() + 1];
    for ((call, _), answer) in answers(entries.iter()) {
        steps[call + 1] += 1;
        steps[answer.at + 1] -= 1;
    }
    let open = steps.iter().scan(0, |open, step| {
        *open += step;
        Some(*open > 0)
    });
    open.collect()
}

#[cfg(test)]
mod tests;
