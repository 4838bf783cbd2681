//! The file of standing permissions: what it keeps, what it refuses, what it passes by.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use serde_json::{Value, json};
use shard_session::{Covers, read_grants, revoke_grant, write_grants};
use shard_types::GrantKind;

struct Place {
    _dir: tempfile::TempDir,
    path: PathBuf,
}

impl Place {
    /// A file of these grants.
    fn with(grants: &Value) -> Self {
        let place = Self::empty();
        place.put(&json!({ "version": 1, "grants": grants }).to_string());
        place
    }

    fn empty() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("deep/permission-grants.json");
        fs::create_dir(dir.path().join("deep")).unwrap();
        Self { _dir: dir, path }
    }

    fn put(&self, text: &str) {
        fs::write(&self.path, text).unwrap();
    }

    fn stored(&self) -> Value {
        let text = fs::read(&self.path).unwrap();
        serde_json::from_slice::<Value>(&text).unwrap()["grants"].clone()
    }

    fn listed(&self) -> Vec<(String, Option<GrantKind>)> {
        let grants = read_grants(&self.path).unwrap();
        let listed = grants.iter().map(|grant| grant.listed());
        listed
            .map(|grant| (grant.grant_id.to_string(), grant.kind))
            .collect()
    }
}

/// A grant with these fields besides those that all have.
fn grant(id: &str, more: &Value) -> Value {
    let mut row = json!({ "grant_id": id, "tool": "bash", "summary": "s", "created_at": 7,
        "used": 2, "last_used_at": 9, "source": "web" });
    let fields = more.as_object().unwrap().clone();
    row.as_object_mut().unwrap().extend(fields);
    row
}

fn signature(commands: &Value) -> Value {
    json!({ "kind": "bash_signature", "signature_version": 1, "commands": commands, "paths": ["/w"] })
}

fn ls() -> Value {
    json!([{ "program": "ls", "flags": ["-l"], "operands": [{ "text": "src", "after": ["-l"] }] }])
}

#[test]
fn what_is_read_is_written_again_and_an_exact_grant_needs_no_kind() {
    let place = Place::with(&json!([
        grant(
            "grant-1",
            &json!({ "input": { "command": "ls" }, "paths": ["/w"] })
        ),
        grant("grant-2", &signature(&ls())),
    ]));
    let grants = read_grants(&place.path).unwrap();
    assert!(matches!(&grants[0].covers, Covers::Exact { input, .. } if input["command"] == "ls"));
    let Covers::BashSignature { commands, paths } = &grants[1].covers else {
        panic!("{grants:?}");
    };
    assert_eq!(
        (commands[0].program.as_str(), paths[0].to_str()),
        ("ls", Some("/w"))
    );
    write_grants(&place.path, &grants).unwrap();
    assert_eq!(read_grants(&place.path).unwrap(), grants);
    let stored = place.stored();
    assert_eq!(
        (&stored[0]["kind"], &stored[0]["used"]),
        (&json!("exact"), &json!(2))
    );
    let mode = fs::metadata(&place.path).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}

#[test]
fn what_is_not_understood_covers_nothing_and_is_kept_as_it_stands() {
    let odd = [
        grant(
            "grant-1",
            &json!({ "kind": "of_a_later_version", "input": {} }),
        ),
        grant("grant-2", &json!({ "kind": "exact" })),
        grant("grant-3", &json!({ "kind": 7, "input": {} })),
        grant("grant-4", &signature(&json!([]))),
        grant(
            "grant-5",
            &signature(&json!([{ "program": "ls", "operands": [] }])),
        ),
        grant(
            "grant-6",
            &signature(&json!([{ "program": "ls", "flags": [], "operands": [],
            "only_if": "later" }])),
        ),
        grant(
            "grant-7",
            &json!({ "kind": "bash_signature", "signature_version": 2,
            "commands": ls(), "paths": ["/w"] }),
        ),
        grant("grant-8", &json!({ "kind": "not_understood", "input": {} })),
        grant("../9", &json!({ "input": {} })),
        json!({}),
        json!("text"),
    ];
    let place = Place::with(&json!(odd));
    let listed = place.listed();
    let none = |(_, kind): &(String, Option<GrantKind>)| *kind == Some(GrantKind::NotUnderstood);
    assert_eq!(listed.len(), odd.len());
    assert!(listed.iter().all(none), "{listed:?}");
    assert_eq!(
        place.listed(),
        listed,
        "an id holds from one reading to the next"
    );
    for (id, _) in &listed[8..] {
        assert!(id.starts_with("grant-unreadable-"), "{id}");
    }
    write_grants(&place.path, &read_grants(&place.path).unwrap()).unwrap();
    assert_eq!(place.stored(), json!(odd));
    for (id, _) in &listed {
        assert!(
            revoke_grant(&place.path, &id.parse().unwrap()).unwrap(),
            "{id}"
        );
    }
    assert_eq!(place.stored(), json!([]));
}

#[test]
fn revoking_takes_that_one_out_and_no_other() {
    let exact = json!({ "input": {}, "paths": [] });
    let place = Place::with(&json!([grant("grant-1", &exact), grant("grant-2", &exact)]));
    let revoke = |id: &str| revoke_grant(&place.path, &id.parse().unwrap()).unwrap();
    assert!(!revoke("grant-3"));
    assert!(revoke("grant-1"));
    assert!(!revoke("grant-1"));
    assert_eq!(
        place.listed(),
        [("grant-2".to_owned(), Some(GrantKind::Exact))]
    );
    let nowhere = Place::empty();
    assert!(!revoke_grant(&nowhere.path, &"grant-1".parse().unwrap()).unwrap());
    assert!(!nowhere.path.exists(), "nothing is made for it");
}

#[test]
fn a_file_that_is_none_of_grants_is_an_error_and_stays() {
    let place = Place::empty();
    for bad in [
        "",
        "{",
        "[]",
        r#"{"version":2,"grants":[]}"#,
        &" ".repeat(9 << 20),
    ] {
        place.put(bad);
        let shown = &bad[..bad.len().min(40)];
        assert!(read_grants(&place.path).is_err(), "{shown}");
        assert!(
            revoke_grant(&place.path, &"grant-1".parse().unwrap()).is_err(),
            "{shown}"
        );
        assert_eq!(fs::read_to_string(&place.path).unwrap(), bad);
    }
}

#[test]
fn a_pipe_is_not_waited_for() {
    let place = Place::empty();
    let made = std::process::Command::new("mkfifo")
        .arg(&place.path)
        .status();
    assert!(made.unwrap().success());
    let (path, (tell, told)) = (place.path.clone(), std::sync::mpsc::channel());
    std::thread::spawn(move || tell.send(read_grants(&path).map_err(|error| error.to_string())));
    let read = told.recv_timeout(std::time::Duration::from_secs(5));
    let error = read.expect("an answer at once").unwrap_err();
    assert!(error.contains("no regular file"), "{error}");
}
