//! What is shown of a line that matches: all of it, or windows around the matches when it is long.

use std::ops::Range;

use super::visible;

/// A line up to this many bytes is shown whole.
const SHORT: usize = 300;
/// Bytes shown on each side of a match in a longer one.
const AROUND: usize = 60;
/// Bytes shown of a long match.
const MATCH: usize = 120;

/// One place to show.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Snippet {
    /// The byte at which the match starts, from 1; nothing for a line that is shown whole.
    pub(crate) column: Option<usize>,
    /// What is shown.
    pub(crate) text: String,
}

/// The line without its ending, cut when it is long.
pub(crate) fn whole(line: &[u8]) -> Snippet {
    let text = match line.len() {
        0..=SHORT => visible::text(line),
        length => format!(
            "{}… [{length} bytes]",
            visible::text(&line[..boundary(line, SHORT)])
        ),
    };
    Snippet { column: None, text }
}

/// Whether the matches of this line are shown one by one.
pub(crate) fn is_long(line: &[u8]) -> bool {
    line.len() > SHORT
}

/// The part of a long line around one match, and where it ends: a match before that is shown
/// already.
pub(crate) fn window(line: &[u8], matched: &Range<usize>) -> (Snippet, usize) {
    let start = boundary(line, matched.start.saturating_sub(AROUND));
    let end = matched.end.min(matched.start + MATCH) + AROUND;
    let end = boundary(line, end.min(line.len()));
    let before = if start > 0 { "…" } else { "" };
    let after = if end < line.len() { "…" } else { "" };
    let snippet = Snippet {
        column: Some(matched.start + 1),
        text: format!("{before}{}{after}", visible::text(&line[start..end])),
    };
    (snippet, end)
}

/// The start of the character at `at`, so that none is cut in two.
fn boundary(line: &[u8], at: usize) -> usize {
    let inside = |at: usize| matches!(line.get(at), Some(0x80..=0xbf));
    // No character has more than four bytes; anything longer is no text.
    (at.saturating_sub(3)..=at)
        .rev()
        .find(|at| !inside(*at))
        .unwrap_or(at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_cuts_no_character() {
        let line = format!("{}x{}", "é".repeat(500), "é".repeat(500));
        let (snippet, end) = window(line.as_bytes(), &(1000..1001));
        assert_eq!(
            snippet.text,
            format!("…{}x{}…", "é".repeat(30), "é".repeat(30))
        );
        assert_eq!((snippet.column, end), (Some(1001), 1061));
        let (snippet, _) = window(line.as_bytes(), &(1..3));
        assert!(!snippet.text.contains('\u{fffd}'), "{snippet:?}");
    }

    #[test]
    fn a_long_match_is_cut() {
        let line = "a".repeat(10_000);
        let (snippet, end) = window(line.as_bytes(), &(0..10_000));
        assert_eq!((snippet.text.len(), end), (180 + "…".len(), 180));
        assert_eq!(
            whole(line.as_bytes()).text,
            format!("{}… [10000 bytes]", "a".repeat(300))
        );
    }

    #[test]
    fn bytes_that_are_not_utf8_do_not_trip_it() {
        let line = vec![0x80; 400];
        for at in [0, 1, 200, 399] {
            window(&line, &(at..at + 1));
        }
        assert_eq!(whole(b"a\x1bb").text, "a␛b");
    }
}
