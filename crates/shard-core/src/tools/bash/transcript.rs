//! From a program's bytes to a text that is safe to show and easy to read.

use anstream::adapter::StripStr;

use crate::tools::visible;

/// Turns a stream of bytes into text piece by piece: escape sequences are taken out, characters
/// that are cut by the end of a piece wait for the next, and other control characters are made
/// visible.
#[derive(Default)]
pub(super) struct Transcript {
    escapes: StripStr,
    /// The start of a character whose rest has not come.
    cut: Vec<u8>,
    /// A carriage return came last; what it means depends on what follows.
    returned: bool,
}

impl Transcript {
    pub(super) fn push(&mut self, bytes: &[u8]) -> String {
        let mut bytes = [std::mem::take(&mut self.cut), bytes.to_vec()].concat();
        let last = tail(&bytes);
        if let Err(error) = std::str::from_utf8(&bytes[last..])
            && error.error_len().is_none()
        {
            self.cut = bytes.split_off(last + error.valid_up_to());
        }
        let text = String::from_utf8_lossy(&bytes);
        let plain: String = self.escapes.strip_next(&text).collect();
        self.settle(&plain)
    }

    /// CR LF is a line end; a CR alone starts the line again, which reads best as another line.
    fn settle(&mut self, text: &str) -> String {
        let mut settled = String::with_capacity(text.len());
        for c in text.chars() {
            if std::mem::take(&mut self.returned) && c != '\n' {
                settled.push('\n');
            }
            match c {
                '\r' => self.returned = true,
                c => settled.push(c),
            }
        }
        visible::controls(&settled).into_owned()
    }
}

/// Where the last few bytes begin, in which a character may be cut: no character has more than
/// four bytes, and the search starts at the beginning of one.
fn tail(bytes: &[u8]) -> usize {
    let from = bytes.len().saturating_sub(4);
    let start = bytes[from..].iter().position(|byte| byte & 0xC0 != 0x80);
    from + start.unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn whole(bytes: &[u8]) -> String {
        Transcript::default().push(bytes)
    }

    #[test]
    fn what_a_terminal_would_act_on_is_gone() {
        let check = |bytes: &[u8], want: &str| assert_eq!(whole(bytes), want, "{bytes:?}");
        check(b"\x1b[31mred\x1b[0m and \x1b[2Jclear", "red and clear");
        check(b"\x1b]0;title\x07a\x1b]52;c;aGk=\x1b\\b", "ab");
        check(b"tab\tand\nline", "tab\tand\nline");
        check(b"one\r\ntwo\r\n", "one\ntwo\n");
        check(b"10%\r20%\rdone\n", "10%\n20%\ndone\n");
        check("grün \u{2028}ok".as_bytes(), "grün \u{2028}ok");
        check(b"bad \xff\xfe byte", "bad \u{fffd}\u{fffd} byte");
    }

    proptest! {
        #[test]
        fn where_the_bytes_are_cut_makes_no_difference(text in "[a-zäöü€😀\r\n\t]{0,40}", cut in 0usize..160) {
            let bytes = text.as_bytes();
            let (head, tail) = bytes.split_at(cut.min(bytes.len()));
            let mut transcript = Transcript::default();
            let pieces = transcript.push(head) + &transcript.push(tail);
            prop_assert_eq!(pieces, whole(bytes));
        }

        #[test]
        fn any_bytes_become_harmless_text(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let text = whole(&bytes);
            let acts = |c: char| c.is_control() && !matches!(c, '\n' | '\t' | '\u{85}');
            prop_assert!(!text.contains(acts));
        }
    }
}
