//! A loader that parses everything and keeps everything: what the lazy one must agree with.

use std::path::Path;

use serde_json::Value;
use shard_types::{Checkpoint, EntryBody, SessionEntry};

/// A row as far as JSON goes, and the entry if its details fit.
struct Row {
    id: String,
    parent: Option<String>,
    entry: Option<SessionEntry>,
    kind: String,
    line: u64,
}

pub(crate) struct Full {
    /// The chain, without rows whose details do not fit.
    pub(crate) chain: Vec<SessionEntry>,
    /// What of it an agent goes on with.
    pub(crate) window: Vec<SessionEntry>,
    /// Lines that the lazy loader must report.
    pub(crate) damage: Vec<u64>,
}

/// Reads a file whose rows follow on one another, but for damage.
pub(crate) fn full(path: &Path) -> Full {
    let bytes = std::fs::read(path).unwrap();
    let (mut rows, mut damage): (Vec<Row>, Vec<u64>) = (Vec::new(), Vec::new());
    for (line, bytes) in (1..).zip(bytes.split(|byte| *byte == b'\n')) {
        if bytes.trim_ascii().is_empty() {
            continue;
        }
        let json: Option<Value> = serde_json::from_slice(bytes).ok();
        let id = json.as_ref().and_then(|json| json["id"].as_str());
        let Some(id) = id else {
            damage.push(line);
            continue;
        };
        let text = std::str::from_utf8(bytes).unwrap();
        rows.push(Row {
            id: id.to_owned(),
            parent: json.as_ref().unwrap()["parentId"]
                .as_str()
                .map(str::to_owned),
            entry: SessionEntry::from_json(text).ok(),
            kind: json.as_ref().unwrap()["type"].to_string(),
            line,
        });
    }
    let mut chain: Vec<Row> = Vec::new();
    while let Some(row) = rows.pop() {
        let parent = row.parent.clone();
        chain.push(row);
        if let Some(at) = rows
            .iter()
            .rposition(|row| Some(&row.id) == parent.as_ref())
        {
            rows.truncate(at + 1);
        }
    }
    chain.reverse();
    let start = window_start(&chain);
    let last = chain.iter().rposition(is_compaction);
    let keeps = |at: usize, entry: &SessionEntry| {
        let lasting = match &entry.body {
            EntryBody::Checkpoint(Checkpoint::ToolStarted { .. }) => false,
            EntryBody::Checkpoint(_) => true,
            EntryBody::Compaction(_) => Some(at) == last,
            _ => false,
        };
        let earlier = matches!(entry.body, EntryBody::Compaction(_)) && Some(at) != last;
        (at >= start && !earlier) || lasting
    };
    let unfit = chain.iter().enumerate().filter(|(at, row)| {
        let looked_at = match &*row.kind {
            "\"checkpoint\"" => true,
            "\"compaction\"" => last.is_none_or(|last| *at > last),
            _ => *at >= start,
        };
        looked_at && row.entry.is_none()
    });
    damage.extend(unfit.map(|(_, row)| row.line));
    damage.sort_unstable();
    let entries = || {
        chain
            .iter()
            .enumerate()
            .filter_map(|(at, row)| Some((at, row.entry.clone()?)))
    };
    Full {
        window: entries()
            .filter(|(at, entry)| keeps(*at, entry))
            .map(|(_, entry)| entry)
            .collect(),
        chain: entries().map(|(_, entry)| entry).collect(),
        damage,
    }
}

fn is_compaction(row: &Row) -> bool {
    let body = row.entry.as_ref().map(|entry| &entry.body);
    matches!(body, Some(EntryBody::Compaction(_)))
}

fn window_start(chain: &[Row]) -> usize {
    let bodies = chain.iter().rev().filter_map(|row| row.entry.as_ref());
    let place = |id: &shard_types::EntryId| chain.iter().position(|row| row.id == id.as_str());
    for entry in bodies {
        if let EntryBody::Compaction(details) = &entry.body {
            let after = || Some(place(&details.message_range.1)? + 1);
            return place(&details.first_kept_entry_id)
                .or_else(after)
                .unwrap_or(0);
        }
    }
    0
}
