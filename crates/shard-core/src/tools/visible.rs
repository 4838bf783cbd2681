//! Bytes of files as text that is safe to show, and bounded.

use std::borrow::Cow;
use std::path::Path;

/// `bytes` as text: what is not UTF-8 becomes `�`, control characters become visible.
pub(crate) fn text(bytes: &[u8]) -> String {
    controls(&String::from_utf8_lossy(bytes)).into_owned()
}

/// A path as text on one line.
pub(crate) fn path(path: &Path) -> String {
    line(&path.to_string_lossy()).into_owned()
}

/// Text with its control characters made visible, except tab, line feed and U+0085, which is a
/// line end in some texts and starts no sequence.
pub(crate) fn controls(text: &str) -> Cow<'_, str> {
    replace(text, |c| !matches!(c, '\t' | '\n' | '\u{85}'))
}

/// The same for what must stay on one line.
pub(crate) fn line(text: &str) -> Cow<'_, str> {
    replace(text, |_| true)
}

fn replace(text: &str, shown: impl Fn(char) -> bool) -> Cow<'_, str> {
    let hidden = |c: char| c.is_control() && shown(c);
    if !text.contains(hidden) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        match c {
            c if !hidden(c) => out.push(c),
            // Unicode has a picture for each of these, at a fixed distance.
            '\0'..='\x1f' => out.push(char::from_u32(0x2400 + c as u32).unwrap_or('�')),
            '\x7f' => out.push('␡'),
            // A terminal takes U+009B for ESC [ as well.
            _ => out.push_str(&format!("<{:02X}>", c as u32)),
        }
    }
    Cow::Owned(out)
}

/// The longest start of `text` of at most `max` bytes.
pub(crate) fn head(text: &str, max: usize) -> &str {
    &text[..text.floor_char_boundary(max)]
}

/// `text` in at most `max` bytes; what was cut is said at its end.
pub(crate) fn bounded(text: String, max: usize) -> String {
    if text.len() <= max {
        return text;
    }
    let note = format!("\n[truncated: {} bytes in all]", text.len());
    let kept = head(&text, max.saturating_sub(note.len()));
    head(&format!("{kept}{note}"), max).to_owned()
}

/// The start of one line, with a mark where it was cut.
pub(crate) fn short(text: &str, max: usize) -> String {
    if text.len() <= max {
        return text.to_owned();
    }
    format!("{}…", head(text, max))
}

/// `1 line`, `2 lines`.
pub(crate) fn count(number: u64, noun: &str) -> String {
    match number {
        1 => format!("1 {noun}"),
        _ => format!("{number} {noun}s"),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn terminal_sequences_become_visible() {
        let raw = b"a\x1b[2J\x1b]52;c;eA==\x07\tb\0\x7f\xc2\x9b1m \xff\n";
        assert_eq!(text(raw), "a␛[2J␛]52;c;eA==␇\tb␀␡<9B>1m �\n");
        assert_eq!(line("a\tb\n"), "a␉b␊");
    }

    proptest! {
        #[test]
        fn nothing_that_a_terminal_obeys_is_left(raw: Vec<u8>) {
            let shown = text(&raw);
            let acts = |c: char| c.is_control() && !matches!(c, '\t' | '\n' | '\u{85}');
            prop_assert!(!shown.contains(acts));
        }

        #[test]
        fn a_bound_holds(raw in "\\PC{0,80}", max in 0_usize..100) {
            let out = bounded(raw.clone(), max);
            prop_assert!(out.len() <= max);
            prop_assert!(raw.len() > max || out == raw);
        }
    }
}
