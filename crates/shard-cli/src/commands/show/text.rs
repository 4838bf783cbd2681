//! Words of a model or a tool, as a terminal may show them.

use std::path::Path;

use serde::Serialize;
use serde_json::{Map, Value};
use shard_core::gate::visible;
use shard_types::ToolResultContent;
use shard_types::event::{AllowedBy, AllowedByKind, ToolResult};

use crate::client::lookup;

/// How much of a call's arguments is shown, in characters.
const SUMMARY: usize = 120;

/// A call on one line.
pub(super) fn summary(name: &str, args: &Map<String, Value>) -> String {
    let text = |key: &str| args.get(key).and_then(Value::as_str);
    let main = ["command", "path", "pattern", "question"]
        .iter()
        .find_map(|key| text(key));
    let line = visible(&main.unwrap_or_default().replace('\n', " ⏎ "));
    format!("{} {}", visible(name), shortened(&line, SUMMARY))
}

/// What let a call run unasked, where that is worth a word: reading at home is not.
pub(super) fn allowance(by: &AllowedBy) -> Option<String> {
    let source = visible(by.source.as_deref().unwrap_or_default());
    match by.kind {
        AllowedByKind::Grant => {
            let id = by.id.as_deref().unwrap_or_default();
            Some(format!(
                "allowed by grant {}",
                lookup::own_part_of_grant(id)
            ))
        }
        AllowedByKind::Rule => Some(format!("allowed by a rule in {source}")),
        AllowedByKind::Mode => Some(format!("allowed by the mode {source}")),
        AllowedByKind::Default => None,
    }
}

/// The beginning of a text, if it is longer than `most` characters.
pub(in crate::commands) fn shortened(text: &str, most: usize) -> String {
    let mut shown: String = text.chars().take(most).collect();
    if shown.len() < text.len() {
        shown.push('…');
    }
    shown
}

/// What is worth a line about a result: the model reads the rest.
pub(super) fn failure(result: &ToolResult) -> Option<String> {
    let message = match &result.content {
        ToolResultContent::Error { message } => {
            visible(message.lines().next_back().unwrap_or_default())
        }
        _ => {
            return result
                .exit_code
                .filter(|code| *code != 0)
                .map(|code| format!("  exit code {code}"));
        }
    };
    Some(format!("  {message}"))
}

/// What stands for a picture, such as `[picture: image/png, 800x600]`.
pub(super) fn picture(data: &str, mime_type: &str) -> String {
    let kind = visible(mime_type);
    match shard_core::picture::size_of_base64(data) {
        Some((width, height)) => format!("[picture: {kind}, {width}x{height}]"),
        None => format!("[picture: {kind}]"),
    }
}

/// Text without anything that a terminal acts on, but for line ends and tabs, and without what
/// hides or reorders words.
pub(in crate::commands) fn harmless(text: &str) -> String {
    text.chars().filter(|c| is_harmless(*c)).collect()
}

/// An answer is prose in any language: of what is marked in a question, what writing needs stays.
fn is_harmless(c: char) -> bool {
    match c {
        '\n' | '\t' | ' '..='~' => true,
        '\u{2028}' | '\u{2029}' => false, // other line ends
        '\u{200c}' | '\u{200d}' | '\u{2800}' | '\u{fe00}'..='\u{fe0f}' => true, // letters, emoji, Braille
        _ if c.is_control() => false,
        _ if c.is_whitespace() => true,
        _ => visible(c.encode_utf8(&mut [0; 4])).starts_with(c),
    }
}

/// A state or a decision in the protocol's word.
pub(in crate::commands) fn word(value: &impl Serialize) -> String {
    match serde_json::to_value(value) {
        Ok(Value::String(word)) => word,
        _ => "-".to_owned(),
    }
}

/// A folder as a person writes it.
pub(in crate::commands) fn home_as_tilde(path: &str, home: Option<&Path>) -> String {
    let below = home.and_then(|home| Path::new(path).strip_prefix(home).ok());
    match below {
        Some(below) if below.as_os_str().is_empty() => "~".to_owned(),
        Some(below) => format!("~/{}", below.display()),
        None => path.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_in_an_answer_hides_or_reorders() {
        let nasty = "a\u{1b}b\u{202e}c\u{2066}d\u{200b}e\u{feff}f\u{200f}g\u{e0041}h\u{9b}i\u{2029}j\r\u{7f}";
        assert_eq!(harmless(nasty), "abcdefghij");
    }

    #[test]
    fn writing_stays_as_it_is() {
        let words = "let x = 1;\n\tgrün\u{a0}漢字\u{3000}می\u{200c}خواهم שלום 👩\u{200d}💻 ❤\u{fe0f} ⠁\u{2800}";
        assert_eq!(harmless(words), words);
    }

    #[test]
    fn what_allowed_a_call_is_named() {
        let said = |kind, id: Option<&str>, source: Option<&str>| {
            allowance(&AllowedBy {
                kind,
                id: id.map(str::to_owned),
                source: source.map(str::to_owned),
            })
        };
        for (said, want) in [
            (
                said(AllowedByKind::Grant, Some("grant-0190aa"), None),
                Some("allowed by grant 0190aa"),
            ),
            (
                said(AllowedByKind::Rule, None, Some("rules/a\u{1b}.json")),
                Some("allowed by a rule in rules/a␛.json"),
            ),
            (
                said(AllowedByKind::Mode, None, Some("build")),
                Some("allowed by the mode build"),
            ),
            (said(AllowedByKind::Default, None, None), None),
        ] {
            assert_eq!(said.as_deref(), want);
        }
    }

    #[test]
    fn the_home_folder_is_a_tilde() {
        let shown = |path| home_as_tilde(path, Some(Path::new("/home/a")));
        assert_eq!(shown("/home/a/x/y"), "~/x/y");
        assert_eq!(shown("/home/a"), "~");
        assert_eq!(shown("/home/ab"), "/home/ab");
    }
}
