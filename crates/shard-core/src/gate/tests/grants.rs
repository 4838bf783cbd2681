//! What a person allowed for good: how it is kept, counted and taken back.

use shard_types::GrantKind;

use super::forms::Asking;
use super::*;

#[test]
fn what_was_refused_meanwhile_is_not_allowed_by_an_earlier_grant() {
    let world = World::new();
    let path = world.grants_path();
    let row = |kind: &str, version: u32| {
        json!({ "grant_id": "grant-1", "tool": "bash", "summary": "s", "created_at": 1, "used": 0,
            "kind": kind, "signature_version": version, "paths": [world.cwd],
            "commands": [
                { "program": "rm", "flags": [], "operands": [{ "text": "x" }] },
                { "program": "ls", "flags": [], "operands": [] },
            ] })
    };
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    for (kind, version, ls) in [
        ("bash_signature", 1, "allow"),
        ("bash_signature", 2, "ask"),
        ("later", 1, "ask"),
        ("exact", 1, "ask"),
    ] {
        let text = json!({ "version": 1, "grants": [row(kind, version)] }).to_string();
        std::fs::write(&path, &text).unwrap();
        let gate = world.gate(json!([]));
        assert_eq!(world.word(&gate, &bash("ls")), ls, "{kind} {version}");
        assert_eq!(world.word(&gate, &bash("rm x")), "ask", "{kind} {version}");
        let listed = gate.grants();
        let known = listed[0].kind == Some(GrantKind::BashSignature);
        assert_eq!((listed.len(), known), (1, ls == "allow"), "{listed:?}");
    }
}

#[test]
fn uses_are_counted_and_kept_when_told_to() {
    let asking = Asking::new();
    let granted = asking.grant("cargo test");
    assert_eq!(granted.kind, Some(GrantKind::BashSignature));
    assert_eq!(granted.summary, "Run `cargo test`");
    let stored = || {
        let text = std::fs::read(asking.world.grants_path()).unwrap();
        serde_json::from_slice::<Value>(&text).unwrap()["grants"][0]["used"].clone()
    };
    for line in ["cargo test", "cargo test 2>&1"] {
        let Decision::Allow { by } = asking.world.decide(&asking.gate, &bash(line)) else {
            panic!("{line}");
        };
        assert_eq!(by.kind, AllowedByKind::Grant);
        assert_eq!(by.id.as_deref(), Some(granted.grant_id.as_str()));
    }
    assert_eq!(stored(), json!(0), "judging writes nothing");
    asking.gate.keep_uses().unwrap();
    assert_eq!(stored(), json!(2));
    let listed = &asking.world.gate(json!([])).grants()[0];
    assert_eq!(listed.used, 2);
    assert!(listed.last_used_at >= Some(granted.created_at));
    // A file that nothing is to be added to is left alone.
    std::fs::remove_file(asking.world.grants_path()).unwrap();
    asking.gate.keep_uses().unwrap();
    assert!(!asking.world.grants_path().exists());
}

#[test]
fn a_grant_that_is_revoked_covers_nothing_from_then_on() {
    let asking = Asking::new();
    let first = asking.grant("cargo test").grant_id;
    let second = asking.grant("cargo fmt").grant_id;
    assert_eq!(asking.word("cargo test"), "allow");
    assert!(asking.gate.revoke(&first).unwrap());
    assert!(!asking.gate.revoke(&first).unwrap());
    assert_eq!(
        (asking.word("cargo test"), asking.word("cargo fmt")),
        ("ask", "allow")
    );
    let again = asking.world.gate(json!([]));
    assert_eq!(again.grants().len(), 1);
    assert_eq!(again.grants()[0].grant_id, second);
}

#[test]
fn what_is_taken_out_of_the_file_does_not_come_back_with_the_uses() {
    let asking = Asking::new();
    let gone = asking.grant("cargo test").grant_id;
    asking.grant("cargo fmt");
    assert_eq!(asking.word("cargo test"), "allow");
    shard_session::revoke_grant(&asking.world.grants_path(), &gone).unwrap();
    asking.gate.keep_uses().unwrap();
    assert_eq!(asking.word("cargo test"), "ask");
    assert_eq!(asking.world.gate(json!([])).grants().len(), 1);
}

#[test]
fn a_revocation_that_cannot_be_written_counts_all_the_same() {
    use std::os::unix::fs::PermissionsExt;
    let asking = Asking::new();
    let id = asking.grant("cargo test").grant_id;
    let folder = asking.world.root().join("state/sessions");
    std::fs::remove_dir_all(&folder).unwrap();
    std::fs::write(&folder, "in the way").unwrap();
    std::fs::set_permissions(&folder, std::fs::Permissions::from_mode(0o600)).unwrap();
    let error = asking.gate.revoke(&id).unwrap_err().to_string();
    assert!(
        error.starts_with("cannot take the permission out for good in "),
        "{error}"
    );
    assert_eq!(asking.word("cargo test"), "ask");
}

#[test]
fn there_is_an_end_to_what_is_remembered() {
    let world = World::new();
    let row = |number: usize| {
        json!({ "grant_id": format!("grant-{number}"), "tool": "bash", "summary": "s",
            "created_at": 1, "used": 0, "input": { "command": number }, "paths": [] })
    };
    let rows: Vec<Value> = (0..shard_session::MAX_GRANTS).map(row).collect();
    std::fs::create_dir_all(world.grants_path().parent().unwrap()).unwrap();
    let text = json!({ "version": 1, "grants": rows }).to_string();
    std::fs::write(world.grants_path(), text).unwrap();
    let gate = world.gate(json!([]));
    let grant =
        |gate: &Gate| world.with(&bash("ls"), &NEUTRAL, |facts| gate.grant(facts, None, None));
    let error = grant(&gate).unwrap_err().to_string();
    assert!(
        error.contains("1000 are kept already; revoke some"),
        "{error}"
    );
    assert!(gate.revoke(&"grant-7".parse().unwrap()).unwrap());
    grant(&gate).unwrap();
}

#[test]
fn a_grant_is_exact_and_stays_where_its_link_led() {
    let world = World::new();
    let gate = world.gate(json!([{ "action": "ask", "tool": "*" }]));
    world
        .with(&bash("ls"), &NEUTRAL, |facts| {
            gate.grant(facts, None, Some("web"))
        })
        .unwrap();
    assert_eq!(world.word(&gate, &bash("ls")), "allow");
    assert_eq!(world.word(&gate, &bash("ls ")), "ask");
    assert_eq!(
        world.word(
            &gate,
            &Sample {
                tool: "other",
                ..bash("ls")
            }
        ),
        "ask"
    );
    world
        .with(&read("link/x"), &NEUTRAL, |facts| {
            gate.grant(facts, None, None)
        })
        .unwrap();
    assert_eq!(world.word(&gate, &read("link/x")), "allow");
    std::fs::remove_file(world.cwd.join("link")).unwrap();
    std::os::unix::fs::symlink("/etc", world.cwd.join("link")).unwrap();
    assert_eq!(world.word(&gate, &read("link/x")), "ask");
    let again = world.gate(json!([]));
    assert_eq!(world.word(&again, &bash("ls")), "allow");
}

#[test]
fn a_file_of_grants_that_cannot_be_read_is_set_aside() {
    use std::os::unix::fs::PermissionsExt;
    let world = World::new();
    let path = world.grants_path();
    let gate = world.gate(json!([]));
    world
        .with(&bash("ls"), &NEUTRAL, |facts| {
            gate.grant(facts, None, Some("web"))
        })
        .unwrap();
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&path), mode(path.parent().unwrap())), (0o600, 0o700));
    assert_eq!(world.word(&gate, &bash("ls")), "allow");
    world
        .with(&bash("id"), &NEUTRAL, |facts| gate.grant(facts, None, None))
        .unwrap();
    let stored: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    assert_eq!(stored["version"], 1);
    let first = &stored["grants"][0];
    assert_eq!(
        (&first["tool"], &first["source"], &first["used"]),
        (&json!("bash"), &json!("web"), &json!(1))
    );
    assert!(
        first["last_used_at"].is_u64() && first["created_at"].is_u64(),
        "{first}"
    );
    for bad in ["{", r#"{"version":2,"grants":[]}"#] {
        std::fs::write(&path, bad).unwrap();
        let (again, problems) = world.open(Vec::new());
        assert_eq!(problems.len(), 1, "{bad}");
        assert_eq!(world.word(&again, &bash("ls")), "ask", "{bad}");
        assert!(!path.exists(), "{bad}");
    }
    let kept = std::fs::read_dir(path.parent().unwrap())
        .unwrap()
        .filter(|entry| {
            entry
                .as_ref()
                .unwrap()
                .file_name()
                .to_string_lossy()
                .contains(".corrupt-")
        });
    assert!(kept.count() >= 1);
}

#[test]
fn a_grant_that_cannot_be_stored_is_not_kept() {
    let world = World::new();
    std::fs::write(world.root().join("state/sessions"), "in the way").unwrap();
    let (gate, _) = world.open(Vec::new());
    let failed = world.with(&bash("ls"), &NEUTRAL, |facts| gate.grant(facts, None, None));
    assert!(failed.is_err());
    assert_eq!(world.word(&gate, &bash("ls")), "ask");
}

#[test]
fn a_count_of_uses_that_somebody_wrote_does_not_break_the_gate() {
    let world = World::new();
    let path = world.grants_path();
    let grant = json!({ "grant_id": "grant-1", "tool": "bash", "summary": "s", "created_at": 1, "used": u64::MAX,
        "input": { "command": "ls" }, "paths": [world.cwd] });
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    let text = json!({ "version": 1, "grants": [grant] }).to_string();
    std::fs::write(&path, text).unwrap();
    let gate = world.gate(json!([]));
    assert_eq!(world.word(&gate, &bash("ls")), "allow");
    assert_eq!(gate.grants()[0].used, u64::MAX);
}

#[test]
fn a_new_grant_brings_none_back_and_overwrites_nothing_unread() {
    let asking = Asking::new();
    let path = asking.world.grants_path();
    asking.grant("cargo test");
    std::fs::write(&path, r#"{"version":1,"grants":[]}"#).unwrap();
    asking.grant("cargo fmt");
    assert_eq!(
        [asking.word("cargo test"), asking.word("cargo fmt")],
        ["ask", "allow"]
    );
    assert_eq!(asking.world.gate(json!([])).grants().len(), 1);
    std::fs::write(&path, "{ half").unwrap();
    let grant = |facts: &CallFacts<'_>| asking.gate.grant(facts, Some(ALLOW_SIGNATURE), None);
    let outcome = asking.world.with(&bash("cargo doc"), &NEUTRAL, grant);
    assert!(outcome.is_err(), "{outcome:?}");
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "{ half");
}

#[test]
fn a_revocation_brings_none_back_and_overwrites_nothing_unread() {
    let asking = Asking::new();
    let path = asking.world.grants_path();
    for command in ["cargo test", "cargo fmt", "cargo doc"] {
        asking.grant(command);
    }
    let ids = asking.gate.grants().into_iter().map(|grant| grant.grant_id);
    let ids: Vec<_> = ids.collect();
    let mut file: Value = serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
    file["grants"].as_array_mut().unwrap().remove(0);
    std::fs::write(&path, file.to_string()).unwrap();
    assert!(asking.gate.revoke(&ids[1]).unwrap());
    assert_eq!(
        ["cargo test", "cargo fmt", "cargo doc"].map(|command| asking.word(command)),
        ["ask", "ask", "allow"]
    );
    assert_eq!(asking.world.gate(json!([])).grants().len(), 1);
    std::fs::write(&path, "{ half").unwrap();
    assert!(asking.gate.revoke(&ids[2]).is_err());
    assert_eq!(asking.word("cargo doc"), "ask", "it counts at once");
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "{ half");
}
