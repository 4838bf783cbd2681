//! TypeScript types for the web client, printed from the JSON Schemas of the messages.
//!
//! Owns the translation and nothing else: it writes no file (`schema.rs` does) and needs no Node.
//! Every named type is printed once, in alphabetical order. It reads as much of JSON Schema as
//! `schemars` writes for our types; anything beyond that becomes `unknown`.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Result, bail};
use serde_json::{Map, Value};

const HEAD: &str = "\
// Generated from the Rust types by `cargo xtask schema`. Do not edit.
//
// An optional field is left out rather than null. A union that ends in `string & {}` has the
// values of this build and may get more.
";

/// One module with every type that the schemas name.
pub(crate) fn module<'a>(schemas: impl IntoIterator<Item = &'a Value>) -> Result<String> {
    let mut types: BTreeMap<&str, Value> = BTreeMap::new();
    for schema in schemas {
        let inner = schema["$defs"].as_object().into_iter().flatten();
        let root = schema["title"].as_str().map(|title| (title, schema));
        for (name, one) in inner.map(|(name, one)| (name.as_str(), one)).chain(root) {
            let mut body = one.clone();
            if let Some(object) = body.as_object_mut() {
                object.retain(|key, _| !["$defs", "$schema", "title"].contains(&key.as_str()));
            }
            if types
                .insert(name, body.clone())
                .is_some_and(|old| old != body)
            {
                bail!("two types of the wire are called {name}: rename one of them");
            }
        }
    }
    let declarations = types
        .iter()
        .map(|(name, schema)| declaration(name, schema).replace('\r', ""));
    let mut text = HEAD.to_owned();
    for declaration in declarations {
        text.push('\n');
        text.push_str(&declaration);
    }
    Ok(text)
}

fn declaration(name: &str, schema: &Value) -> String {
    let docs = comment(schema, "");
    if is_plain_object(schema) {
        return format!("{docs}export interface {name} {}\n", object(schema, ""));
    }
    format!("{docs}export type {name} ={};\n", alternatives(schema))
}

/// The right side of a type: a union with remarks has a line for each alternative.
fn alternatives(schema: &Value) -> String {
    let several = several(schema);
    let remarks = several
        .iter()
        .any(|one| one["description"].is_string() && !one["const"].is_string());
    if several.len() < 2 || !remarks || schema["properties"].is_object() {
        return format!(" {}", expression(schema, ""));
    }
    let line = |one: &Value| {
        let inner = expression(one, "  ");
        format!("\n{}  | {inner}", comment(one, "  "))
    };
    several.iter().map(line).collect()
}

fn expression(schema: &Value, indent: &str) -> String {
    let mut parts: Vec<String> = Vec::new();
    if let Some(path) = schema["$ref"].as_str() {
        parts.push(path.rsplit('/').next().unwrap_or(path).to_owned());
    }
    if schema["properties"].is_object() {
        parts.push(object(schema, indent));
    }
    let several = several(schema);
    if !several.is_empty() {
        parts.push(union(several.iter().map(|one| expression(one, indent))));
    }
    if parts.is_empty() {
        return single(schema, indent);
    }
    let many = parts.len() > 1;
    let wrap = |part: String| match many && part.contains(" | ") && !part.starts_with('{') {
        true => format!("({part})"),
        false => part,
    };
    parts.into_iter().map(wrap).collect::<Vec<_>>().join(" & ")
}

/// A schema that is neither a reference, nor a union, nor an object with known fields.
fn single(schema: &Value, indent: &str) -> String {
    if let Some(value) = schema.get("const") {
        return value.to_string();
    }
    if let Some(values) = schema["enum"].as_array() {
        return union(values.iter().map(Value::to_string));
    }
    match &schema["type"] {
        Value::String(kind) => of_kind(kind, schema, indent),
        Value::Array(kinds) => {
            let kinds = kinds.iter().filter_map(Value::as_str);
            union(kinds.map(|kind| of_kind(kind, schema, indent)))
        }
        _ => "unknown".to_owned(),
    }
}

fn of_kind(kind: &str, schema: &Value, indent: &str) -> String {
    match kind {
        "string" | "boolean" | "null" => kind.to_owned(),
        "integer" | "number" => "number".to_owned(),
        "array" => array(schema, indent),
        "object" => match &schema["additionalProperties"] {
            values @ Value::Object(_) => {
                format!("Record<string, {}>", expression(values, indent))
            }
            _ => "Record<string, unknown>".to_owned(),
        },
        _ => "unknown".to_owned(),
    }
}

fn array(schema: &Value, indent: &str) -> String {
    if let Some(items) = schema["prefixItems"].as_array() {
        let items: Vec<String> = items.iter().map(|item| expression(item, indent)).collect();
        return format!("[{}]", items.join(", "));
    }
    let item = expression(&schema["items"], indent);
    match item.contains([' ', '&']) && !item.starts_with('{') {
        true => format!("({item})[]"),
        false => format!("{item}[]"),
    }
}

fn object(schema: &Value, indent: &str) -> String {
    let nothing = Map::new();
    let fields = schema["properties"].as_object().unwrap_or(&nothing);
    if fields.is_empty() {
        return "{}".to_owned();
    }
    let required: BTreeSet<&str> = schema["required"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    let deeper = format!("{indent}  ");
    let mut text = "{\n".to_owned();
    for (name, field) in fields {
        let must = required.contains(name.as_str());
        let mut value = expression(field, &deeper);
        if !must {
            value = value.trim_end_matches(" | null").to_owned();
        }
        let mark = if must { "" } else { "?" };
        let name = key(name);
        text.push_str(&comment(field, &deeper));
        text.push_str(&format!("{deeper}{name}{mark}: {value};\n"));
    }
    text.push_str(indent);
    text.push('}');
    text
}

fn is_plain_object(schema: &Value) -> bool {
    let fields = schema["properties"].is_object() || schema["additionalProperties"].is_null();
    schema["type"] == "object" && fields && several(schema).is_empty() && schema["$ref"].is_null()
}

fn several(schema: &Value) -> &[Value] {
    let list = ["oneOf", "anyOf"]
        .iter()
        .find_map(|key| schema[*key].as_array());
    list.map_or(&[], Vec::as_slice)
}

/// Without repetitions. Literals beside `string` would vanish in it, and an editor could not
/// offer them.
fn union(parts: impl Iterator<Item = String>) -> String {
    let mut kept: Vec<String> = Vec::new();
    for part in parts {
        if !kept.contains(&part) {
            kept.push(part);
        }
    }
    if kept.iter().any(|part| part.starts_with('"')) {
        for part in &mut kept {
            if part == "string" {
                "(string & {})".clone_into(part);
            }
        }
    }
    kept.join(" | ")
}

fn key(name: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
    match name.chars().all(plain) {
        true => name.to_owned(),
        false => format!("{name:?}"),
    }
}

fn comment(schema: &Value, indent: &str) -> String {
    let Some(text) = schema["description"].as_str() else {
        return String::new();
    };
    // A doc comment of Rust may hold what would end one of TypeScript.
    let text = text.trim().replace("*/", "*\u{200b}/");
    let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
    if let [line] = lines.as_slice() {
        return format!("{indent}/** {line} */\n");
    }
    let body: String = lines
        .iter()
        .map(|line| {
            format!(
                "{indent} *{}{line}\n",
                if line.is_empty() { "" } else { " " }
            )
        })
        .collect();
    format!("{indent}/**\n{body}{indent} */\n")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn printed(name: &str, schema: &Value) -> String {
        declaration(name, schema)
    }

    #[test]
    fn an_object_keeps_comments_and_marks_what_may_be_left_out() {
        let schema = json!({
            "type": "object", "description": "A thing.\nIn two lines.",
            "properties": {
                "a.b": {"type": "string", "description": "Odd key."},
                "count": {"type": ["integer", "null"]},
                "other": {"anyOf": [{"$ref": "#/$defs/Other"}, {"type": "null"}]},
                "value": {"anyOf": [{"$ref": "#/$defs/Other"}, {"type": "null"}]},
            },
            "required": ["a.b", "value"],
        });
        let want = "/**\n * A thing.\n * In two lines.\n */\nexport interface Thing {\n  \
                    /** Odd key. */\n  \"a.b\": string;\n  count?: number;\n  other?: Other;\n  \
                    value: Other | null;\n}\n";
        assert_eq!(printed("Thing", &schema), want);
        let empty = json!({"type": "object"});
        assert_eq!(printed("Empty", &empty), "export interface Empty {}\n");
    }

    #[test]
    fn lists_tuples_and_maps() {
        let check = |schema: Value, want: &str| assert_eq!(expression(&schema, ""), want);
        check(
            json!({"type": "array", "items": {"type": "string"}}),
            "string[]",
        );
        check(
            json!({"type": "array", "items": {"enum": ["a", "b"]}}),
            r#"("a" | "b")[]"#,
        );
        check(
            json!({"type": "array", "prefixItems": [{"type": "string"}, {"$ref": "#/$defs/X"}]}),
            "[string, X]",
        );
        check(
            json!({"type": "object", "additionalProperties": {"type": "number"}}),
            "Record<string, number>",
        );
        check(
            json!({"type": "object", "additionalProperties": true}),
            "Record<string, unknown>",
        );
        check(json!(true), "unknown");
        check(json!({"description": "Anything."}), "unknown");
    }

    #[test]
    fn an_open_set_of_names_keeps_the_known_ones() {
        let schema = json!({"anyOf": [
            {"const": "A", "type": "string"}, {"const": "B", "type": "string"}, {"type": "string"},
        ]});
        assert_eq!(expression(&schema, ""), r#""A" | "B" | (string & {})"#);
    }

    #[test]
    fn a_tagged_union_has_a_line_for_each_variant() {
        let tagged = |tag: &str| json!({"type": {"const": tag, "type": "string"}});
        let schema = json!({"oneOf": [
            {"type": "object", "$ref": "#/$defs/Ask", "description": "May it?",
             "properties": tagged("ask"), "required": ["type"]},
            {"type": "object", "description": "No more.",
             "properties": tagged("end"), "required": ["type"]},
        ]});
        let want = "export type Event =\n  /** May it? */\n  | Ask & {\n    type: \"ask\";\n  }\n  \
                    /** No more. */\n  | {\n    type: \"end\";\n  };\n";
        assert_eq!(printed("Event", &schema), want);
    }

    #[test]
    fn a_type_of_several_families_is_printed_once_and_must_be_the_same() {
        let family = |title: &str, inner: &str| {
            json!({"title": title, "type": "object", "$schema": "…",
                   "$defs": {"Inner": {"type": inner}}})
        };
        let text = module([&family("A", "string"), &family("B", "string")]).unwrap();
        assert_eq!(text.matches("export type Inner = string;").count(), 1);
        let error = module([&family("A", "string"), &family("B", "number")]).unwrap_err();
        assert!(error.to_string().contains("called Inner"), "{error}");
    }

    #[test]
    fn the_real_types_leave_nothing_unnamed() {
        let schemas = shard_protocol::schema::all();
        let values: Vec<Value> = schemas.into_iter().map(|(_, s)| s.to_value()).collect();
        let text = module(&values).unwrap();
        for name in ["AgentEvent", "DaemonCommand", "RenderDescriptor", "Data"] {
            assert!(text.contains(&format!(" {name} ")), "{name}");
        }
    }
}
