//! A regular expression, and which rows need not be parsed to know that it does not match.
//!
//! Nearly every expression has some word in it that every match has to have, and a row without
//! that word is told by its bytes, at the speed of reading them. Only letters, digits and
//! underscores count, which stand in a row as they stand in the text that is searched; a row that
//! writes such characters as escapes, as this program does not, is always parsed.

use regex::{Regex, RegexBuilder, bytes};
use regex_syntax::ParserBuilder;
use regex_syntax::hir::{Hir, HirKind};

/// Largest regular expression, compiled, in bytes.
const LARGEST: usize = 1 << 20;

/// Fewest letters of a word that is looked for: a number of JSON, which may be written in several
/// ways, never has so many.
const SHORTEST: usize = 3;

/// Most words of which one has to be there.
const MOST: usize = 8;

/// Any escape but those of control characters.
const ESCAPE: &str = r"\\u(?:00[^01]|0[^0]|[^0])";

/// A regular expression that is searched for.
#[derive(Debug, Clone)]
pub struct Expression {
    pub(super) regex: Regex,
    /// Found in every row with a match.
    needed: Option<bytes::Regex>,
}

impl Expression {
    /// # Errors
    /// When the pattern is not valid, or too large.
    pub(super) fn new(pattern: &str, ignore_case: bool) -> Result<Self, regex::Error> {
        let regex = RegexBuilder::new(pattern)
            .case_insensitive(ignore_case)
            .multi_line(true)
            .size_limit(LARGEST)
            .build()?;
        let parsed = ParserBuilder::new().multi_line(true).build().parse(pattern);
        let words = parsed.map_or_else(|_| Vec::new(), |hir| needed(&hir));
        let needed = (!words.is_empty()).then(|| {
            let any = format!("{}|{ESCAPE}", words.join("|"));
            let mut builder = bytes::RegexBuilder::new(&any);
            builder.case_insensitive(ignore_case).build().ok()
        });
        Ok(Self {
            regex,
            needed: needed.flatten(),
        })
    }

    /// Whether a row has to be parsed: false if nothing in it can match.
    pub(super) fn may_match(&self, row: &[u8]) -> bool {
        let needed = self.needed.as_ref();
        needed.is_none_or(|needed| needed.is_match(row))
    }
}

/// Words of which every match has one; none if there are no such words.
fn needed(hir: &Hir) -> Vec<String> {
    let words = match hir.kind() {
        HirKind::Literal(literal) => {
            let runs = literal.0.split(|byte| !is_word(*byte));
            let longest = runs.max_by_key(|run| run.len()).unwrap_or_default();
            vec![String::from_utf8_lossy(longest).into_owned()]
        }
        HirKind::Capture(capture) => needed(&capture.sub),
        HirKind::Repetition(repetition) if repetition.min > 0 => needed(&repetition.sub),
        HirKind::Concat(parts) => {
            let parts = parts.iter().map(needed);
            let shortest = |words: &Vec<String>| words.iter().map(String::len).min();
            parts.max_by_key(shortest).unwrap_or_default()
        }
        HirKind::Alternation(parts) => {
            let parts: Vec<_> = parts.iter().map(needed).collect();
            match parts.iter().any(Vec::is_empty) {
                true => Vec::new(),
                false => parts.concat(),
            }
        }
        _ => Vec::new(),
    };
    let letters = |word: &String| word.bytes().filter(|byte| !byte.is_ascii_digit()).count();
    match words.len() <= MOST && words.iter().all(|word| letters(word) >= SHORTEST) {
        true => words,
        false => Vec::new(),
    }
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_every_match_has_is_known() {
        let check = |pattern: &str, want: &[&str]| {
            let hir = ParserBuilder::new().multi_line(true).build().parse(pattern);
            assert_eq!(needed(&hir.unwrap()), want, "{pattern}");
        };
        check(r"fn \w+_test\(", &["_test"]);
        check(r"^error(\[E\d+\])?: no", &["error"]);
        check("(?:warning|error): .*", &["warning", "error"]);
        check("(overflow)+", &["overflow"]);
        check("(overflow)*", &[]);
        check("overflow|go", &[]);
        check(r"\d{3}", &[]);
        check("1e10", &[]);
        check("(?i)error", &[]);
        check("größer", &[]);
        check("", &[]);
    }

    #[test]
    fn a_row_is_left_out_only_if_it_cannot_match() {
        let check = |pattern: &str, ignore_case, row: &str, want| {
            let expression = Expression::new(pattern, ignore_case).unwrap();
            assert_eq!(
                expression.may_match(row.as_bytes()),
                want,
                "{pattern}: {row}"
            );
        };
        check("error: .*", false, r#"{"text":"an error"}"#, true);
        check("error: .*", false, r#"{"text":"an Error"}"#, false);
        check("error: .*", true, r#"{"text":"an ErRoR"}"#, true);
        check("task", true, "{\"text\":\"TA\u{17f}\u{212a}\"}", true);
        check("error", false, r#"{"text":"\u001b[31m"}"#, false);
        check("error", false, r#"{"text":"\u0065rror"}"#, true);
        check("task", true, r#"{"text":"tas\u212a"}"#, true);
        check(r"\d\d", false, r#"{"text":"x"}"#, true);
    }
}
