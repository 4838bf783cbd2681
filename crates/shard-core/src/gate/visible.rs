//! Text that a person judges by, with nothing in it that hides.

/// Makes control, bidirectional, zero-width and look-alike blank characters visible, so that what
/// is shown is what would run.
#[must_use]
pub fn visible(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        match u32::from(c) {
            // The pictures of the control characters stand in the same order as these do.
            code @ 0..=0x1f => shown.extend(char::from_u32(0x2400 + code)),
            0x7f => shown.push('\u{2421}'),
            code if hides(code) => shown.push_str(&format!("<U+{code:04X}>")),
            _ => shown.push(c),
        }
    }
    shown
}

/// Characters that draw nothing, draw a blank, or change the order of what is drawn.
fn hides(code: u32) -> bool {
    matches!(
        code,
        0x80..=0xa0
            | 0xad
            | 0x34f
            | 0x61c
            | 0x115f..=0x1160
            | 0x1680
            | 0x17b4..=0x17b5
            | 0x180b..=0x180f
            | 0x2000..=0x200f
            | 0x2028..=0x202f
            | 0x205f..=0x206f
            | 0x2800
            | 0x3000
            | 0x3164
            | 0xfe00..=0xfe0f
            | 0xfeff
            | 0xffa0
            | 0xfff0..=0xfffb
            | 0x1d173..=0x1d17a
            | 0xe0000..=0xe0fff
    )
}

/// [`visible`], and no longer than a person reads: head and tail stay, and what is missing is
/// said, so that nothing can hide behind the end.
pub(super) fn visible_part(text: &str, most: usize) -> String {
    part(text, most, visible)
}

/// [`visible`] for a text of several lines, which stay lines.
#[must_use]
pub fn visible_text(text: &str) -> String {
    text.split('\n').map(visible).collect::<Vec<_>>().join("\n")
}

/// The same, and no longer than a person reads.
pub(super) fn visible_lines(text: &str, most: usize) -> String {
    part(text, most, visible_text)
}

fn part(text: &str, most: usize, visible: impl Fn(&str) -> String) -> String {
    let count = text.chars().count();
    if count <= most {
        return visible(text);
    }
    let (head, tail) = (most * 2 / 3, most / 3);
    let start: String = text.chars().take(head).collect();
    let end: String = text.chars().skip(count - tail).collect();
    let missing = count - head - tail;
    format!(
        "{} … {missing} characters left out … {}",
        visible(&start),
        visible(&end)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_hides() {
        assert_eq!(visible("a\nb\tc\u{1b}[2J\0\u{7f}"), "a␊b␉c␛[2J␀␡");
        assert_eq!(visible("x\u{202e}y\u{200b}z"), "x<U+202E>y<U+200B>z");
        assert_eq!(
            visible("a\u{a0}b\u{feff}c\u{2066}\u{9b}"),
            "a<U+00A0>b<U+FEFF>c<U+2066><U+009B>"
        );
        assert_eq!(visible("grün 漢字 🙂 ls -la"), "grün 漢字 🙂 ls -la");
    }

    #[test]
    fn lines_stay_lines_and_nothing_else_does() {
        assert_eq!(visible_lines("a\tb\n\u{1b}[2Jc\r\n", 90), "a␉b\n␛[2Jc␍\n");
    }

    #[test]
    fn a_long_text_keeps_its_end() {
        let text = format!("start{}; rm -rf /", "x".repeat(9000));
        let shown = visible_part(&text, 90);
        assert!(
            shown.starts_with("startx") && shown.ends_with("; rm -rf /"),
            "{shown}"
        );
        assert!(shown.contains("8925 characters left out"), "{shown}");
        assert!(shown.chars().count() < 150, "{shown}");
    }
}
