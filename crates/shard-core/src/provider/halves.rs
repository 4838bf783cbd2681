//! Characters that a server cut in two.
//!
//! A server that counts text in units of UTF-16 may end one event with the first half of a character
//! and begin a later one with the second. JSON can write a half (`\ud83e`), but no text can hold it, so
//! a first half waits here for its second. Halves that are not at the edge of a text stay where they
//! are, and make the event unreadable.

/// The first half that the second is awaited of, as it was written.
#[derive(Default)]
pub(super) struct Halves(Option<String>);

/// How many bytes `\ud83e` has.
const WRITTEN: usize = 6;

impl Halves {
    /// The data of an event with whole characters only.
    pub(super) fn join(&mut self, data: String) -> String {
        if !data.contains("\\ud") && !data.contains("\\uD") {
            return data;
        }
        let mut joined = String::with_capacity(data.len());
        let mut rest = data.as_str();
        // Whether the text before is the quote that a JSON string begins with, or ends with.
        let mut at_quote = false;
        while let Some(next) = rest.chars().next() {
            let end = next.len_utf8();
            let taken = match half(rest) {
                Some(Half::First) if half(&rest[WRITTEN..]) == Some(Half::Second) => 2 * WRITTEN,
                Some(Half::First) if self.0.is_none() && rest[WRITTEN..].starts_with('"') => {
                    self.0 = Some(rest[..WRITTEN].to_owned());
                    rest = &rest[WRITTEN..];
                    continue;
                }
                Some(Half::Second) if at_quote => {
                    joined.push_str(&self.0.take().unwrap_or_default());
                    WRITTEN
                }
                Some(_) => WRITTEN,
                None if next == '\\' => end + rest[end..].chars().next().map_or(0, char::len_utf8),
                None => end,
            };
            at_quote = next == '"';
            joined.push_str(&rest[..taken]);
            rest = &rest[taken..];
        }
        joined
    }
}

#[derive(PartialEq)]
enum Half {
    First,
    Second,
}

/// Which half of a character is written at the beginning of a text.
fn half(text: &str) -> Option<Half> {
    let digits = text.strip_prefix("\\u")?.get(..4)?;
    match u16::from_str_radix(digits, 16).ok()? {
        0xD800..=0xDBFF => Some(Half::First),
        0xDC00..=0xDFFF => Some(Half::Second),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    /// Joins events, and reads the text `t` of each.
    fn texts(events: &[&str]) -> Vec<Option<String>> {
        let mut halves = Halves::default();
        let joined = events.iter().map(|event| halves.join((*event).to_owned()));
        let read = |event: String| {
            let value: Value = serde_json::from_str(&event).ok()?;
            value["t"].as_str().map(str::to_owned)
        };
        joined.map(read).collect()
    }

    #[test]
    fn a_character_in_two_events_is_whole_in_the_second() {
        let some = |text: &str| Some(text.to_owned());
        let cases: [(&[&str], &[Option<String>]); 6] = [
            (
                &[r#"{"t":"a🦀\ud83e"}"#, r#"{"t":"\uDD80 b"}"#],
                &[some("a🦀"), some("🦀 b")],
            ),
            (
                &[
                    r#"{"t":"\ud83e"}"#,
                    r#"{"n":1}"#,
                    r#"{"t":"\udd80\ud83e"}"#,
                    r#"{"t":"\udd80"}"#,
                ],
                &[some(""), None, some("🦀"), some("🦀")],
            ),
            // Arguments of a call are JSON in JSON: its own quotes and backslashes are escaped.
            (
                &[r#"{"t":"{\"x\":\"\\ud\ud83e"}"#, r#"{"t":"\udd80\"}"}"#],
                &[some(r#"{"x":"\ud"#), some("🦀\"}")],
            ),
            (
                &[r#"{"t":"\ud83e\udd80 \"\ud83e\udd80\""}"#],
                &[some("🦀 \"🦀\"")],
            ),
            // No half at the edge of a text, or not the one that is awaited.
            (
                &[r#"{"t":"a\ud83e b"}"#, r#"{"t":"\udd80"}"#],
                &[None, None],
            ),
            (
                &[r#"{"t":"a\ud83e"}"#, r#"{"t":"\"\udd80"}"#],
                &[some("a"), None],
            ),
        ];
        for (events, want) in cases {
            assert_eq!(texts(events), want, "{events:?}");
        }
    }

    #[test]
    fn what_is_no_half_stays_as_it_is() {
        for data in [
            "",
            "\\",
            "\\ud",
            "\\ud83",
            "\\uD83ü",
            "\\\\ud83e\"",
            "\\ud7ff\"",
            "\\udé",
        ] {
            assert_eq!(Halves::default().join(data.to_owned()), data);
        }
    }
}
