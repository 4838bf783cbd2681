//! Files And Changes: which files were made, changed and read, as far as tool calls tell.

use std::collections::HashMap;
use std::path::Path;
use std::sync::LazyLock;

use regex::Regex;
use serde_json::{Map, Value};
use shard_contracts::{Extractor, ExtractorContext};
use shard_types::NormalizedBlock;

use super::document::items;
use super::excerpt::line;
use super::shell_changes::shell_changes;

pub(super) const SECTION: &str = "Files And Changes";
/// Longest path shown, in bytes.
const PATH: usize = 160;

/// What happened to a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Read,
    Edited,
    Created,
    Removed,
}

impl Kind {
    pub(super) fn changes(self) -> bool {
        self != Self::Read
    }

    /// By the tool's name, since extensions bring tools that this build does not know. A name
    /// that says nothing does nothing.
    pub(super) fn of(tool: &str, answer: &str) -> Option<Self> {
        let tool = tool.to_ascii_lowercase();
        let says = |words: &[&str]| {
            let mut parts = tool.split(|c: char| !c.is_ascii_alphanumeric());
            parts.any(|part| words.iter().any(|word| part.starts_with(word)))
        };
        if says(&["write", "create"]) {
            let created = answer.contains(", a new file") || says(&["create"]);
            return Some(if created { Self::Created } else { Self::Edited });
        }
        if says(&["edit", "replace", "patch"]) {
            return Some(Self::Edited);
        }
        says(&["read", "view"]).then_some(Self::Read)
    }
}

/// One successful call that read or changed a file.
pub(super) struct Touch {
    /// The position of the call.
    pub(super) block: usize,
    /// Relative to the working folder where it lies below.
    pub(super) path: String,
    pub(super) kind: Kind,
}

/// Every file that a call read or changed, in the order of the calls.
pub(super) fn touched(blocks: &[NormalizedBlock], cwd: Option<&Path>) -> Vec<Touch> {
    let mut touched = Vec::new();
    for (block, step) in blocks.iter().enumerate() {
        match (step, blocks.get(block + 1)) {
            (
                NormalizedBlock::ToolCall { name, args },
                Some(NormalizedBlock::ToolResult {
                    text,
                    is_error: false,
                    ..
                }),
            ) => {
                let touch = path_of(args).zip(Kind::of(name, text));
                touched.extend(touch.map(|(path, kind)| Touch {
                    block,
                    path: relative(path, cwd),
                    kind,
                }));
            }
            (
                NormalizedBlock::Bash {
                    command,
                    exit_code: Some(0),
                    ..
                },
                _,
            ) => {
                let changes = shell_changes(command).into_iter();
                touched.extend(changes.map(|(kind, path)| Touch {
                    block,
                    path: relative(&path, cwd),
                    kind,
                }));
            }
            _ => {}
        }
    }
    touched
}

/// The file that a call is about.
pub(super) fn path_of(args: &Map<String, Value>) -> Option<&str> {
    let path = ["path", "file_path", "filename", "file"];
    let path = path.iter().find_map(|key| args.get(*key)?.as_str())?;
    (!path.trim().is_empty()).then_some(path)
}

/// A path as it is shown.
pub(super) fn relative(path: &str, cwd: Option<&Path>) -> String {
    let below = cwd.and_then(|cwd| Path::new(path).strip_prefix(cwd).ok());
    let below = below
        .and_then(Path::to_str)
        .filter(|below| !below.is_empty());
    let path = below.unwrap_or(path);
    line(path.strip_prefix("./").unwrap_or(path), PATH)
}

pub(super) struct FilesAndChanges;

impl Extractor for FilesAndChanges {
    fn section(&self) -> &'static str {
        SECTION
    }

    fn extract(&self, blocks: &[NormalizedBlock], context: &ExtractorContext<'_>) -> Vec<String> {
        let mut order: Vec<Seen> = Vec::new();
        let mut places: HashMap<String, usize> = HashMap::new();
        for touch in touched(blocks, context.cwd) {
            let at = *places.entry(touch.path.clone()).or_insert_with(|| {
                order.push(Seen::new(&touch.path));
                order.len() - 1
            });
            order[at].add(&touch);
        }
        let known = items(context.previous_summary, SECTION);
        let is_known = |seen: &Seen| known.iter().any(|item| is_about(item, &seen.path));
        let (changed, read): (Vec<_>, Vec<_>) =
            order.into_iter().partition(|seen| seen.changes > 0);
        // Reading a file again that is in the list says nothing new. What was only read comes
        // first, since the beginning is what goes when there is too much.
        let read = read.into_iter().filter(|seen| !is_known(seen));
        read.chain(changed).map(|seen| seen.told(context)).collect()
    }
}

/// What is known of one file.
struct Seen {
    path: String,
    created: bool,
    removed: bool,
    changes: usize,
    first: usize,
    last: usize,
}

impl Seen {
    fn new(path: &str) -> Self {
        Self {
            path: path.to_owned(),
            created: false,
            removed: false,
            changes: 0,
            first: 0,
            last: 0,
        }
    }

    fn add(&mut self, touch: &Touch) {
        if !touch.kind.changes() {
            return;
        }
        if self.changes == 0 {
            self.created = touch.kind == Kind::Created;
            self.first = touch.block;
        }
        self.removed = touch.kind == Kind::Removed;
        self.changes += 1;
        self.last = touch.block;
    }

    fn told(&self, context: &ExtractorContext<'_>) -> String {
        let places = [self.first, self.last].map(|block| context.origin(block));
        let line = Line {
            path: &self.path,
            created: self.created,
            removed: self.removed,
            changes: self.changes as u64,
            places: places[0].zip(places[1]),
        };
        line.to_string()
    }
}

/// One line of the section.
struct Line<'a> {
    path: &'a str,
    created: bool,
    removed: bool,
    /// How often it was written or edited; a file that was only read has none.
    changes: u64,
    /// The entries of the first and of the last change.
    places: Option<(u64, u64)>,
}

impl std::fmt::Display for Line<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let path = self.path;
        match (self.created, self.changes) {
            _ if self.removed => write!(f, "removed {path}")?,
            (_, 0) => return write!(f, "read {path}"),
            (true, 1) => write!(f, "created {path}")?,
            (true, changes) => write!(f, "created {path}, then edited ×{}", changes - 1)?,
            (false, changes) => write!(f, "edited {path} ×{changes}")?,
        }
        match self.places {
            Some((first, last)) if first != last => write!(f, " [{first}, {last}]"),
            Some((first, _)) => write!(f, " [{first}]"),
            None => Ok(()),
        }
    }
}

#[expect(clippy::unwrap_used, reason = "a constant that a test compiles")]
static LINE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(concat!(
        r"^(?:read (?<read>.+)|(?:(?<created>created)|(?<removed>removed)|edited) (?<path>.+?)(?:,? (?:then edited )?×(?<times>\d+))?",
        r"(?: \[(?<first>\d+)(?:, (?<last>\d+))?\])?)$",
    ))
    .unwrap()
});

impl<'a> Line<'a> {
    fn parse(item: &'a str) -> Option<Self> {
        let got = LINE.captures(item)?;
        let number = |name| got.name(name)?.as_str().parse::<u64>().ok();
        let created = got.name("created").is_some();
        let removed = got.name("removed").is_some();
        let first = number("first");
        let read = got.name("read");
        Some(Self {
            path: read.or(got.name("path"))?.as_str(),
            created,
            removed,
            changes: match read {
                Some(_) => 0,
                // A path may end as if it had a count, however large.
                None => number("times")
                    .unwrap_or(0)
                    .saturating_add(u64::from(created || removed)),
            },
            places: first.zip(number("last").or(first)),
        })
    }
}

/// The lines with those about one file made one, in the place of the last of them.
pub(super) fn joined(items: Vec<String>) -> Vec<String> {
    let mut known: HashMap<&str, Line<'_>> = HashMap::new();
    let mut newest_first: Vec<&str> = Vec::new();
    for item in items.iter().rev() {
        let Some(older) = Line::parse(item) else {
            newest_first.push(item);
            continue;
        };
        match known.get_mut(older.path) {
            Some(line) => {
                line.created = older.created || (line.created && older.changes == 0);
                line.changes = line.changes.saturating_add(older.changes);
                let last = line.places.or(older.places).map(|(_, last)| last);
                let first = older.places.or(line.places).map(|(first, _)| first);
                line.places = first.zip(last);
            }
            None => {
                newest_first.push(older.path);
                known.insert(older.path, older);
            }
        }
    }
    let told = newest_first.iter().rev();
    told.map(|item| known.get(item).map_or((*item).to_owned(), Line::to_string))
        .collect()
}

/// Whether a line of the section is about this file.
fn is_about(item: &str, path: &str) -> bool {
    let rest = item.split_once(' ').map_or("", |(_, rest)| rest);
    rest.strip_prefix(path)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', ',']))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_that_looks_like_a_count_is_no_sum_too_large() {
        let most = u64::MAX;
        let items = [
            format!("created a.rs, then edited ×{most} [3]"),
            "edited a.rs ×2 [5]".to_owned(),
            "edited b.rs ×1 [6]".to_owned(),
        ];
        assert_eq!(
            joined(items.to_vec()),
            [
                format!("created a.rs, then edited ×{} [3, 5]", most - 1),
                "edited b.rs ×1 [6]".to_owned()
            ]
        );
    }
}
