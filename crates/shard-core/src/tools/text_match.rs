//! Where a text stands in a file, also when the two differ only in what cannot be seen.
//!
//! Models write LF, plain quotes and no trailing spaces whatever the file has. A looser way of
//! looking is tried only when the stricter one finds nothing, and gives the exact bytes of the
//! file that were meant.

use std::ops::Range;

use memchr::memmem::Finder;

/// More places than this are no edit that anybody has thought about.
pub(crate) const MAX_PLACES: usize = 100_000;

/// What is overlooked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Looseness {
    /// Nothing.
    Exact,
    /// CRLF for LF.
    LineEndings,
    /// That, spaces at line ends, and the shape of quotes, dashes and spaces.
    Typography,
}

/// Places in a file.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Found {
    /// How they were found.
    pub(crate) looseness: Looseness,
    /// From top to bottom; they may overlap.
    pub(crate) spans: Vec<Range<usize>>,
}

/// Finds `wanted`, as strictly as possible.
pub(crate) fn find(content: &[u8], wanted: &str) -> Option<Found> {
    let exact = places(content, wanted.as_bytes()).map(|at| at..at + wanted.len());
    let exact: Vec<_> = exact.collect();
    if !exact.is_empty() {
        return Some(Found {
            looseness: Looseness::Exact,
            spans: exact,
        });
    }
    let loose = [Looseness::LineEndings, Looseness::Typography];
    loose
        .into_iter()
        .find_map(|looseness| find_loosely(content, wanted, looseness))
}

fn find_loosely(content: &[u8], wanted: &str, looseness: Looseness) -> Option<Found> {
    let wanted = Plain::of(wanted.as_bytes(), looseness).text;
    // Blank lines stand everywhere.
    if wanted.trim_ascii().is_empty() {
        return None;
    }
    let plain = Plain::of(content, looseness);
    let spans: Vec<_> = places(&plain.text, &wanted)
        .map(|at| plain.span(content, at..at + wanted.len()))
        .collect();
    (!spans.is_empty()).then_some(Found { looseness, spans })
}

/// Where `wanted` starts, overlapping places too: `aa` stands twice in `aaa`.
fn places(content: &[u8], wanted: &[u8]) -> impl Iterator<Item = usize> {
    let finder = Finder::new(wanted).into_owned();
    let mut from = 0;
    let next = move || {
        let at = from + finder.find(content.get(from..)?)?;
        from = at + 1;
        Some(at)
    };
    std::iter::from_fn(next).take(MAX_PLACES)
}

/// Text without what is overlooked, each byte with where it comes from.
struct Plain {
    text: Vec<u8>,
    starts: Vec<u32>,
}

impl Plain {
    fn of(raw: &[u8], looseness: Looseness) -> Self {
        let mut plain = Self {
            text: Vec::with_capacity(raw.len()),
            starts: Vec::with_capacity(raw.len()),
        };
        let mut at = 0;
        while at < raw.len() {
            let (byte, width) = plain_byte(&raw[at..], looseness);
            if byte == b'\n' && looseness == Looseness::Typography {
                plain.drop_spaces();
            }
            plain.text.push(byte);
            plain.starts.push(u32::try_from(at).unwrap_or(u32::MAX));
            at += width;
        }
        plain
    }

    fn drop_spaces(&mut self) {
        let spaces = self.text.iter().rev();
        let spaces = spaces
            .take_while(|byte| matches!(byte, b' ' | b'\t'))
            .count();
        self.text.truncate(self.text.len() - spaces);
        self.starts.truncate(self.text.len());
    }

    /// The bytes of `raw` that became `range`, which is not empty.
    fn span(&self, raw: &[u8], range: Range<usize>) -> Range<usize> {
        let start = self.starts[range.start] as usize;
        let last = self.starts[range.end - 1] as usize;
        let byte = self.text[range.end - 1];
        let width = match raw[last] == byte {
            true => 1,
            false => plain_byte(&raw[last..], Looseness::Typography).1,
        };
        start..last + width
    }
}

/// What the start of `raw` counts as, and how many bytes it takes.
fn plain_byte(raw: &[u8], looseness: Looseness) -> (u8, usize) {
    if raw.starts_with(b"\r\n") {
        return (b'\n', 2);
    }
    let typographic = looseness == Looseness::Typography;
    let known = typographic.then(|| typography(raw)).flatten();
    known.unwrap_or((raw[0], 1))
}

fn typography(raw: &[u8]) -> Option<(u8, usize)> {
    let plain = match raw {
        [0xc2, 0xa0, ..] => (b' ', 2),
        // Spaces of all widths, narrow and wide no-break ones among them.
        [0xe2, 0x80, 0x80..=0x8a | 0xaf, ..] | [0xe3, 0x80, 0x80, ..] => (b' ', 3),
        // Hyphens and dashes, and the minus sign.
        [0xe2, 0x80, 0x90..=0x95, ..] | [0xe2, 0x88, 0x92, ..] => (b'-', 3),
        [0xe2, 0x80, 0x98..=0x9b, ..] => (b'\'', 3),
        [0xe2, 0x80, 0x9c..=0x9f, ..] => (b'"', 3),
        _ => return None,
    };
    Some(plain)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn check(content: &str, wanted: &str, want: Option<(Looseness, &[&str])>) {
        let found = find(content.as_bytes(), wanted);
        let found = found.as_ref().map(|found| {
            let texts = found.spans.iter().map(|span| &content[span.clone()]);
            (found.looseness, texts.collect::<Vec<_>>())
        });
        let want = want.map(|(looseness, spans)| (looseness, spans.to_vec()));
        assert_eq!(found, want, "{wanted:?} in {content:?}");
    }

    #[test]
    fn a_text_is_found_as_strictly_as_possible() {
        use Looseness::{Exact, LineEndings, Typography};
        check("abc", "b", Some((Exact, &["b"])));
        check("aaa", "aa", Some((Exact, &["aa", "aa"])));
        check("a\r\nb\r\nc", "b\nc", Some((LineEndings, &["b\r\nc"])));
        check("a\nb\n", "a\r\nb\r\n", Some((LineEndings, &["a\nb\n"])));
        check("x  \ny", "x\ny", Some((Typography, &["x  \ny"])));
        check("x\ny\t\n", "y\n", Some((Typography, &["y\t\n"])));
        check(
            "x  \r\n \r\ny",
            "x\n\ny",
            Some((Typography, &["x  \r\n \r\ny"])),
        );
        check("x\ny", "x  \ny", Some((Typography, &["x\ny"])));
        check(
            "a “b”\u{a0}— c  \n",
            "a \"b\" - c",
            Some((Typography, &["a “b”\u{a0}— c"])),
        );
        check("it’s, it‘s", "it's", Some((Typography, &["it’s", "it‘s"])));
        check("“q” \"q\"", "\"q\"", Some((Exact, &["\"q\""])));
        check("a\n \nb", "\t\n", None);
        check("abc", "x", None);
    }

    proptest! {
        #[test]
        fn a_span_holds_what_was_wanted(
            before in "[a \r\n“]{0,8}", wanted in "[a\"'\\- ]{0,4}b[a\"'\\- \n]{0,4}c", after in "[a \r\n”]{0,8}",
        ) {
            let written = wanted.replace('"', "”").replace('-', "—").replace('\n', " \r\n");
            let content = format!("{before}{written}{after}");
            let found = find(content.as_bytes(), &wanted).unwrap();
            let span = found.spans[0].clone();
            let plain = |raw: &[u8]| Plain::of(raw, Looseness::Typography).text;
            prop_assert_eq!(plain(&content.as_bytes()[span]), plain(wanted.as_bytes()));
        }
    }
}
