use std::fs;

use serde_json::json;

use super::*;

/// A home with an `agents.json` that says this.
fn home(text: &str) -> tempfile::TempDir {
    let home = tempfile::tempdir().unwrap();
    fs::write(home.path().join("agents.json"), text).unwrap();
    home
}

fn run(home: &Path) -> (Migration, Stored) {
    let mut stored = Stored::read(home).unwrap();
    let migration = migrate(home, HeadlessPolicy::Queue, &mut stored);
    (migration, stored)
}

fn read(home: &Path, id: &str) -> Manifest {
    Manifest::read(home, &id.parse().unwrap()).unwrap()
}

/// The files of the home that have to do with `agents.json`.
fn files(home: &Path) -> Vec<String> {
    let names = fs::read_dir(home).unwrap().flatten();
    let mut names: Vec<_> = names
        .filter_map(|it| it.file_name().into_string().ok())
        .filter(|name| name.starts_with("agents.json"))
        .collect();
    names.sort();
    names
}

fn put(home: &Path, relative: &str) -> PathBuf {
    let path = home.join(relative);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, "a session\n").unwrap();
    path
}

#[test]
fn an_entry_becomes_a_record_with_all_that_it_says() {
    let home = home(
        &json!({ "version": 3, "agents": [{
            "agent_id": "agent-1", "session_id": "session-1", "name": "bob", "cwd": "/gone/away",
            "model": "m1", "provider": "mock", "mode": "plan", "status": "streaming",
            "runtime_state": "running", "created_at": 17, "pid": 4711,
            "usage": { "input": 5, "output": 6 }, "parent_agent_id": "agent-0",
            "alias": "Juniper", "definition_name": "reviewer", "display_name": "reviewer · Juniper",
        }, { "agent_id": "old_style", "cwd": "/" }] })
        .to_string(),
    );
    let home = home.path();
    let (migration, stored) = run(home);
    assert_eq!(migration.problems, Vec::<String>::new());
    let read = read(home, "agent-1");
    let usage: Usage = serde_json::from_value(json!({ "input": 5, "output": 6 })).unwrap();
    let wanted = Manifest {
        name: Some("bob".to_owned()),
        model: Some("mock/m1".to_owned()),
        mode: Some("plan".to_owned()),
        headless_policy: HeadlessPolicy::Queue,
        usage: Some(usage),
        managed: Managed {
            parent_agent_id: Some("agent-0".parse().unwrap()),
            alias: Some("Juniper".to_owned()),
            definition_name: Some("reviewer".to_owned()),
            display_name: Some("reviewer · Juniper".to_owned()),
            ..Managed::default()
        },
        ..Manifest::new(
            "agent-1".parse().unwrap(),
            "session-1".parse().unwrap(),
            "/gone/away".into(),
            17,
        )
    };
    assert_eq!(read, wanted);
    assert_eq!(stored.manifests.len(), 2);
    assert_eq!(files(home), ["agents.json.migrated"]);
    // At the next start they are there like all others, whatever their ids look like.
    let (migration, stored) = run(home);
    assert_eq!(migration, Migration::default());
    let mut ids: Vec<_> = stored
        .manifests
        .iter()
        .map(|it| it.agent_id.as_str())
        .collect();
    ids.sort_unstable();
    assert_eq!(ids, ["agent-1", "old_style"]);
}

#[test]
fn a_session_is_adopted_where_it_lies() {
    for (place, elsewhere) in [
        (Some("sessions/session-1.jsonl"), true),
        (Some("sessions/by-project/a/session-1.jsonl"), true),
        (Some("agents/agent-9/forks/session-1.jsonl"), true),
        (Some("agents/agent-1/session-1.jsonl"), false),
        (Some("worktrees/project/session-1.jsonl"), false),
        (None, false),
    ] {
        let entry = json!({ "agent_id": "agent-1", "session_id": "session-1", "cwd": "/" });
        let home = home(&json!({ "agents": [entry] }).to_string());
        let home = home.path();
        let path = place.map(|place| put(home, place));
        run(home);
        let manifest = read(home, "agent-1");
        assert_eq!(
            manifest.session_path,
            path.clone().filter(|_| elsewhere),
            "{place:?}"
        );
        if let Some(path) = path {
            assert_eq!(
                fs::read_to_string(path).unwrap(),
                "a session\n",
                "{place:?}"
            );
        }
    }
}

#[test]
fn an_entry_that_cannot_be_used_is_told_and_hinders_no_other() {
    let good = json!({ "agent_id": "agent-good", "session_id": "session-good", "cwd": "/" });
    for (entry, why) in [
        (json!("agent-1"), "invalid type"),
        (json!({ "cwd": "/" }), "missing field `agent_id`"),
        (
            json!({ "agent_id": "../../x", "cwd": "/" }),
            "not an identifier",
        ),
        (json!({ "agent_id": "agent-1" }), "missing field `cwd`"),
        (
            json!({ "agent_id": "agent-1", "cwd": "work" }),
            "not absolute",
        ),
        (
            json!({ "agent_id": "agent-1", "cwd": "/", "session_id": "a/b" }),
            "not an identifier",
        ),
        (
            json!({ "agent_id": "agent-1", "cwd": "/", "session_id": "session-taken" }),
            "belongs to agent-taken",
        ),
        (
            json!({ "agent_id": "agent-1", "cwd": "/", "session_id": "session-good" }),
            "belongs to agent-good",
        ),
        (
            json!({ "agent_id": "agent-good", "cwd": "/" }),
            "there twice",
        ),
        (
            json!({ "agent_id": "agent-broken", "cwd": "/" }),
            "has a record that cannot be read",
        ),
    ] {
        let home = home(&json!({ "agents": [good, entry] }).to_string());
        let home = home.path();
        let (id, session) = ("agent-taken", "session-taken");
        let taken = Manifest::new(id.parse().unwrap(), session.parse().unwrap(), "/".into(), 1);
        taken.write(home).unwrap();
        let broken = put(home, "agents/agent-broken/manifest.json");
        let (migration, _) = run(home);
        assert_eq!(migration.taken, ["agent-good".parse().unwrap()], "{entry}");
        assert_eq!(migration.problems.len(), 1, "{entry}: {migration:?}");
        let problem = &migration.problems[0];
        assert!(
            problem.contains("entry 1") && problem.contains(why),
            "{entry}: {problem}"
        );
        assert_eq!(files(home), ["agents.json.migrated"], "{entry}");
        assert_eq!(read(home, "agent-taken"), taken);
        assert_eq!(fs::read_to_string(broken).unwrap(), "a session\n");
    }
}

#[test]
fn what_is_no_list_of_agents_is_set_aside_and_kept() {
    for text in [
        "",
        "{",
        "[]",
        "null",
        "{\"agents\": {}}",
        "{\"agent\": []}",
        "\u{0}\u{1}",
    ] {
        let home = home(text);
        let home = home.path();
        // One that was set aside before is kept as well.
        fs::write(home.join("agents.json.unusable"), "before").unwrap();
        let (migration, _) = run(home);
        assert_eq!(migration.taken, Vec::<AgentId>::new(), "{text:?}");
        assert_eq!(migration.problems.len(), 1, "{text:?}: {migration:?}");
        assert!(
            migration.problems[0].contains("is no list of agents"),
            "{migration:?}"
        );
        assert_eq!(
            files(home),
            ["agents.json.unusable", "agents.json.unusable-2"],
            "{text:?}"
        );
        let kept = |name: &str| fs::read_to_string(home.join(name)).unwrap();
        assert_eq!(kept("agents.json.unusable"), "before");
        assert_eq!(kept("agents.json.unusable-2"), text);
    }
}

#[test]
fn one_that_was_cut_short_goes_on_where_it_was() {
    let entry = |n: u32| json!({ "agent_id": format!("agent-{n}"), "session_id": format!("session-{n}"), "cwd": "/" });
    let home = home(&json!({ "agents": [entry(1), entry(2), entry(3)] }).to_string());
    let home = home.path();
    // Where the second one is to be, nothing can be written: it ends there, as if it had died.
    fs::create_dir_all(home.join("agents")).unwrap();
    fs::write(home.join("agents/agent-2"), "in the way").unwrap();
    let (migration, stored) = run(home);
    assert_eq!(stored.manifests.len(), 1);
    assert!(
        migration.problems[0].contains("at the next start"),
        "{migration:?}"
    );
    assert_eq!(files(home), ["agents.json"], "it is still to be done");
    let mut first = read(home, "agent-1");
    first.name = Some("renamed meanwhile".to_owned());
    first.write(home).unwrap();
    fs::remove_file(home.join("agents/agent-2")).unwrap();
    let (migration, stored) = run(home);
    let rest = ["agent-2", "agent-3"].map(|id| id.parse().unwrap());
    assert_eq!(
        migration,
        Migration {
            taken: rest.to_vec(),
            problems: Vec::new()
        }
    );
    assert_eq!(stored.manifests.len(), 3);
    assert_eq!(read(home, "agent-1"), first);
    assert_eq!(files(home), ["agents.json.migrated"]);
}
