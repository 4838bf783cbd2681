//! What changed in a file, as hunks to draw.

use std::time::{Duration, Instant};

use shard_types::{Hunk, HunkLine, LineKind, RenderDescriptor};
use similar::{Algorithm, ChangeTag, DiffOp, capture_diff_slices_deadline, group_diff_ops};

use super::visible;

/// Unchanged lines around a change, as usual in a unified diff.
const CONTEXT: usize = 3;
/// More lines than a person reads in one go; every client and the session carry them.
const MAX_LINES: usize = 400;
/// Bytes of one line.
const MAX_LINE: usize = 500;
/// Past this the diff is coarser, not later.
const PATIENCE: Duration = Duration::from_millis(200);

/// The difference between two versions of a file.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Change {
    /// The changed places, cut after `MAX_LINES` lines.
    pub(crate) hunks: Vec<Hunk>,
    /// Lines only in the new version, of all places.
    pub(crate) added: u64,
    /// Lines only in the old version, of all places.
    pub(crate) removed: u64,
}

impl Change {
    /// Compares line by line.
    pub(crate) fn between(old: &[u8], new: &[u8]) -> Self {
        let start = same_start(old, new);
        let tail = same_tail(&old[start..], &new[start..]);
        let before = memchr::memchr_iter(b'\n', &old[..start]).count();
        let old_lines = lines(&old[start..old.len() - tail]);
        let new_lines = lines(&new[start..new.len() - tail]);
        let deadline = Some(Instant::now() + PATIENCE);
        let ops = capture_diff_slices_deadline(Algorithm::Myers, &old_lines, &new_lines, deadline);
        let (mut added, mut removed) = (0, 0);
        for op in ops.iter().filter(|op| !matches!(op, DiffOp::Equal { .. })) {
            added += op.new_range().len() as u64;
            removed += op.old_range().len() as u64;
        }
        let hunks = hunks(ops, &old_lines, &new_lines, before);
        Self {
            hunks,
            added,
            removed,
        }
    }

    /// To draw.
    pub(crate) fn render(self, path: &str) -> RenderDescriptor {
        RenderDescriptor::Diff {
            path: path.to_owned(),
            hunks: self.hunks,
        }
    }
}

fn lines(bytes: &[u8]) -> Vec<&[u8]> {
    bytes.split_inclusive(|byte| *byte == b'\n').collect()
}

/// Where the first line stands that is of interest: a little before the first difference. Most
/// changes are small, and a file may be large.
fn same_start(old: &[u8], new: &[u8]) -> usize {
    let same = old.iter().zip(new).take_while(|(a, b)| a == b).count();
    let mut endings = memchr::memrchr_iter(b'\n', &old[..same]);
    endings.nth(CONTEXT).map_or(0, |at| at + 1)
}

/// How many bytes at the end are of no interest.
fn same_tail(old: &[u8], new: &[u8]) -> usize {
    let pairs = old.iter().rev().zip(new.iter().rev());
    let same = pairs.take_while(|(a, b)| a == b).count();
    let tail = &old[old.len() - same..];
    let mut endings = memchr::memchr_iter(b'\n', tail);
    endings.nth(CONTEXT).map_or(0, |at| same - at - 1)
}

fn hunks(ops: Vec<DiffOp>, old: &[&[u8]], new: &[&[u8]], before: usize) -> Vec<Hunk> {
    let mut left = MAX_LINES;
    let mut hunks = Vec::new();
    for group in group_diff_ops(ops, CONTEXT) {
        if left == 0 {
            break;
        }
        let changes = group.iter().flat_map(|op| op.iter_changes(old, new));
        let lines: Vec<HunkLine> = changes
            .take(left)
            .map(|change| hunk_line(change.tag(), change.value()))
            .collect();
        left -= lines.len();
        if let Some(first) = group.first() {
            let starts = (
                first.old_range().start + before,
                first.new_range().start + before,
            );
            hunks.push(hunk(starts, lines));
        }
    }
    hunks
}

fn hunk((old_before, new_before): (usize, usize), lines: Vec<HunkLine>) -> Hunk {
    let without = |kind| lines.iter().filter(|line| line.kind != kind).count();
    let (old_lines, new_lines) = (without(LineKind::Add), without(LineKind::Del));
    let first = |before: usize, lines: usize| if lines == 0 { 0 } else { number(before + 1) };
    Hunk {
        old_start: first(old_before, old_lines),
        old_lines: number(old_lines),
        new_start: first(new_before, new_lines),
        new_lines: number(new_lines),
        lines,
    }
}

fn number(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

fn hunk_line(tag: ChangeTag, line: &[u8]) -> HunkLine {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    // Cut before the conversion, which may be of a line of many megabytes.
    let text = visible::text(&line[..line.len().min(MAX_LINE * 4)]);
    HunkLine {
        kind: match tag {
            ChangeTag::Equal => LineKind::Context,
            ChangeTag::Insert => LineKind::Add,
            ChangeTag::Delete => LineKind::Del,
        },
        text: visible::short(&text, MAX_LINE),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The hunks as a unified diff.
    pub(crate) fn unified(change: &Change) -> String {
        let mut out = String::new();
        for hunk in &change.hunks {
            let Hunk {
                old_start,
                old_lines,
                new_start,
                new_lines,
                lines,
            } = hunk;
            out += &format!("@@ -{old_start},{old_lines} +{new_start},{new_lines} @@\n");
            for line in lines {
                let mark = match line.kind {
                    LineKind::Context => ' ',
                    LineKind::Add => '+',
                    LineKind::Del => '-',
                };
                out += &format!("{mark}{}\n", line.text);
            }
        }
        out
    }

    fn numbered(count: usize) -> String {
        (1..=count).map(|n| format!("line {n}\n")).collect()
    }

    #[test]
    fn a_change_far_down_has_its_own_numbers() {
        let old = numbered(100);
        let new = old.replace("line 50\n", "line fifty\nand more\n");
        let change = Change::between(old.as_bytes(), new.as_bytes());
        let want = "@@ -47,7 +47,8 @@\n line 47\n line 48\n line 49\n-line 50\n+line fifty\n\
                    +and more\n line 51\n line 52\n line 53\n";
        assert_eq!(unified(&change), want);
        assert_eq!((change.added, change.removed), (2, 1));
    }

    #[test]
    fn an_empty_side_starts_at_0() {
        let made = Change::between(b"", b"a\r\nb\x1b[2J");
        assert_eq!(unified(&made), "@@ -0,0 +1,2 @@\n+a\n+b␛[2J\n");
        let emptied = Change::between(b"a\n", b"");
        assert_eq!(unified(&emptied), "@@ -1,1 +0,0 @@\n-a\n");
    }

    #[test]
    fn a_big_change_is_cut_and_still_counted() {
        let change = Change::between(b"", numbered(5000).as_bytes());
        assert_eq!((change.hunks.len(), change.added), (1, 5000));
        assert_eq!(change.hunks[0].lines.len(), MAX_LINES);
        assert_eq!(change.hunks[0].new_lines as usize, MAX_LINES);
        let long = Change::between(b"", "é".repeat(100_000).as_bytes());
        assert!(long.hunks[0].lines[0].text.len() < MAX_LINE + 8);
    }

    proptest! {
        #[test]
        fn the_old_version_and_the_hunks_give_the_new_one(
            old in "([ab]\n){0,12}[ab]?", new in "([ab]\n){0,12}[ab]?",
        ) {
            let change = Change::between(old.as_bytes(), new.as_bytes());
            let old_lines: Vec<&str> = old.lines().collect();
            let (mut out, mut at) = (Vec::new(), 0);
            for hunk in &change.hunks {
                let start = (hunk.old_start as usize).saturating_sub(1);
                out.extend(old_lines[at..start].iter().map(|line| (*line).to_owned()));
                let kept = hunk.lines.iter().filter(|line| line.kind != LineKind::Del);
                out.extend(kept.map(|line| line.text.clone()));
                at = start + hunk.old_lines as usize;
            }
            out.extend(old_lines[at..].iter().map(|line| (*line).to_owned()));
            prop_assert_eq!(out, new.lines().collect::<Vec<_>>());
        }
    }
}
