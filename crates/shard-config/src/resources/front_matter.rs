//! The block of YAML that a markdown file begins with, between two lines of `---`.

use serde_json::{Map, Value};

/// The longest front matter, in bytes.
pub(super) const BYTES: usize = 16 * 1024;

/// The front matter of a text and what follows it. The text may be cut anywhere past the front
/// matter.
///
/// # Errors
/// What is wrong with it, as the rest of a sentence.
pub(super) fn read(text: &str) -> Result<(Map<String, Value>, &str), String> {
    let (yaml, body) = split(text)?;
    // An excerpt in a message would show parts of the file over several lines.
    let options = serde_saphyr::options! { with_snippet: false };
    let read: Result<Map<String, Value>, _> = serde_saphyr::from_str_with_options(yaml, options);
    let map = read.map_err(|error| {
        let words = super::one_line(&error.to_string());
        format!("its front matter is no YAML with keys and values: {words} (text with a `: ` in it needs quotes)")
    })?;
    Ok((map, body))
}

fn split(text: &str) -> Result<(&str, &str), String> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut lines = text.split_inclusive('\n');
    let first = lines.next().unwrap_or_default();
    if first.trim_end() != "---" {
        return Err("it does not begin with front matter, a line of `---`".to_owned());
    }
    let mut end = first.len();
    for line in lines {
        if end > BYTES {
            break;
        }
        if line.trim_end() == "---" {
            return Ok((&text[first.len()..end], &text[end + line.len()..]));
        }
        end += line.len();
    }
    Err(format!(
        "its front matter has no end, a line of `---`, within {BYTES} bytes"
    ))
}

/// A value that must be a text with something in it.
pub(super) fn text(map: &Map<String, Value>, key: &str) -> Result<String, String> {
    match map.get(key) {
        Some(Value::String(text)) if !text.trim().is_empty() => Ok(text.trim().to_owned()),
        Some(_) => Err(format!(
            "`{key}` in its front matter must be a text that is not empty"
        )),
        None => Err(format!("its front matter has no `{key}`")),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn front_matter_is_told_from_the_text_after_it() {
        for (text, want, rest) in [
            ("---\nname: a\n---\nbody\n", json!({"name": "a"}), "body\n"),
            (
                "\u{feff}---\r\nname: a\r\n---\r\nbody",
                json!({"name": "a"}),
                "body",
            ),
            (
                "---\na: |\n  x\n  ---\n  y\nb: [1, two]\n--- \n---\n",
                json!({"a": "x\n---\ny\n", "b": [1, "two"]}),
                "---\n",
            ),
        ] {
            let (map, body) = read(text).unwrap();
            assert_eq!((Value::Object(map), body), (want, rest), "{text:?}");
        }
    }

    #[test]
    fn what_is_no_front_matter_says_why_on_one_line() {
        let deep = format!("---\na: {}\n---\n", "[".repeat(5000));
        let bomb = "---\na: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b]\nd: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c]\ne: &e [*d,*d,*d,*d,*d,*d,*d,*d,*d]\nf: &f [*e,*e,*e,*e,*e,*e,*e,*e,*e]\n---\n";
        let endless = format!("---\n{}", "a: b\n".repeat(10_000));
        for (text, want) in [
            ("", "does not begin"),
            ("name: a\n---\n", "does not begin"),
            ("---\nname: a\n", "has no end"),
            (&*endless, "has no end"),
            ("---\n- a\n---\n", "no YAML with keys"),
            ("---\nname: a\nname: b\n---\n", "no YAML with keys"),
            ("---\ndescription: Use when: always\n---\n", "needs quotes"),
            (&*deep, "no YAML with keys"),
            (bomb, "no YAML with keys"),
        ] {
            let error = read(text).unwrap_err();
            assert!(error.contains(want), "{error}");
            assert!(!error.contains('\n') && error.len() < 400, "{error}");
        }
    }
}
