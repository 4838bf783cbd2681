//! No text may bring the reader down.

use std::path::Path;

use proptest::prelude::*;
use serde_json::{Map, Value};
use shard_config::{parse, parse_rules, show};

/// Texts of the file's own keys in odd places find more than random characters do.
fn values() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        "\\PC{0,12}".prop_map(Value::from),
        prop::sample::select(vec!["openai", "deny", "http://h", "demo/x", "~/a"])
            .prop_map(Value::from),
    ];
    leaf.prop_recursive(5, 64, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            prop::collection::vec((keys(), inner), 0..6)
                .prop_map(|pairs| Value::Object(pairs.into_iter().collect::<Map<_, _>>())),
        ]
    })
}

fn keys() -> impl Strategy<Value = String> {
    let known = vec![
        "$schema",
        "model",
        "providers",
        "type",
        "base_url",
        "api_key",
        "headers",
        "models",
        "id",
        "permissions",
        "rules",
        "action",
        "tool",
        "path",
        "tools",
        "sandbox",
        "write",
        "mcp",
        "servers",
        "daemon",
        "allowed_origins",
        "// x",
        "subagents",
        "names",
    ];
    prop_oneof![4 => prop::sample::select(known).prop_map(str::to_owned), 1 => "\\PC{0,6}"]
}

fn try_all(text: &str) {
    let file = Path::new("f");
    match parse(text, file) {
        Ok(loaded) => {
            let shown = show(&loaded.config);
            assert!(!shown.is_empty());
        }
        Err(error) => assert!(!error.to_string().contains('\n'), "one line: {error}"),
    }
    drop(parse_rules(text, file));
}

proptest! {
    #[test]
    fn any_text_is_read_or_refused_in_one_line(text in "(?s).{0,200}") {
        try_all(&text);
    }

    #[test]
    fn any_json_is_read_or_refused_in_one_line(value in values()) {
        try_all(&value.to_string());
        try_all(&format!("{value:#}"));
    }

    #[test]
    fn any_cut_of_a_good_file_is_read_or_refused(at in 0..shard_config::STARTER.len()) {
        let text = shard_config::STARTER;
        if text.is_char_boundary(at) {
            try_all(&text[..at]);
            try_all(&text[at..]);
        }
    }
}

#[test]
fn deep_nesting_is_refused_and_does_not_overflow_the_stack() {
    for depth in [100, 127, 128, 200, 100_000] {
        try_all(&format!(
            "{{\"a\":{}{}}}",
            "[".repeat(depth),
            "]".repeat(depth)
        ));
        try_all(&format!(
            "{}1{}",
            "{\"a\":".repeat(depth),
            "}".repeat(depth)
        ));
    }
}
