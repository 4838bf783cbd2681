//! The words of a text, as they are indexed and searched.
//!
//! `crates/core/src/parseLine.rs` is one word, and so is each name in it, each part of a name
//! with a meaning of its own (`parseLine`, `rs`), and each part of those (`parse`, `line`).
//! Case does not count. The same rule holds for what is searched for, so that a path finds itself
//! first and then whatever shares parts with it. Scripts without spaces go by the character.

use std::ops::Range;

/// Longest word, in bytes. Of a longer one the start counts.
pub(crate) const LONGEST: usize = 64;

/// Calls `each` with every word, in lower case, and where it stands. A word may come several times.
pub(crate) fn each_word(text: &str, mut each: impl FnMut(&str, Range<usize>)) {
    let mut lower = String::with_capacity(2 * LONGEST);
    let mut rest = 0;
    while let Some((run, classes)) = next_run(text, rest) {
        rest = run.end;
        if classes == LETTER && run.len() <= LONGEST {
            // Most words are like this, and need nothing more.
            each(&text[run.clone()], run);
            continue;
        }
        run_words(text, run, &mut |range| {
            lower.clear();
            for c in text[range.clone()].chars() {
                match c.is_ascii() {
                    true => lower.push(c.to_ascii_lowercase()),
                    false => lower.extend(c.to_lowercase()),
                }
                if lower.len() > LONGEST {
                    break;
                }
            }
            each(&lower[..lower.floor_char_boundary(LONGEST)], range);
        });
    }
}

/// Small letters and digits.
const LETTER: u8 = 1;
/// Capital letters and the underscore.
const PARTS: u8 = 2;
/// What holds a path, a version, an address or a compound together.
const JOINT: u8 = 4;
/// Part of a character that is not ASCII.
const HIGH: u8 = 8;

const CLASSES: [u8; 256] = {
    let mut classes = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        classes[byte] = match byte as u8 {
            b'a'..=b'z' | b'0'..=b'9' => LETTER,
            b'A'..=b'Z' | b'_' => PARTS,
            b'.' | b'/' | b'-' | b':' | b'@' => JOINT,
            0x80.. => HIGH,
            _ => 0,
        };
        byte += 1;
    }
    classes
};

/// Whether a word is one of several.
pub(crate) fn is_compound(word: &str) -> bool {
    word.bytes().any(|byte| CLASSES[byte as usize] == JOINT)
}

fn is_joint(c: char) -> bool {
    c.is_ascii() && CLASSES[c as usize] == JOINT
}

/// Of a script that puts no spaces between words.
fn is_character(c: char) -> bool {
    matches!(c, '\u{2e80}'..='\u{31ff}' | '\u{3400}'..='\u{9fff}' | '\u{f900}'..='\u{faff}'
        | '\u{e00}'..='\u{eff}' | '\u{1000}'..='\u{109f}' | '\u{1780}'..='\u{17ff}'
        | '\u{20000}'..='\u{3ffff}')
}

/// The next run of letters and joints that begins and ends with a letter, or the next character
/// that is a word by itself; and the classes of what is in it.
fn next_run(text: &str, from: usize) -> Option<(Range<usize>, u8)> {
    let bytes = text.as_bytes();
    let (mut at, mut end, mut start, mut classes) = (from, from, None, 0);
    while let Some(&byte) = bytes.get(at) {
        let class = CLASSES[byte as usize];
        if class & (LETTER | PARTS) != 0 {
            start.get_or_insert(at);
            classes |= class;
            at += 1;
            end = at;
        } else if class == HIGH {
            let c = text[at..].chars().next().unwrap_or(' ');
            let next = at + c.len_utf8();
            let is_word = c.is_alphanumeric();
            match start {
                None if is_word && is_character(c) => return Some((at..next, HIGH)),
                _ if is_word && !is_character(c) => {
                    start.get_or_insert(at);
                    classes |= HIGH;
                    end = next;
                }
                Some(_) => break,
                None => {}
            }
            at = next;
        } else if class == JOINT || start.is_none() {
            classes |= if start.is_some() { class } else { 0 };
            at += 1;
        } else {
            break;
        }
    }
    start.map(|start| (start..end, classes))
}

fn run_words(text: &str, run: Range<usize>, give: &mut impl FnMut(Range<usize>)) {
    let pieces = |range: Range<usize>, apart: fn(char) -> bool| {
        let start = range.start;
        text[range].split(apart).scan(start, move |at, piece| {
            let start = *at;
            // What parts them has one byte.
            *at += piece.len() + 1;
            Some(start..start + piece.len())
        })
    };
    if is_compound(&text[run.clone()]) {
        give(run.clone());
    }
    for name in pieces(run.clone(), |c| c == '/') {
        if name != run && is_compound(&text[name.clone()]) {
            let shown = text[name.clone()].trim_matches(is_joint);
            let before =
                text[name.clone()].len() - text[name.clone()].trim_start_matches(is_joint).len();
            let start = name.start + before;
            if is_compound(shown) {
                give(start..start + shown.len());
            }
        }
        for word in pieces(name, is_joint) {
            if !word.is_empty() {
                give(word.clone());
                parts_of_word(text, word, give);
            }
        }
    }
}

/// The parts of `snake_case` and `camelCase`; none of what is no name but data.
fn parts_of_word(text: &str, word: Range<usize>, give: &mut impl FnMut(Range<usize>)) {
    if word.len() > LONGEST {
        return;
    }
    let whole = word.clone();
    let mut give = |part: Range<usize>| {
        if !part.is_empty() && part != whole {
            give(part);
        }
    };
    let mut start = word.start;
    let mut before: Option<char> = None;
    let mut chars = text[word.clone()].char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        let at = word.start + at;
        let after_lower = before.is_some_and(|before| before.is_lowercase() || before.is_numeric());
        let ends_acronym = before.is_some_and(char::is_uppercase)
            && chars.peek().is_some_and(|(_, next)| next.is_lowercase());
        if c == '_' {
            give(start..at);
            start = at + 1;
        } else if c.is_uppercase() && (after_lower || ends_acronym) {
            give(start..at);
            start = at;
        }
        before = Some(c);
    }
    give(start..word.end);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn words(text: &str) -> Vec<String> {
        let mut found = Vec::new();
        each_word(text, |word, range| {
            assert!(range.end <= text.len());
            found.push(word.to_owned());
        });
        found
    }

    #[test]
    fn a_name_is_found_whole_and_by_its_parts() {
        let check = |text: &str, want: &[&str]| assert_eq!(words(text), want, "{text}");
        check("", &[]);
        check("... --- //", &[]);
        check("Fix the BUG!", &["fix", "the", "bug"]);
        check("snake_case", &["snake_case", "snake", "case"]);
        check("parseLine", &["parseline", "parse", "line"]);
        check("HTTPServer2Go", &["httpserver2go", "http", "server2", "go"]);
        check("__init__", &["__init__", "init"]);
        check("E0502.", &["e0502"]);
        check(
            "(/work/src/fooBar.rs:12)",
            &[
                "work/src/foobar.rs:12",
                "work",
                "src",
                "foobar.rs:12",
                "foobar",
                "foo",
                "bar",
                "rs",
                "12",
            ],
        );
        check("std::fs", &["std::fs", "std", "fs"]);
        check("a/--b", &["a/--b", "a", "b"]);
        check("Größe ÄRGER", &["größe", "ärger"]);
        check("数据库 x", &["数", "据", "库", "x"]);
    }

    #[test]
    fn what_is_long_counts_with_its_start() {
        let long = "aB".repeat(100);
        assert_eq!(words(&long), [long[..LONGEST].to_lowercase()]);
    }

    proptest! {
        #[test]
        fn no_text_trips_it(text in "[a-zA-Z_./:\\-@0-9 äß数\u{130}\u{301}]{0,60}") {
            each_word(&text, |word, range| {
                assert!(!word.is_empty() && word.len() <= LONGEST);
                assert!(text.is_char_boundary(range.start) && text.is_char_boundary(range.end));
            });
        }
    }
}
