//! Stand-in until the compactor is merged.
use shard_types::*;
pub fn estimate_text(text: &str) -> u64 {
    (text.len() as u64).div_ceil(4)
}
pub fn estimate(entry: &SessionEntry) -> u64 {
    match &entry.body {
        EntryBody::Message(m) => m
            .content
            .iter()
            .map(|b| match b {
                ContentBlock::Text { text } => estimate_text(text),
                ContentBlock::ToolCall { args, .. } => {
                    estimate_text(&serde_json::to_string(args).unwrap())
                }
                _ => 10,
            })
            .sum(),
        EntryBody::ToolResult(r) => match &r.content {
            ToolResultContent::Text { text } => estimate_text(text),
            _ => 10,
        },
        _ => 0,
    }
}
pub fn cut(entries: &[SessionEntry], keep: u64) -> Option<usize> {
    let mut kept = 0;
    let mut at = entries.len();
    for (i, e) in entries.iter().enumerate().rev() {
        if kept >= keep && at < entries.len() {
            break;
        }
        kept += estimate(e);
        if matches!(e.body, EntryBody::Message(_)) {
            at = i;
        }
    }
    (at > 0 && at < entries.len()).then_some(at)
}
pub fn oversized(entries: &[SessionEntry]) -> Vec<usize> {
    (0..entries.len())
        .filter(|&i| {
            matches!(entries[i].body, EntryBody::ToolResult(_)) && estimate(&entries[i]) > 500
        })
        .collect()
}
pub fn shorten(text: &str, index: u64) -> String {
    format!(
        "{}\n[shortened; recall with expand [{index}] gives it whole]",
        &text[..text.len().min(400)]
    )
}
pub fn normalize(entries: &[SessionEntry]) -> Vec<NormalizedBlock> {
    entries
        .iter()
        .filter_map(|e| match &e.body {
            EntryBody::Message(m) => Some(NormalizedBlock::User {
                text: format!("{:?}", m.content),
            }),
            _ => None,
        })
        .collect()
}
