//! Parser messages in words that say what to write instead, and that hold no value.

/// What a text that is no JSON should have at `offset`.
pub(crate) fn syntax(error: &serde_json::Error, text: &str, offset: usize) -> String {
    if text.trim().is_empty() {
        return "not valid JSON: the file is empty; write {} or remove it".to_owned();
    }
    let full = error.to_string();
    let message = full.split(" at line ").next().unwrap_or(&full);
    let rest = text.get(offset..).unwrap_or("");
    let what = if rest.starts_with("//") || rest.starts_with("/*") || rest.starts_with('#') {
        "expected no comment; write a key that begins with // instead, such as \"// why\": \"…\""
    } else if message.starts_with("EOF while parsing a string") {
        "expected a closing double quote before the end of the file"
    } else if message.starts_with("EOF") {
        "expected a closing bracket before the end of the file"
    } else if message.starts_with("control character") {
        "expected a closing double quote before the end of the line"
    } else {
        match message {
            "key must be a string" => "expected a key in double quotes",
            "trailing comma" => "expected no comma before a closing bracket",
            "trailing characters" => "expected the end of the file after the closing bracket",
            "expected value" => "expected a value; text goes in double quotes",
            "expected ident" => "expected true, false or null",
            "expected `:`" => "expected a colon after the key",
            "expected `,` or `}`" => "expected a comma or a closing }",
            "expected `,` or `]`" => "expected a comma or a closing ]",
            "recursion limit exceeded" => "expected fewer brackets inside brackets",
            other => other,
        }
    };
    format!("not valid JSON: {what}")
}

/// What a key expects, out of a deserializer's message that may repeat the value.
pub(crate) fn mismatch(message: &str) -> String {
    if let Some(at) = message.rfind(", expected ") {
        return format!("expected {}", plain(&message[at + ", expected ".len()..]));
    }
    match message.strip_prefix("missing field ") {
        Some(field) => format!("expected the key {}", field.replace('`', "\"")),
        // Not a message that is known to be free of values.
        None => "expected another value".to_owned(),
    }
}

/// Rust's names of types in the words of JSON.
fn plain(expected: &str) -> String {
    let words = match expected {
        "a boolean" => "true or false",
        "a map" | "an object" => "an object, { … }",
        "a sequence" => "a list, [ … ]",
        "f64" => "a number",
        "u16" => "a whole number from 0 to 65535",
        "u32" => "a whole number from 0 to 4294967295",
        "u64" | "usize" => "a whole number, 0 or more",
        "path string" => "a path in double quotes",
        other if other.starts_with("struct ") => "an object, { … }",
        other => return other.replace('`', "\""),
    };
    words.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_never_gets_through() {
        let cases = [
            (
                r#"invalid type: string "sk-1, expected x", expected u64"#,
                "expected a whole number, 0 or more",
            ),
            (
                "unknown variant `sk-1`, expected one of `a`, `b`",
                r#"expected one of "a", "b""#,
            ),
            ("missing field `id`", r#"expected the key "id""#),
            ("something about sk-1", "expected another value"),
        ];
        for (message, expect) in cases {
            assert_eq!(mismatch(message), expect);
        }
    }
}
