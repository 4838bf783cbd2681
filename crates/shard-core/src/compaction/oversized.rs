//! Results that are worth shortening when nothing can be cut.

use shard_types::{EntryBody, SessionEntry, ToolResultContent};

use super::excerpt::{end, start};
use super::size::result_bytes;

/// A result up to this many bytes stays whole: less would win too little.
const LARGE: u64 = 8 * 1024;
/// How many results are named at most.
const MOST: usize = 64;
/// What stays of the beginning and of the end, in bytes.
const HEAD: usize = 2 * 1024;
const TAIL: usize = 1024;

/// The positions of results so large that shortening them is worth it, largest first, at most 64.
/// Failures are never among them: they are what the model has to act on.
#[must_use]
pub fn oversized(entries: &[SessionEntry]) -> Vec<usize> {
    let mut large: Vec<(u64, usize)> = Vec::new();
    for (at, entry) in entries.iter().enumerate() {
        let EntryBody::ToolResult(details) = &entry.body else {
            continue;
        };
        let failed = details.is_error || matches!(details.content, ToolResultContent::Error { .. });
        let bytes = result_bytes(&details.content);
        if !failed && bytes > LARGE {
            large.push((bytes, at));
        }
    }
    // The oldest first among those of one size.
    large.sort_by(|(a, at_a), (b, at_b)| b.cmp(a).then(at_a.cmp(at_b)));
    large.into_iter().take(MOST).map(|(_, at)| at).collect()
}

/// What a result reads once it is shortened: its beginning, its end, and how to have all of it.
/// `recall_index` is the index of its entry in the session. A text that is short stays as it is.
#[must_use]
pub fn shorten(text: &str, recall_index: u64) -> String {
    if text.len() as u64 <= LARGE {
        return text.to_owned();
    }
    let (head, tail) = (start(text, HEAD), end(text, TAIL));
    let gone = text.len() - head.len() - tail.len();
    format!(
        "{head}\n[{gone} bytes left out to make room; recall with expand [{recall_index}] gives the whole]\n{tail}"
    )
}
