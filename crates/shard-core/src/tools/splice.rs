//! Putting a new text in place of an old one, with as few bytes changed as possible.
//!
//! Lines that the request repeats unchanged keep the bytes that they have in the file, their line
//! endings, trailing spaces and quotes among them. Lines that are changed or added get the line
//! ending of the line they replace or follow.

use std::ops::Range;
use std::time::{Duration, Instant};

use similar::{Algorithm, DiffOp, capture_diff_slices_deadline};

/// Past this more lines count as changed.
const PATIENCE: Duration = Duration::from_millis(200);

/// The file with every span, none overlapping another, replaced, and where the new texts stand.
pub(crate) fn splice(
    content: &[u8],
    spans: &[Range<usize>],
    old: &str,
    new: &str,
) -> (Vec<u8>, Vec<Range<usize>>) {
    let mut out = Vec::with_capacity(content.len() + new.len());
    let mut places = Vec::with_capacity(spans.len());
    let change = Change::between(old, new);
    let mut endings = Endings::of(content);
    let mut done = 0;
    for span in spans {
        out.extend_from_slice(&content[done..span.start]);
        let start = out.len();
        out.extend_from_slice(&change.replacement(&content[span.clone()], endings.near(span)));
        places.push(start..out.len());
        done = span.end;
    }
    out.extend_from_slice(&content[done..]);
    (out, places)
}

/// What a request changes, worked out once for all the places where it does.
struct Change<'a> {
    old: &'a str,
    new: &'a str,
    new_lines: Vec<Line<'a>>,
    ops: Vec<DiffOp>,
    /// Only the line endings are to change: they are meant as they are given.
    endings_only: bool,
}

impl<'a> Change<'a> {
    fn between(old: &'a str, new: &'a str) -> Self {
        let (old_lines, new_lines) = (lines(old), lines(new));
        let deadline = Some(Instant::now() + PATIENCE);
        let ops = capture_diff_slices_deadline(Algorithm::Myers, &old_lines, &new_lines, deadline);
        Self {
            old,
            new,
            endings_only: old_lines == new_lines,
            new_lines,
            ops,
        }
    }

    /// What takes the place of `there`, where lines end with `ending`.
    fn replacement(&self, there: &[u8], mut ending: &'static [u8]) -> Vec<u8> {
        if self.endings_only && there == self.old.as_bytes() {
            return self.new.as_bytes().to_vec();
        }
        let there: Vec<&[u8]> = there.split_inclusive(|byte| *byte == b'\n').collect();
        let mut out = Vec::with_capacity(self.new.len());
        for op in &self.ops {
            let stood = &there[op.old_range()];
            if let DiffOp::Equal { .. } = op {
                out.extend(stood.iter().copied().flatten());
                ending = stood
                    .last()
                    .and_then(|line| ending_of(line))
                    .unwrap_or(ending);
                continue;
            }
            for (at, line) in self.new_lines[op.new_range()].iter().enumerate() {
                ending = stood
                    .get(at)
                    .and_then(|line| ending_of(line))
                    .unwrap_or(ending);
                out.extend_from_slice(line.text.as_bytes());
                if line.closed {
                    out.extend_from_slice(ending);
                }
            }
        }
        out
    }
}

/// A line of a request, whatever its ending is.
#[derive(Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct Line<'a> {
    text: &'a str,
    closed: bool,
}

fn lines(text: &str) -> Vec<Line<'_>> {
    let line = |line| match str::strip_suffix(line, '\n') {
        Some(text) => Line {
            text: text.strip_suffix('\r').unwrap_or(text),
            closed: true,
        },
        None => Line {
            text: line,
            closed: false,
        },
    };
    text.split_inclusive('\n').map(line).collect()
}

fn ending_of(line: &[u8]) -> Option<&'static [u8]> {
    match line {
        [.., b'\r', b'\n'] => Some(b"\r\n"),
        [.., b'\n'] => Some(b"\n"),
        _ => None,
    }
}

/// How lines end in a file, for places from the top to the bottom: a line that holds very many of
/// them is looked through once.
struct Endings<'a> {
    content: &'a [u8],
    /// The first LF at or after the last place, once it was looked for.
    next: Option<usize>,
    last: Option<usize>,
}

impl<'a> Endings<'a> {
    fn of(content: &'a [u8]) -> Self {
        Self {
            content,
            next: None,
            last: memchr::memrchr(b'\n', content),
        }
    }

    /// How the line ends that the span is in, or the one before.
    fn near(&mut self, span: &Range<usize>) -> &'static [u8] {
        // A span that ends with a line's ending ends with its line, so the search starts before it.
        let from = span.end.saturating_sub(1).max(span.start);
        if self.last.is_some_and(|last| from <= last) && self.next.is_none_or(|next| next < from) {
            self.next = memchr::memchr(b'\n', &self.content[from..]).map(|at| from + at);
        }
        let after = self.next.filter(|next| *next >= from);
        after
            .or(self.last)
            .and_then(|at| ending_of(&self.content[..=at]))
            .unwrap_or(b"\n")
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::text_match::find;
    use super::*;

    fn check(content: &str, old: &str, new: &str, want: &str) {
        let spans = find(content.as_bytes(), old).unwrap().spans;
        let (out, places) = splice(content.as_bytes(), &spans, old, new);
        assert_eq!(String::from_utf8_lossy(&out), want, "{old:?} -> {new:?}");
        assert_eq!(places.len(), spans.len());
    }

    #[test]
    fn lines_get_the_ending_that_belongs_there() {
        check(
            "a\r\nb\r\nc\r\n",
            "a\nb\nc\n",
            "a\nX\nY\nc\n",
            "a\r\nX\r\nY\r\nc\r\n",
        );
        check("a\r\nb\r\n", "a", "a\nnew", "a\r\nnew\r\nb\r\n");
        check("a\r\nb", "b", "b\nc\n", "a\r\nb\r\nc\r\n");
        check("a\r\nb\nc\r\n", "a\nb\nc\n", "a\nB\nc\n", "a\r\nB\nc\r\n");
        check("a\r\nb\nc\r\n", "b\nc", "b\nnew\nc", "a\r\nb\nnew\nc\r\n");
        check("a\nb\n", "a\r\nb\r\n", "a\r\nX\r\nb\r\n", "a\nX\nb\n");
        check("a", "a", "a\nb", "a\nb");
    }

    #[test]
    fn line_endings_themselves_can_be_changed() {
        check("a\r\nb\r\n", "a\r\nb\r\n", "a\nb\n", "a\nb\n");
    }

    #[test]
    fn repeated_lines_keep_their_bytes() {
        let content = "say “hi”  \nold\u{a0}line \nend — \n";
        let want = "say “hi”  \nnew line\nend — \n";
        check(
            content,
            "say \"hi\"\nold line\nend -",
            "say \"hi\"\nnew line\nend -",
            want,
        );
    }

    #[test]
    fn every_place_is_changed() {
        check("x-x\r\nx", "x", "y\ny", "y\r\ny-y\r\ny\r\ny\r\ny");
        check("x\nx x\r\nx", "x", "\n", "\n\n\r\n \r\n\r\n\r\n");
    }

    proptest! {
        #[test]
        fn bytes_outside_of_the_span_never_change(
            before: Vec<u8>, after: Vec<u8>, old in "[ab\n]{0,6}q", new in "[ab\n]{0,8}",
        ) {
            let there = old.replace('\n', "\r\n");
            let content = [before.as_slice(), there.as_bytes(), after.as_slice()].concat();
            let span = before.len()..before.len() + there.len();
            let (out, places) = splice(&content, &[span], &old, &new);
            prop_assert_eq!(&out[..places[0].start], before.as_slice());
            prop_assert_eq!(&out[places[0].end..], after.as_slice());
            let put = String::from_utf8_lossy(&out[places[0].clone()]).replace("\r\n", "\n");
            prop_assert_eq!(put, new);
        }
    }
}
