//! Keys stay out of everything that is printed, and are found where they are.

use std::io;
use std::path::Path;

use shard_config::{
    KeyError, ProviderConfig, ProviderKind, Secret, expand_home, load, parse, resolve_key, show,
};

const FILE: &str = "/c/config.json";
const SECRETIVE: &str = r#"{
  "providers": { "x": {
    "type": "openai", "base_url": "https://user:S3CRET@h.example/v1",
    "api_key": "S3CRET", "headers": { "X-Key": "S3CRET" }
  } },
  "mcp": { "servers": { "m": { "env": { "K": "S3CRET" }, "url": "https://a:S3CRET@h/" } } }
}"#;

fn openai() -> ProviderConfig {
    ProviderConfig::new(ProviderKind::OpenAi)
}

fn nothing(_: &str) -> Option<String> {
    None
}

fn no_run(_: &str) -> io::Result<String> {
    Err(io::Error::other("printed S3CRET"))
}

#[test]
fn nothing_that_is_printed_holds_a_secret() {
    let config = parse(SECRETIVE, Path::new(FILE)).unwrap().config;
    let shown = show(&config);
    assert!(!shown.contains("S3CRET"), "{shown}");
    assert!(
        shown.contains(r#""base_url": "https://***@h.example/v1""#),
        "{shown}"
    );
    assert!(!format!("{config:?}").contains("S3CRET"));
    let provider = &config.providers["x"];
    assert_eq!(
        provider.effective_base_url(),
        Some("https://user:S3CRET@h.example/v1")
    );
    assert_eq!(provider.headers["X-Key"].expose(), "S3CRET");
}

#[test]
fn no_error_repeats_a_value() {
    let wrong = [
        r#"{"tools": {"max_rounds": "S3CRET"}}"#,
        r#"{"model": "S3CRET"}"#,
        r#"{"providers": {"x": {"type": "S3CRET"}}}"#,
        r#"{"providers": {"x": "S3CRET"}}"#,
        r#"{"providers": {"x": {"type": "openai", "api_key": ["S3CRET"]}}}"#,
        r#"{"providers": {"x": {"type": "openai", "api_key": "S3CRET\n"}}}"#,
        r#"{"providers": {"x": {"type": "openai", "api_key_env": "S3CRET-1"}}}"#,
        r#"{"providers": {"x": {"type": "openai", "api_key_file": "S3CRET"}}}"#,
        r#"{"providers": {"x": {"type": "openai", "base_url": "S3CRET"}}}"#,
        r#"{"providers": {"x": {"type": "openai", "headers": {"a": "S3CRET\u0000"}}}}"#,
        r#"{"providers": {"x": {"type": "openai", "api_key": S3CRET}}}"#,
        r#"{"providers": {"x": {"type": "openai", "api_key": "S3CRET}}}"#,
    ];
    for text in wrong {
        let error = parse(text, Path::new(FILE)).expect_err(text);
        assert!(!format!("{error} {error:?}").contains("S3CRET"), "{error}");
    }
}

#[test]
fn a_key_comes_from_the_one_place_that_is_configured() {
    let home = tempfile::tempdir().unwrap();
    std::fs::write(home.path().join("key"), "from-file\n").unwrap();
    let env = |name: &str| (name == "K").then(|| "from-env".to_owned());
    let run = |command: &str| Ok(format!("{command}-output\n"));
    let cases = [
        (openai(), None),
        (
            ProviderConfig {
                api_key_env: Some("K".into()),
                ..openai()
            },
            Some("from-env"),
        ),
        (
            ProviderConfig {
                api_key_file: Some("~/key".into()),
                ..openai()
            },
            Some("from-file"),
        ),
        (
            ProviderConfig {
                api_key_command: Some("pass".into()),
                ..openai()
            },
            Some("pass-output"),
        ),
        (
            ProviderConfig {
                api_key: Some(Secret::new("literal")),
                ..openai()
            },
            Some("literal"),
        ),
    ];
    for (provider, expect) in cases {
        let key = resolve_key(&provider, Some(home.path()), env, run).unwrap();
        assert_eq!(key.as_ref().map(Secret::expose), expect);
    }
}

#[test]
fn a_source_that_gives_no_key_is_an_error_without_the_value() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &[u8]| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        ProviderConfig {
            api_key_file: Some(path.to_str().unwrap().into()),
            ..openai()
        }
    };
    let unset = ProviderConfig {
        api_key_env: Some("K".into()),
        ..openai()
    };
    let failing = ProviderConfig {
        api_key_command: Some("x".into()),
        ..openai()
    };
    let homeless = ProviderConfig {
        api_key_file: Some("~/key".into()),
        ..openai()
    };
    let missing = ProviderConfig {
        api_key_file: Some("/nowhere/key".into()),
        ..openai()
    };
    let error = |provider: &ProviderConfig| {
        let error = resolve_key(provider, None, nothing, no_run).unwrap_err();
        assert!(!error.to_string().contains("S3CRET"), "{error}");
        error
    };
    assert!(matches!(error(&unset), KeyError::Unset(name) if name == "K"));
    assert!(matches!(error(&failing), KeyError::Command { .. }));
    assert!(matches!(error(&homeless), KeyError::NoHome));
    assert!(matches!(error(&missing), KeyError::File { .. }));
    for text in [&b" \n"[..], b"S3CRET\nX-Other: 1", b"S3CRET\xff"] {
        assert!(matches!(
            error(&file("key", text)),
            KeyError::NoKey("api_key_file")
        ));
    }
    assert!(matches!(
        error(&file("key", &[b'a'; 100_000])),
        KeyError::File { .. }
    ));
}

#[test]
fn a_tilde_stands_for_the_home_directory_only_in_front() {
    let home = Some(Path::new("/h"));
    for (path, expect) in [
        ("~", "/h"),
        ("~/a", "/h/a"),
        ("~//a", "/h/a"),
        ("/~/a", "/~/a"),
        ("~b", "~b"),
    ] {
        assert_eq!(expand_home(path, home).unwrap(), Path::new(expect));
    }
    assert_eq!(expand_home("~/a", None), None);
}

#[cfg(unix)]
#[test]
fn a_literal_key_that_others_can_read_is_a_warning() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("config.json");
    std::fs::write(&path, SECRETIVE).unwrap();
    let lines = |mode| {
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
        let warnings = load(&path).unwrap().warnings;
        warnings.iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    let file = path.display();
    assert_eq!(lines(0o600), Vec::<String>::new());
    for mode in [0o640, 0o604] {
        let expect = format!(
            "{file}:4:16: providers.x.api_key: others on this machine can read the key; run: chmod 600 {file}"
        );
        assert_eq!(lines(mode), [expect]);
    }
}
