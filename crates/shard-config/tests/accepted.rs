//! Files that are accepted: what they mean, and what is odd about them.

use std::path::Path;

use serde_json::{Value, json};
use shard_config::{
    Config, Loaded, OpenAiApi, ProviderKind, RuleEntry, STARTER, SandboxMode, load, parse,
    parse_rules, schema, show,
};
use shard_types::{HeadlessPolicy, RuleAction};

const FILE: &str = "/c/config.json";

fn accept(text: &str) -> Loaded {
    parse(text, Path::new(FILE)).unwrap_or_else(|error| panic!("{error} in {text}"))
}

fn warnings(text: &str) -> Vec<String> {
    let lines = accept(text)
        .warnings
        .into_iter()
        .map(|warning| warning.to_string());
    lines
        .map(|line| {
            line.strip_prefix("/c/config.json:")
                .expect("the file")
                .to_owned()
        })
        .collect()
}

/// A file with every documented key.
fn full() -> Value {
    json!({
        "$schema": "https://shard.example/config.schema.json",
        "model": "local/qwen3-coder",
        "providers": {
            "local": {
                "type": "openai",
                "base_url": "http://127.0.0.1:11434/v1",
                "api_key_env": "LOCAL_API_KEY",
                "headers": {},
                "models": [{
                    "id": "qwen3-coder", "context_window": 32768, "max_output_tokens": 8192,
                    "images": false, "reasoning": ["low", "medium", "high"],
                    "cost": { "input": 0.0, "output": 0.0, "cache_read": 0.0, "cache_write": 0.0 }
                }]
            },
            "anthropic": {
                "type": "anthropic", "api_key_env": "ANTHROPIC_API_KEY", "models": [{ "id": "m" }]
            },
            "openai": { "type": "openai", "api": "responses", "api_key_env": "OPENAI_API_KEY" }
        },
        "permissions": { "rules": [], "ask_timeout_secs": 60, "headless_policy": "deny" },
        "compaction": { "enabled": true, "reserve_ratio": 0.2, "keep_recent_tokens": 20000 },
        "tools": { "bash_timeout_secs": 120, "max_output_bytes": 50000, "max_rounds": 200 },
        "sandbox": { "mode": "auto", "write": [] },
        "subagents": { "names": ["Juniper", "Alder"], "max_tasks": 8, "max_depth": 3, "max_running": 8 },
        "mcp": { "servers": {} },
        "daemon": {
            "port": 7411, "idle_timeout_secs": 1800, "allowed_origins": [],
            "client_queue_bytes": 8388608
        }
    })
}

#[test]
fn the_documented_example_is_read_without_a_warning_and_comes_back_when_shown() {
    let loaded = accept(&full().to_string());
    assert_eq!(loaded.warnings, []);
    let shown = show(&loaded.config);
    assert_eq!(accept(&shown).config, loaded.config);

    let local = &loaded.config.providers["local"];
    assert_eq!(local.kind, ProviderKind::OpenAi);
    assert_eq!(
        local.effective_base_url(),
        Some("http://127.0.0.1:11434/v1")
    );
    assert_eq!(local.api, None, "chat, unless told otherwise");
    assert_eq!(OpenAiApi::default(), OpenAiApi::Chat);
    let openai = &loaded.config.providers["openai"];
    assert_eq!(openai.api, Some(OpenAiApi::Responses));
    let anthropic = &loaded.config.providers["anthropic"];
    assert_eq!(
        anthropic.effective_base_url(),
        Some("https://api.anthropic.com")
    );
}

#[test]
fn the_defaults_are_the_documented_ones() {
    let mut documented = full();
    for key in ["$schema", "model", "providers"] {
        documented.as_object_mut().unwrap().remove(key);
    }
    let names = Config::default().subagents.names;
    documented["subagents"]["names"] = json!(names);
    assert_eq!(accept(&documented.to_string()).config, Config::default());
    assert_eq!(accept("{}").config, Config::default());
    assert_eq!(names[0], "Juniper");
    assert_eq!(Config::default().sandbox.mode, SandboxMode::Auto);
    assert_eq!(
        Config::default().permissions.headless_policy,
        HeadlessPolicy::Deny
    );
}

#[test]
fn a_missing_file_is_the_default_configuration() {
    let folder = tempfile::tempdir().unwrap();
    let loaded = load(&folder.path().join("none/config.json")).unwrap();
    assert_eq!(
        loaded,
        Loaded {
            config: Config::default(),
            warnings: Vec::new(),
            existed: false
        }
    );
}

#[test]
fn the_starter_is_the_default_configuration_without_a_warning() {
    let mut loaded = accept(STARTER);
    assert_eq!(loaded.warnings, []);
    assert!(loaded.config.schema.take().is_some());
    assert_eq!(loaded.config, Config::default());
}

#[test]
fn unknown_keys_are_warnings_with_a_suggestion() {
    let cases = [
        (
            "{\n \"compactoin\": {\"enabled\": false}}",
            r#"2:2: unknown key "compactoin" is ignored; did you mean "compaction"?"#,
        ),
        (
            "{\"providers\": {\"x\": {\"type\": \"openai\",\n  \"baseUrl\": \"\"}}}",
            r#"2:3: providers.x: unknown key "baseUrl" is ignored; did you mean "base_url"?"#,
        ),
        (
            r#"{"providers": {"x": {"type": "openai", "models": [{"id": "a", "cost": {"inptu": 1}}]}}}"#,
            r#"1:72: providers.x.models[0].cost: unknown key "inptu" is ignored; did you mean "input"?"#,
        ),
        (
            r#"{"sandbox": {"zzz\n": 1}}"#,
            r#"1:14: sandbox: unknown key "zzz\n" is ignored; known here: mode, write"#,
        ),
    ];
    for (text, expect) in cases {
        assert_eq!(warnings(text), [expect], "for {text}");
    }
}

#[test]
fn names_that_people_choose_and_remarks_are_never_unknown() {
    let text = json!({
        "// why": 1,
        "providers": {
            "//": "a remark among names",
            "mine": { "type": "openai", "headers": { "X-Any": "v", "//": ["a remark"] } }
        },
        "tools": { "//": null },
        "permissions": { "rules": [{ "//": "w", "action": "ask", "tool": "bash" }] },
        "mcp": { "servers": { "any": { "command": "x", "whatever": { "deep": [1] } } } }
    });
    let loaded = accept(&text.to_string());
    assert_eq!(loaded.warnings, []);
    assert_eq!(loaded.config.providers.len(), 1);
    assert_eq!(loaded.config.providers["mine"].headers.len(), 1);
    assert_eq!(
        loaded.config.mcp.servers["any"].expose()["whatever"],
        json!({ "deep": [1] })
    );
}

#[test]
fn what_works_but_is_unwise_is_a_warning() {
    assert_eq!(
        warnings(
            r#"{"model": "x/b", "providers": {"x": {"type": "demo", "models": [{"id": "a"}]}}}"#
        ),
        ["1:11: model: providers.x.models does not list this model"]
    );
    let remote = r#"{"providers": {"x": {"type": "openai", "base_url": "http://h.example/v1", "api_key_env": "K"}}}"#;
    assert_eq!(
        warnings(remote),
        [
            "1:52: providers.x.base_url: sends the key unencrypted over the network; use https:// if the server can"
        ]
    );
    assert!(warnings(&remote.replace("h.example", "127.0.0.1:9")).is_empty());
}

#[test]
fn a_wrong_rule_is_reported_and_leaves_the_others_alone() {
    let cases = [
        (
            r#"{"action": "deny", "tool": "bash", "comand": "rm *"}"#,
            true,
            r#"unknown key "comand"; did you mean "command"?; until it is mended, every call asks"#,
        ),
        (
            r#"{"action": "dney", "tool": "bash"}"#,
            true,
            r#"action: expected one of "allow", "ask", "deny"; until it is mended, every call asks"#,
        ),
        (
            r#"{"tool": "bash"}"#,
            true,
            r#"expected the key "action"; until it is mended, every call asks"#,
        ),
        (
            r#"{"action": "allow"}"#,
            false,
            r#"expected the key "tool"; the rule is ignored"#,
        ),
        (
            r#"{"action": "ask", "tool": "read", "path": "src/[a"}"#,
            true,
            "path: expected a glob with its brackets closed; until it is mended, every call asks",
        ),
        (
            r#"{"action": "allow", "tool": "bash", "command": " "}"#,
            false,
            "command: expected a pattern that is not empty; the rule is ignored",
        ),
        (
            r#"["deny", "bash", null, null, null]"#,
            true,
            "expected an object, { … }; until it is mended, every call asks",
        ),
        (
            r#"{"action": "allow", "tool": 7}"#,
            false,
            "tool: expected a string; the rule is ignored",
        ),
    ];
    for (rule, may_restrict, reason) in cases {
        let text = format!(r#"{{"rules": [{{"action": "deny", "tool": "*"}}, {rule}]}}"#);
        let parsed = parse_rules(&text, Path::new("/r/a.json")).unwrap();
        assert_eq!(parsed.rules[0].valid().unwrap().action, RuleAction::Deny);
        assert_eq!(parsed.rules[1].fails_closed(), may_restrict, "{rule}");
        let lines: Vec<_> = parsed.warnings.iter().map(ToString::to_string).collect();
        assert_eq!(lines, [format!("/r/a.json:1:45: rules[1]: {reason}")]);

        let inside = accept(&format!(r#"{{"permissions": {text}}}"#));
        assert_eq!(inside.config.permissions.rules, parsed.rules);
        assert_eq!(inside.warnings[0].key, "permissions.rules[1]");
        assert_eq!(
            serde_json::to_value(&parsed.rules[1]).unwrap(),
            rule.parse::<Value>().unwrap()
        );
    }
}

#[test]
fn a_rules_file_without_its_list_is_refused() {
    for (text, expect) in [
        ("{}", r#"/r/a.json:1:1: expected the key "rules""#),
        (
            r#"{"ruels": []}"#,
            r#"/r/a.json:1:1: expected the key "rules""#,
        ),
        ("[]", "/r/a.json:1:1: expected one JSON object, { … }"),
    ] {
        assert_eq!(
            parse_rules(text, Path::new("/r/a.json"))
                .unwrap_err()
                .to_string(),
            expect
        );
    }
    let parsed = parse_rules(r#"{"rules": [], "x": 1}"#, Path::new("/r/a.json")).unwrap();
    assert_eq!(parsed.rules, Vec::<RuleEntry>::new());
    assert_eq!(parsed.warnings.len(), 1);
}

#[test]
fn the_schema_accepts_what_is_accepted_and_describes_every_key() {
    let schema = schema();
    let validator = jsonschema::validator_for(&schema).unwrap();
    assert!(validator.is_valid(&full()));
    assert!(validator.is_valid(&STARTER.parse().unwrap()));
    let remarks = json!({
        "providers": { "//": "a remark" },
        "permissions": { "rules": [{ "//": 1, "action": "ask", "tool": "*" }] }
    });
    assert!(validator.is_valid(&remarks));
    assert!(!validator.is_valid(&json!({ "tools": { "max_rounds": "many" } })));

    let mut objects: Vec<&Value> = schema["$defs"].as_object().unwrap().values().collect();
    objects.push(&schema);
    for object in objects {
        for (key, property) in object["properties"].as_object().into_iter().flatten() {
            assert!(
                property["description"].is_string(),
                "{key} has a description"
            );
        }
    }
}

#[test]
fn a_byte_order_mark_is_no_mistake() {
    assert_eq!(accept("\u{feff}{}").config, Config::default());
}
