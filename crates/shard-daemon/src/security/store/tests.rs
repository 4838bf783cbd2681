//! The file: round trip, modes, damage.

use super::*;

fn principal(hash: &str) -> StoredPrincipal {
    StoredPrincipal {
        principal_id: PrincipalId::generate(),
        created_at: 1,
        last_seen_at: 2,
        user_agent: Some("Test/1".to_owned()),
        cookie_hash: hash.to_owned(),
        client_secret_hash: hash.to_owned(),
    }
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[test]
fn what_is_saved_is_read_again_and_belongs_to_its_owner_alone() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("new/security-v1.json");
    let (store, empty) = Store::open(&path).unwrap();
    assert!(empty.is_empty());
    assert!(!path.exists(), "opening writes nothing");
    let saved = principal(&credential::hash("x").unwrap());
    store.save(|| vec![saved.clone()]).unwrap();
    assert_eq!(mode(&path), 0o600);
    assert_eq!(mode(path.parent().unwrap()), 0o700);
    let names: Vec<_> = fs::read_dir(path.parent().unwrap()).unwrap().collect();
    assert_eq!(names.len(), 1, "no temporary file is left: {names:?}");
    let torn = path.with_file_name(format!("{}abc", state_file::TEMPORARY));
    fs::write(&torn, "torn").unwrap();
    let (_, read) = Store::open(&path).unwrap();
    assert!(!torn.exists(), "what a killed writer left is swept");
    assert_eq!(
        serde_json::to_value(&read).unwrap(),
        serde_json::to_value([saved]).unwrap()
    );
}

#[test]
fn a_folder_and_a_file_open_to_others_are_closed() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("security-v1.json");
    fs::write(&path, r#"{"version":1,"principals":[]}"#).unwrap();
    fs::set_permissions(&path, Permissions::from_mode(0o644)).unwrap();
    fs::set_permissions(home.path(), Permissions::from_mode(0o755)).unwrap();
    Store::open(&path).unwrap();
    assert_eq!((mode(home.path()), mode(&path)), (0o700, 0o600));
}

#[test]
fn a_damaged_or_newer_file_is_named_and_left_alone() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("security-v1.json");
    let bad_hash = serde_json::json!({ "version": 1, "principals": [principal("hunter2")] });
    for (text, says) in [
        ("", "is damaged (line 1, column 0)"),
        (
            "{\"version\":1,\n\"principals\":[",
            "is damaged (line 2, column 14)",
        ),
        ("{\"principals\":[]}", "is damaged"),
        (
            "{\"version\":0,\"principals\":[]}",
            "is damaged (there is no version 0)",
        ),
        (bad_hash.to_string().as_str(), "has a malformed hash"),
        (
            "{\"version\":2,\"users\":{}}",
            "has version 2, this shard knows version 1",
        ),
    ] {
        fs::write(&path, text).unwrap();
        let message = Store::open(&path).err().unwrap().to_string();
        assert!(message.contains(says), "{text}: {message}");
        assert!(message.starts_with(path.to_str().unwrap()), "{message}");
        assert!(message.contains("enroll the browsers again"), "{message}");
        assert!(!message.contains("hunter2"), "{message}");
        assert_eq!(fs::read_to_string(&path).unwrap(), text);
    }
}

#[test]
fn a_failed_write_names_the_file_and_keeps_the_old_one() {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().join("state");
    let path = folder.join("security-v1.json");
    let (store, _) = Store::open(&path).unwrap();
    fs::remove_dir(&folder).unwrap();
    let message = store.save(Vec::new).unwrap_err().to_string();
    assert!(message.contains(path.to_str().unwrap()), "{message}");
}
