//! Parts of texts that are too long to keep.

/// What marks that something was cut off.
const CUT: &str = "…";

/// The text on one line of at most `max` bytes: runs of white space become one space, and what
/// does not fit gives way to an ellipsis.
pub(super) fn line(text: &str, max: usize) -> String {
    let mut line = String::new();
    for word in text.split_whitespace() {
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(&word[..word.floor_char_boundary(max + 1)]);
        if line.len() > max {
            line.truncate(line.floor_char_boundary(max.saturating_sub(CUT.len())));
            line.truncate(line.trim_end().len());
            line.push_str(CUT);
            break;
        }
    }
    line
}

/// The lines of the text without the blank ones, in at most `max` bytes: when they are more,
/// three quarters of that are its beginning and one quarter its end.
pub(super) fn lines(text: &str, max: usize) -> String {
    // What is far more than fits is not looked at.
    let head = start(text, max * 2);
    let whole = head.len() == text.len();
    let kept = without_blanks(head);
    if whole && kept.len() <= max {
        return kept;
    }
    let tail = without_blanks(end(text, max / 4));
    let room = (max - max / 4).saturating_sub(CUT.len() + 2);
    let excerpt = format!("{}\n{CUT}\n{tail}", start(&kept, room).trim_end());
    excerpt.trim_end().to_owned()
}

fn without_blanks(text: &str) -> String {
    let lines = text.lines().map(str::trim_end);
    let lines: Vec<_> = lines.filter(|line| !line.is_empty()).collect();
    lines.join("\n")
}

/// The beginning of the text, at most `max` bytes.
pub(super) fn start(text: &str, max: usize) -> &str {
    &text[..text.floor_char_boundary(max)]
}

/// The end of the text, at most `max` bytes.
pub(super) fn end(text: &str, max: usize) -> &str {
    &text[text.ceil_char_boundary(text.len().saturating_sub(max))..]
}

/// The beginning and the end of a long text, each at most `max` bytes and of whole lines; all of
/// it when that is not more.
pub(super) fn ends(text: &str, max: usize) -> [&str; 2] {
    if text.len() <= 2 * max {
        return [text, ""];
    }
    let (head, tail) = (start(text, max), end(text, max));
    let head = head.rfind('\n').map_or(head, |at| &head[..at]);
    let tail = tail.find('\n').map_or(tail, |at| &tail[at + 1..]);
    [head, tail]
}

/// The first line that says something.
pub(super) fn first_line(text: &str) -> &str {
    let mut lines = text.lines().map(str::trim);
    lines.find(|line| !line.is_empty()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_fits_stays_and_what_does_not_is_marked() {
        assert_eq!(line("  one\n two\t", 7), "one two");
        assert_eq!(line("one two", 6), "one…");
        assert_eq!(line("ää ää", 8), "ää…");
        assert_eq!(lines("a\n\n  b  \n", 20), "a\n  b");
        assert_eq!(
            lines(&"0123456789\n".repeat(9), 40),
            "0123456789\n0123456789\n012\n…\n123456789"
        );
        assert_eq!(ends("one\ntwo\nthree\nfour\n", 6), ["one", "four\n"]);
        assert_eq!(ends("one\ntwo", 6), ["one\ntwo", ""]);
        assert_eq!(first_line("\n \n x \ny"), "x");
    }

    proptest! {
        #[test]
        fn excerpts_are_bounded_and_excerpts_of_excerpts_the_same(text in "(?s).{0,60}", times in 0usize..40, max in 16usize..200) {
            let text = text.repeat(times);
            let (one, more) = (line(&text, max), lines(&text, max));
            prop_assert!(one.len() <= max && !one.contains('\n'));
            prop_assert!(more.len() <= max);
            prop_assert_eq!(line(&one, max), one);
            prop_assert_eq!(lines(&more, max), more);
            prop_assert!(ends(&text, max).iter().all(|part| part.len() <= 2 * max));
        }
    }
}
