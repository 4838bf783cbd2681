//! Wrong files and the exact line that each of them earns.

use std::path::Path;

use shard_config::{ConfigError, load, parse};

const FILE: &str = "/c/config.json";

/// The first line for `text`, without the file's name, which each line begins with.
fn refusal(text: &str) -> String {
    let line = parse(text, Path::new(FILE)).expect_err(text).to_string();
    assert!(!line.contains('\n'), "one line: {line}");
    line.strip_prefix(FILE)
        .and_then(|rest| rest.strip_prefix(':'))
        .expect(&line)
        .to_owned()
}

fn check(cases: &[(&str, &str)]) {
    for (text, expect) in cases {
        assert_eq!(refusal(text), *expect, "for {text}");
    }
}

#[test]
fn a_text_that_is_no_json_is_refused_at_the_place_with_what_belongs_there() {
    check(&[
        (
            "{\n \"model\": \"x/y\",\n \"providers\": { oops }\n}\n",
            "3:17: not valid JSON: expected a key in double quotes",
        ),
        (
            "",
            "1:1: not valid JSON: the file is empty; write {} or remove it",
        ),
        (
            " \n",
            "2:1: not valid JSON: the file is empty; write {} or remove it",
        ),
        (
            "{\"model\": }",
            "1:11: not valid JSON: expected a value; text goes in double quotes",
        ),
        (
            "{\"model\": x}",
            "1:11: not valid JSON: expected a value; text goes in double quotes",
        ),
        (
            "{\"model\": tru}",
            "1:14: not valid JSON: expected true, false or null",
        ),
        (
            "{\"model\" 1}",
            "1:10: not valid JSON: expected a colon after the key",
        ),
        (
            "{\"tools\": {}\n\"mcp\": {}}",
            "2:1: not valid JSON: expected a comma or a closing }",
        ),
        (
            "{\"tools\": {},}",
            "1:14: not valid JSON: expected no comma before a closing bracket",
        ),
        (
            "{\"a\": [1 2]}",
            "1:10: not valid JSON: expected a comma or a closing ]",
        ),
        (
            "{\"a\": {",
            "1:7: not valid JSON: expected a closing bracket before the end of the file",
        ),
        (
            "{\"a\": \"b",
            "1:8: not valid JSON: expected a closing double quote before the end of the file",
        ),
        (
            "{\"ä\": \"b\n\"}",
            "2:1: not valid JSON: expected a closing double quote before the end of the line",
        ),
        (
            "{} {}",
            "1:4: not valid JSON: expected the end of the file after the closing bracket",
        ),
        (
            "{ // why\n}",
            "1:3: not valid JSON: expected no comment; write a key that begins with // instead, such as \"// why\": \"…\"",
        ),
        ("[]", "1:1: expected one JSON object, { … }"),
        ("\n  7", "2:3: expected one JSON object, { … }"),
    ]);
}

#[test]
fn a_value_of_the_wrong_type_is_refused_with_its_keys_path() {
    check(&[
        (
            "{ \"tools\": {\n  \"bash_timeout_secs\": \"soon\" } }",
            "2:24: tools.bash_timeout_secs: expected a whole number, 0 or more",
        ),
        ("{ \"model\": 7 }", "1:12: model: expected a string"),
        (
            "{\"providers\":{\n\"local\":{\"type\":\"openai\",\"base_url\":[]}}}",
            "2:37: providers.local.base_url: expected a string",
        ),
        (
            r#"{"providers":{"a b":{"type":"magic"}}}"#,
            r#"1:29: providers."a b".type: expected one of "openai", "anthropic", "demo""#,
        ),
        (
            r#"{"providers":{"x":{"type":"openai","api":"response"}}}"#,
            r#"1:42: providers.x.api: expected "chat" or "responses""#,
        ),
        (
            r#"{"providers":{"x":{}}}"#,
            r#"1:19: providers.x: expected the key "type""#,
        ),
        (
            r#"{"providers":{"x":{"type":"demo","models":[{"id":"a"},{"images":true}]}}}"#,
            r#"1:55: providers.x.models[1]: expected the key "id""#,
        ),
        (
            r#"{"providers":{"x":{"type":"demo","models":[["a"]]}}}"#,
            "1:44: providers.x.models[0]: expected an object, { … }",
        ),
        (
            r#"{"tools": [1, 2, 3]}"#,
            "1:11: tools: expected an object, { … }",
        ),
        (
            r#"{"tools": null}"#,
            "1:11: tools: expected an object, { … }",
        ),
        (
            r#"{"sandbox": {"mode": "maybe"}}"#,
            r#"1:22: sandbox.mode: expected one of "auto", "on", "off""#,
        ),
        (
            r#"{"sandbox": {"write": "/tmp"}}"#,
            "1:23: sandbox.write: expected a list, [ … ]",
        ),
        (
            r#"{"daemon": {"port": 70000}}"#,
            "1:21: daemon.port: expected a whole number from 0 to 65535",
        ),
        (
            r#"{"compaction": {"enabled": 1}}"#,
            "1:28: compaction.enabled: expected true or false",
        ),
        (
            r#"{"permissions": {"rules": {}}}"#,
            "1:27: permissions.rules: expected a list, [ … ]",
        ),
        (
            r#"{"mcp": {"servers": {"a": []}}}"#,
            "1:27: mcp.servers.a: expected an object, { … }",
        ),
    ]);
}

#[test]
fn a_value_that_cannot_work_is_refused_with_its_keys_path() {
    check(&[
        (
            r#"{"compaction": {"reserve_ratio": 1.5}}"#,
            "1:34: compaction.reserve_ratio: expected a number between 0 and 1",
        ),
        (
            r#"{"tools": {"bash_timeout_secs": 0}}"#,
            "1:33: tools.bash_timeout_secs: expected a whole number from 1 to 31536000",
        ),
        (
            r#"{"tools": {"max_output_bytes": 999}}"#,
            "1:32: tools.max_output_bytes: expected a whole number from 1000 to 8388608",
        ),
        (
            r#"{"permissions": {"ask_timeout_secs": 18446744073709551615}}"#,
            "1:38: permissions.ask_timeout_secs: expected a whole number from 1 to 31536000",
        ),
        (
            r#"{"model": "opus"}"#,
            "1:11: model: expected provider/model",
        ),
        (
            r#"{"model": "lokal/x", "providers": {"local": {"type": "openai"}}}"#,
            r#"1:11: model: no provider "lokal" is configured; did you mean "local"?"#,
        ),
        (
            r#"{"model": "x/y"}"#,
            r#"1:11: model: no provider "x" is configured; add it under providers"#,
        ),
        (
            r#"{"providers": {"a/b": {"type": "openai"}}}"#,
            r#"1:23: providers."a/b": expected a provider's name of a-z, 0-9, _ and - only"#,
        ),
        (
            r#"{"providers": {"demo": {"type": "openai"}}}"#,
            "1:24: providers.demo: expected another name; demo is the built-in provider",
        ),
        (
            r#"{"providers": {"x": {"type": "anthropic", "api": "responses"}}}"#,
            "1:50: providers.x.api: expected no api here: only the type openai has two; remove the key",
        ),
        (
            r#"{"providers": {"x": {"type": "openai", "base_url": "localhost:1"}}}"#,
            "1:52: providers.x.base_url: expected an address that begins with http:// or https://",
        ),
        (
            r#"{"providers": {"x": {"type": "openai", "api_key_env": "A", "api_key": "s"}}}"#,
            "1:71: providers.x.api_key: expected one source of the key; api_key_env is given too",
        ),
        (
            r#"{"providers": {"x": {"type": "openai", "api_key_env": "sk-ant-1"}}}"#,
            "1:55: providers.x.api_key_env: expected the name of a variable, not a key",
        ),
        (
            r#"{"providers": {"x": {"type": "openai", "api_key_file": "key"}}}"#,
            "1:56: providers.x.api_key_file: expected an absolute path, or one that begins with ~/",
        ),
        (
            r#"{"providers": {"x": {"type": "openai", "headers": {"X-A": "b\r\nc"}}}}"#,
            "1:59: providers.x.headers.X-A: expected a header's value on one line",
        ),
        (
            r#"{"providers": {"x": {"type": "openai", "models": [{"id": "a"}, {"id": "a"}]}}}"#,
            "1:71: providers.x.models[1].id: expected models that differ; this one stands here twice",
        ),
        (
            r#"{"daemon": {"allowed_origins": ["https://a.example/x"]}}"#,
            "1:33: daemon.allowed_origins[0]: expected an origin in lower case such as https://shard.example, without a path",
        ),
        (
            r#"{"subagents": {"max_running": 0, "max_tasks": 0}}"#,
            "1:47: subagents.max_tasks: expected a whole number from 1 to 1000 (and 1 more)",
        ),
    ]);
}

#[test]
fn a_key_that_stands_twice_is_refused_and_a_remark_is_not() {
    check(&[
        (
            "{\"model\": \"demo/a\",\n \"model\": \"demo/b\"}",
            "2:2: model: \"model\" stands here twice; keep one",
        ),
        (
            r#"{"mcp": {"servers": {"a": {"env": {"K": "s", "\u004b": "t"}}}}}"#,
            r#"1:46: mcp.servers.a.env.K: "K" stands here twice; keep one"#,
        ),
    ]);
    assert!(parse(r#"{"//": "a", "//": "b"}"#, Path::new(FILE)).is_ok());
}

#[test]
fn every_mistake_is_there_for_a_listing() {
    let text = r#"{"tools": {"max_rounds": 0}, "compaction": {"reserve_ratio": 0}}"#;
    let error = parse(text, Path::new(FILE)).unwrap_err();
    let keys: Vec<_> = error
        .diagnostics()
        .iter()
        .map(|found| found.key.as_str())
        .collect();
    assert_eq!(keys, ["tools.max_rounds", "compaction.reserve_ratio"]);
}

#[test]
fn files_that_cannot_be_read_are_refused_in_one_line() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("config.json");

    let error = load(folder.path()).unwrap_err();
    assert!(
        matches!(error, ConfigError::Read { .. }),
        "a folder: {error}"
    );

    std::fs::write(&path, b"{\n \"model\": \"\xff\"}").unwrap();
    let line = load(&path).unwrap_err().to_string();
    let expect = format!(
        "{}:2:12: not valid JSON: expected text in UTF-8",
        path.display()
    );
    assert_eq!(line, expect);

    std::fs::write(&path, " ".repeat(2 << 20)).unwrap();
    let line = load(&path).unwrap_err().to_string();
    assert!(
        line.ends_with("cannot be read: it is too long for a configuration"),
        "{line}"
    );
}
