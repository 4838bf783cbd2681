//! Setting one value in a JSON text without touching the rest of it.

use serde_json::Value;

use crate::document::{Document, Node, Shape};

const INDENT: &str = "  ";

/// The text with `value` at the way `keys`. Objects on the way are made when they are missing;
/// what stands on the way and is no object is replaced by one.
pub(crate) fn set(document: &Document<'_>, keys: &[&str], value: &Value) -> String {
    let mut node = &document.root;
    for (place, key) in keys.iter().enumerate() {
        match node.member(key) {
            Some(member) => node = &member.value,
            None if matches!(node.shape, Shape::Object(_)) => {
                return insert(document.text, node, key, &nested(&keys[place + 1..], value));
            }
            None => return replace(document.text, node, &nested(&keys[place..], value)),
        }
    }
    replace(document.text, node, value)
}

/// The value inside one object for each key.
fn nested(keys: &[&str], value: &Value) -> Value {
    keys.iter().rev().fold(value.clone(), |inner, &key| {
        Value::Object([(key.to_owned(), inner)].into_iter().collect())
    })
}

fn replace(text: &str, node: &Node, value: &Value) -> String {
    let rendered = render(value, indent_of_line(text, node.start));
    format!("{}{rendered}{}", &text[..node.start], &text[node.end..])
}

/// Adds a key at the end of an object that does not have it.
fn insert(text: &str, object: &Node, key: &str, value: &Value) -> String {
    let key = Value::from(key);
    let last = match &object.shape {
        Shape::Object(members) => members.last(),
        Shape::Array(_) | Shape::Scalar => None,
    };
    match last {
        Some(last) => {
            let before = &text[..last.start];
            let gap = &before[before.trim_end().len()..];
            let (gap, indent) = match gap.rsplit_once('\n') {
                Some((_, indent)) => (format!("\n{indent}"), indent),
                None => (" ".to_owned(), indent_of_line(text, last.start)),
            };
            let added = format!(",{gap}{key}: {}", render(value, indent));
            format!(
                "{}{added}{}",
                &text[..last.value.end],
                &text[last.value.end..]
            )
        }
        None => {
            let outer = indent_of_line(text, object.start);
            let inner = format!("{outer}{INDENT}");
            let added = format!("{{\n{inner}{key}: {}\n{outer}}}", render(value, &inner));
            format!("{}{added}{}", &text[..object.start], &text[object.end..])
        }
    }
}

/// Pretty JSON whose lines after the first are indented by `indent`. Line breaks inside strings
/// are escaped, so each one in the output is layout.
fn render(value: &Value, indent: &str) -> String {
    format!("{value:#}").replace('\n', &format!("\n{indent}"))
}

fn indent_of_line(text: &str, offset: usize) -> &str {
    let start = text[..offset].rfind('\n').map_or(0, |newline| newline + 1);
    let line = &text[start..];
    &line[..line.len() - line.trim_start_matches([' ', '\t']).len()]
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn after(text: &str, keys: &[&str], value: &Value) -> String {
        set(&Document::parse(text, Path::new("f")).unwrap(), keys, value)
    }

    #[test]
    fn only_the_value_changes() {
        let cases = [
            (r#"{"a":1,"b":2}"#, &["a"][..], r#"{"a":7,"b":2}"#),
            (r#"{"a":1}"#, &["b"], r#"{"a":1, "b": 7}"#),
            (
                "{\n\t\"a\": {}\n}",
                &["a", "b"],
                "{\n\t\"a\": {\n\t  \"b\": 7\n\t}\n}",
            ),
            ("{\n \"a\": 1\n}", &["b"], "{\n \"a\": 1,\n \"b\": 7\n}"),
            (r#"{"a": [1]}"#, &["a", "b"], "{\"a\": {\n  \"b\": 7\n}}"),
        ];
        for (text, keys, expect) in cases {
            assert_eq!(after(text, keys, &json!(7)), expect, "for {text}");
        }
    }

    fn objects() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(json!(null)),
            any::<u8>().prop_map(Value::from),
            ".{0,5}".prop_map(Value::from)
        ];
        let inner = leaf.prop_recursive(3, 16, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
                prop::collection::btree_map("[abc]", inner, 0..3).prop_map(|map| json!(map)),
            ]
        });
        prop::collection::btree_map("[abc]", inner, 0..4).prop_map(|map| json!(map))
    }

    proptest! {
        #[test]
        fn the_result_holds_the_value_and_all_others(before in objects(), value in objects()) {
            let mut expect = before.clone();
            if !expect["a"].is_object() {
                expect["a"] = json!({});
            }
            expect["a"]["b"] = value.clone();
            for text in [before.to_string(), format!("{before:#}")] {
                let after: Value = after(&text, &["a", "b"], &value).parse().unwrap();
                prop_assert_eq!(&after, &expect);
            }
        }
    }
}
