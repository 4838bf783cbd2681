//! What the model reads of entries: a line for each, or all of a few.

use std::ops::Range;
use std::time::{Duration, UNIX_EPOCH};

use shard_session::SessionError;
use shard_session::recall::{self, Found, Part, Query, Recall};
use shard_types::{EntryBody, Role, SessionEntry};

use crate::tools::visible;

/// Bytes of an output that are kept for the notes at its end.
const NOTES: usize = 400;

/// Bytes of an entry that are shown before a match, and in all.
const BEFORE: usize = 80;
const EXCERPT: usize = 280;

/// How many entries are shown in full at most.
const EXPANDED: usize = 50;

/// An output that grows up to its bound.
pub(super) struct Page {
    text: String,
    room: usize,
    notes: Vec<String>,
}

impl Page {
    /// An empty one for an output of at most `max` bytes.
    pub(super) fn new(max: usize) -> Self {
        Self {
            text: String::new(),
            room: max.saturating_sub(NOTES).max(max / 2),
            notes: Vec::new(),
        }
    }

    pub(super) fn text(mut self) -> String {
        for note in self.notes {
            self.text += &format!("[{note}]\n");
        }
        self.text
    }

    /// Adds a line; false when it does not fit.
    fn line(&mut self, line: &str) -> bool {
        let fits = self.text.len() + line.len() < self.room;
        if fits {
            self.text += line;
            self.text.push('\n');
        }
        fits
    }

    /// The hits of a search, best first.
    pub(super) fn found(
        &mut self,
        recall: &Recall,
        query: &Query,
        found: &Found,
    ) -> Result<(), SessionError> {
        let mut shown = 0;
        for hit in &found.hits {
            let Some(entry) = recall.entry(hit.at)? else {
                continue;
            };
            let text = recall::text(&entry);
            let place = query.place(&text, hit.word).unwrap_or(0..0);
            if !self.line(&line(hit.at, &entry, &text, place)) {
                break;
            }
            shown += 1;
        }
        if found.total == 0 {
            self.notes.push("nothing found".to_owned());
        } else if shown < found.total {
            self.notes.push(format!(
                "{shown} of {}; for others raise recent, or narrow query or scope",
                visible::count(found.total as u64, "hit")
            ));
        }
        if let Some(at) = found.stopped_at {
            self.notes.push(format!(
                "the search took too long and ended at index {at}; go on with scope ..{}",
                at + 1
            ));
        }
        Ok(())
    }

    /// The newest entries, oldest of them first. Searches are left out.
    pub(super) fn list(
        &mut self,
        recall: &Recall,
        range: Range<usize>,
        most: usize,
    ) -> Result<(), SessionError> {
        let (mut lines, mut room, mut first) = (Vec::new(), self.room, range.start);
        for at in range.clone().rev() {
            let Some(entry) = recall.entry(at)? else {
                continue;
            };
            let text = recall::text(&entry);
            if text.is_empty() || recall.is_search(at)? {
                continue;
            }
            let line = line(at, &entry, &text, 0..0);
            if lines.len() == most || line.len() + 1 >= room {
                first = at + 1;
                break;
            }
            room -= line.len() + 1;
            lines.push(line);
        }
        for line in lines.iter().rev() {
            self.line(line);
        }
        if lines.is_empty() {
            self.notes.push("the scope has no entries".to_owned());
        } else if first > range.start {
            let start = match range.start {
                0 => String::new(),
                start => start.to_string(),
            };
            self.notes
                .push(format!("older entries: scope {start}..{first}"));
        }
        Ok(())
    }

    /// Entries in full, as far as there is room.
    pub(super) fn expand(
        &mut self,
        recall: &Recall,
        indexes: &[usize],
        query: Option<&Query>,
    ) -> Result<(), SessionError> {
        let all = recall.entries();
        for (number, &at) in indexes.iter().enumerate() {
            if !all.contains(&at) {
                let (first, last) = (all.start, all.end.saturating_sub(1));
                self.line(&match recall.lost().filter(|_| at < first) {
                    Some(lost) => format!("[{at}] is not there any more: the session {lost}, which this one was split off from, is gone"),
                    None => format!("[{at}] is not there: indexes go from {first} to {last}"),
                });
                continue;
            }
            let added = match recall.entry(at)? {
                Some(entry) => self.whole(at, &entry, query),
                None => self.line(&format!(
                    "[{at}] is damaged in the session file and cannot be read"
                )),
            };
            if !added || number + 1 == EXPANDED {
                let left: Vec<String> = indexes[number + usize::from(added)..]
                    .iter()
                    .take(20)
                    .map(usize::to_string)
                    .collect();
                if !left.is_empty() {
                    let left = left.join(", ");
                    self.notes
                        .push(format!("no room for more; go on with expand [{left}]"));
                }
                break;
            }
        }
        Ok(())
    }

    /// Adds an entry in full. The first one is cut to the room that there is; of any other it
    /// says whether it fits.
    fn whole(&mut self, at: usize, entry: &SessionEntry, query: Option<&Query>) -> bool {
        let head = head(at, entry);
        let text = visible::controls(&labelled(entry)).into_owned();
        let room = self.room.saturating_sub(self.text.len() + head.len() + 2);
        if text.len() < room {
            return self.line(&format!("{head}\n{text}"));
        }
        if !self.text.is_empty() {
            return false;
        }
        let found = query.and_then(|query| first_match(query, &text));
        let start = text.floor_char_boundary(found.unwrap_or(0).saturating_sub(BEFORE));
        let shown = visible::head(&text[start..], room.saturating_sub(2));
        let (end, length) = (start + shown.len(), text.len());
        self.line(&format!("{head}\n{shown}"));
        self.notes.push(match query {
            Some(_) => format!("[{at}]: bytes {start} to {end} of {length}"),
            None => format!(
                "[{at}]: bytes {start} to {end} of {length}; with a query too, it is shown from the first match on"
            ),
        });
        true
    }
}

fn first_match(query: &Query, text: &str) -> Option<usize> {
    let words = match query {
        Query::Words(words) => words.len(),
        Query::Regex(_) => 1,
    };
    let mut places = (0..words).filter_map(|word| query.place(text, word));
    places.next().map(|place| place.start)
}

/// The entry's index, id, speaker and time.
fn head(at: usize, entry: &SessionEntry) -> String {
    let speaker = match &entry.body {
        EntryBody::Message(details) if details.role == Role::User => "user",
        EntryBody::Message(_) => "assistant",
        _ => "tool_result",
    };
    let time = UNIX_EPOCH.checked_add(Duration::from_millis(entry.timestamp));
    let time = time.map_or_else(String::new, httpdate::fmt_http_date);
    format!("[{at}] {} {speaker} {time}", entry.id)
}

/// The head, and what stands around a place of the text, on one line.
fn line(at: usize, entry: &SessionEntry, text: &str, place: Range<usize>) -> String {
    let start = text.floor_char_boundary(place.start.saturating_sub(BEFORE));
    let end = text.floor_char_boundary(start.saturating_add(EXCERPT).min(text.len()));
    let words: Vec<&str> = text[start..end].split_whitespace().collect();
    let before = if start > 0 { "…" } else { "" };
    let after = if end < text.len() { "…" } else { "" };
    let excerpt = words.join(" ");
    format!(
        "{} {before}{}{after}",
        head(at, entry),
        visible::line(&excerpt)
    )
}

/// All parts of an entry, with what they are where that is not plain.
fn labelled(entry: &SessionEntry) -> String {
    let parts = recall::parts(entry)
        .into_iter()
        .map(|(part, text)| match part {
            Part::Said | Part::Result => text,
            Part::Thought => format!("(thought) {text}"),
            Part::Call => format!("(call) {text}"),
            Part::Error => format!("(error) {text}"),
            Part::Image => format!("(picture) {text}"),
        });
    parts.collect::<Vec<_>>().join("\n")
}
