//! What programs change in the file, and all that they leave alone.

use std::fs;
use std::path::Path;

use shard_config::{
    ConfigError, Endpoint, ProviderConfig, ProviderKind, STARTER, Secret, init, load, use_provider,
};
use shard_types::ModelSpec;

fn ollama() -> ProviderConfig {
    let base_url = Some(Endpoint::new("http://127.0.0.1:11434/v1"));
    ProviderConfig {
        base_url,
        ..ProviderConfig::new(ProviderKind::OpenAi)
    }
}

/// The text of a file that held `before`, after the edit.
fn edited(before: &str) -> String {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("config.json");
    fs::write(&path, before).expect("a file");
    use_provider(&path, "local", &ollama(), Some("qwen3")).expect(before);
    fs::read_to_string(&path).expect("the file")
}

#[test]
fn an_edit_keeps_order_layout_remarks_and_unknown_keys() {
    let before = r#"{
    "// mine": "keep",
    "zebra": [1,  2],
    "model": "other/x",
    "providers": {
        "other": {"type": "openai"}
    },
    "daemon": {"port": 1}
}
"#;
    let after = r#"{
    "// mine": "keep",
    "zebra": [1,  2],
    "model": "local/qwen3",
    "providers": {
        "other": {"type": "openai"},
        "local": {
          "base_url": "http://127.0.0.1:11434/v1",
          "type": "openai"
        }
    },
    "daemon": {"port": 1}
}
"#;
    assert_eq!(edited(before), after);
    assert_eq!(edited(after), after, "the same edit again changes nothing");
}

#[test]
fn an_edit_fills_in_what_is_missing() {
    let expect = r#"{
  "providers": {
    "local": {
      "base_url": "http://127.0.0.1:11434/v1",
      "type": "openai"
    }
  },
  "model": "local/qwen3"
}
"#;
    for before in ["{}\n", "{\n}\n", "{ \"providers\": {} }"] {
        let after: serde_json::Value = edited(before).parse().unwrap();
        assert_eq!(
            after,
            expect.parse::<serde_json::Value>().unwrap(),
            "{before}"
        );
    }
    assert_eq!(edited("{}\n"), expect);
    assert!(
        edited(STARTER).contains("\"// local\""),
        "the starter keeps its remarks"
    );

    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("new/shard/config.json");
    use_provider(&path, "local", &ollama(), Some("qwen3")).unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), expect);
}

#[test]
fn an_edit_may_mend_the_file() {
    let after = edited(r#"{"model": "local/qwen3", "providers": {"local": 7}}"#);
    assert!(after.contains("11434"), "{after}");
}

#[test]
fn without_a_model_the_first_listed_one_is_chosen_or_none() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("config.json");
    use_provider(&path, "local", &ollama(), None).unwrap();
    assert_eq!(load(&path).unwrap().config.model, None);
    let models = ["b", "a"].map(|id| ModelSpec {
        id: id.into(),
        ..ModelSpec::default()
    });
    let listing = ProviderConfig {
        models: Some(models.to_vec()),
        ..ollama()
    };
    use_provider(&path, "local", &listing, None).unwrap();
    assert_eq!(
        load(&path).unwrap().config.model.as_deref(),
        Some("local/b")
    );
}

#[test]
fn secrets_survive_an_edit_in_a_file_for_the_owner_only() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("deep/config.json");
    let mut provider = ollama();
    provider.base_url = Some(Endpoint::new("https://u:p@h.example/v1"));
    provider.api_key = Some(Secret::new("sk-1"));
    provider.headers.insert("X-A".into(), Secret::new("sk-2"));
    use_provider(&path, "mine", &provider, None).unwrap();
    let loaded = load(&path).unwrap();
    assert_eq!(loaded.config.providers["mine"], provider);
    assert_eq!(loaded.warnings, []);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&path), mode(path.parent().unwrap())), (0o600, 0o700));
    }
}

#[test]
fn a_file_that_does_not_parse_or_would_be_wrong_is_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("config.json");
    for before in [
        "{ oops",
        "[]",
        r#"{"a": 1, "a": 2}"#,
        r#"{"tools": {"max_rounds": 0}}"#,
        "",
    ] {
        fs::write(&path, before).unwrap();
        let error = use_provider(&path, "local", &ollama(), None).expect_err(before);
        assert!(matches!(error, ConfigError::Invalid(_)), "{error}");
        assert_eq!(fs::read_to_string(&path).unwrap(), before);
    }
    fs::write(&path, "{}").unwrap();
    use_provider(&path, "No/Name", &ollama(), None).unwrap_err();
    assert_eq!(fs::read_to_string(&path).unwrap(), "{}");
    assert_eq!(
        fs::read_dir(folder.path()).unwrap().count(),
        1,
        "nothing is left behind"
    );
}

#[cfg(unix)]
#[test]
fn a_link_to_the_file_stays_a_link() {
    let folder = tempfile::tempdir().unwrap();
    let (real, link) = (
        folder.path().join("real.json"),
        folder.path().join("config.json"),
    );
    fs::write(&real, "{}").unwrap();
    std::os::unix::fs::symlink(&real, &link).unwrap();
    use_provider(&link, "local", &ollama(), None).unwrap();
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert!(fs::read_to_string(&real).unwrap().contains("local"));
}

#[test]
fn a_starter_is_written_once_with_its_schema_beside_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("shard/config.json");
    init(&path).unwrap();
    assert_eq!(load(&path).unwrap().warnings, []);
    let schema = fs::read_to_string(path.with_file_name("config.schema.json")).unwrap();
    assert_eq!(
        schema.parse::<serde_json::Value>().unwrap(),
        shard_config::schema()
    );

    fs::write(&path, "{}").unwrap();
    assert!(matches!(init(&path).unwrap_err(), ConfigError::Exists(_)));
    assert_eq!(fs::read_to_string(&path).unwrap(), "{}");
}
