//! The session file: what survives, what is refused, what is reported.

use std::io::Write;
use std::path::{Path, PathBuf};

use shard_session::{Damage, Header, SessionError, SessionFile, latest, load};
use shard_types::{ContentBlock, EntryBody, MessageDetails, Role, SessionId};

fn header(cwd: &str) -> Header {
    Header {
        session_id: SessionId::generate(),
        cwd: cwd.to_owned(),
        created_at: 1,
    }
}

fn says(text: &str) -> EntryBody {
    let content = vec![ContentBlock::Text {
        text: text.to_owned(),
    }];
    EntryBody::Message(MessageDetails {
        role: Role::User,
        content,
        partial: false,
        usage: None,
    })
}

fn texts(path: &Path) -> Vec<String> {
    let entries = load(path).unwrap().entries;
    entries
        .iter()
        .filter_map(|entry| match &entry.body {
            EntryBody::Message(message) => match &message.content[0] {
                ContentBlock::Text { text } => Some(text.clone()),
                _ => None,
            },
            _ => None,
        })
        .collect()
}

/// A session of three messages, closed.
fn session(dir: &Path) -> PathBuf {
    let path = dir.join("s.jsonl");
    let mut file = SessionFile::create(&path, &header("/w")).unwrap();
    for text in ["one", "two", "three"] {
        file.append(says(text)).unwrap();
    }
    path
}

fn edit_line(path: &Path, number: usize, edit: impl Fn(&str) -> String) {
    let text = std::fs::read_to_string(path).unwrap();
    let lines: Vec<String> = text
        .lines()
        .enumerate()
        .map(|(at, line)| {
            if at + 1 == number {
                edit(line)
            } else {
                line.to_owned()
            }
        })
        .collect();
    std::fs::write(path, lines.join("\n") + "\n").unwrap();
}

#[test]
fn rows_form_one_chain_from_the_header_on() {
    let dir = tempfile::tempdir().unwrap();
    let path = session(dir.path());
    let loaded = load(&path).unwrap();
    assert_eq!(loaded.header.cwd, "/w");
    assert_eq!(loaded.entries[0].parent_id, None);
    for pair in loaded.entries.windows(2) {
        assert_eq!(pair[1].parent_id.as_ref(), Some(&pair[0].id));
    }
    assert_eq!(texts(&path), ["one", "two", "three"]);
}

#[test]
fn separators_inside_strings_survive_to_the_byte() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("s.jsonl");
    let text = "a\u{2028}b\u{2029}c\u{85}d\ne\r\n\u{0}f";
    SessionFile::create(&path, &header("/w"))
        .unwrap()
        .append(says(text))
        .unwrap();
    assert_eq!(texts(&path), [text]);
}

#[test]
fn only_the_owner_can_read_it() {
    use std::os::unix::fs::PermissionsExt;
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("state/sessions/s.jsonl");
    drop(SessionFile::create(&path, &header("/w")).unwrap());
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&path), mode(path.parent().unwrap())), (0o600, 0o700));
}

#[test]
fn a_second_writer_is_refused_until_the_first_is_gone() {
    let dir = tempfile::tempdir().unwrap();
    let path = session(dir.path());
    let (first, _) = SessionFile::open(&path).unwrap();
    assert!(matches!(
        SessionFile::open(&path),
        Err(SessionError::InUse { .. })
    ));
    assert!(load(&path).is_ok(), "reading needs no lock");
    drop(first);
    assert!(SessionFile::open(&path).is_ok());
}

#[test]
fn a_process_that_lets_go_of_a_dead_writers_lock_is_waited_for() {
    let dir = tempfile::tempdir().unwrap();
    let path = session(dir.path());
    let lock = std::fs::File::open(&path).unwrap();
    lock.try_lock().unwrap();
    // The command itself goes with this line, and leaves the lock to the process.
    let heir = std::process::Command::new("sleep")
        .arg("0.3")
        .stdin(lock)
        .spawn();
    assert!(SessionFile::open(&path).is_ok());
    heir.unwrap().wait().unwrap();
}

#[test]
fn a_file_that_others_meddle_with_takes_no_further_row() {
    let dir = tempfile::tempdir().unwrap();
    let meddle: [fn(&Path); 3] = [
        |path| std::fs::remove_file(path).unwrap(),
        |path| {
            let other = path.with_extension("new");
            std::fs::write(&other, "garbage\n").unwrap();
            std::fs::rename(other, path).unwrap();
        },
        |path| {
            let file = std::fs::File::options().write(true).open(path).unwrap();
            file.set_len(10).unwrap();
        },
    ];
    for (number, meddle) in meddle.into_iter().enumerate() {
        let path = dir.path().join(format!("{number}.jsonl"));
        let mut file = SessionFile::create(&path, &header("/w")).unwrap();
        file.append(says("one")).unwrap();
        meddle(&path);
        let refused = file.append(says("two")).unwrap_err().to_string();
        assert!(
            refused.contains("by another program"),
            "{number}: {refused}"
        );
    }
}

#[test]
fn a_torn_last_line_stays_and_the_next_row_stands_on_its_own() {
    let dir = tempfile::tempdir().unwrap();
    let path = session(dir.path());
    let whole = std::fs::read(&path).unwrap();
    let torn = &whole[..whole.len() - 20];
    std::fs::write(&path, torn).unwrap();
    let (mut file, loaded) = SessionFile::open(&path).unwrap();
    assert_eq!(loaded.damage, [Damage { line: 4 }]);
    file.append(says("four")).unwrap();
    drop(file);
    assert_eq!(texts(&path), ["one", "two", "four"]);
    assert!(
        std::fs::read(&path).unwrap().starts_with(torn),
        "nothing was rewritten"
    );
}

#[test]
fn a_last_line_that_only_lacks_its_newline_counts() {
    let dir = tempfile::tempdir().unwrap();
    let path = session(dir.path());
    let whole = std::fs::read(&path).unwrap();
    std::fs::write(&path, &whole[..whole.len() - 1]).unwrap();
    let (mut file, loaded) = SessionFile::open(&path).unwrap();
    assert_eq!(loaded.damage, []);
    file.append(says("four")).unwrap();
    assert_eq!(texts(&path), ["one", "two", "three", "four"]);
}

#[test]
fn a_damaged_line_is_skipped_and_the_chain_goes_on_over_it() {
    for damage in [
        "{\"id\":\"msg-",
        "\u{fffd}",
        "{}",
        "{\"id\":\"msg-1\",\"timestamp\":1,\"type\":\"message\",\"details\":{\"role\":\"robot\"}}",
    ] {
        let dir = tempfile::tempdir().unwrap();
        let path = session(dir.path());
        edit_line(&path, 3, |_| damage.to_owned());
        let (_, loaded) = SessionFile::open(&path).unwrap();
        assert_eq!(loaded.damage, [Damage { line: 3 }], "{damage}");
        assert_eq!(texts(&path), ["one", "three"], "{damage}");
    }
}

#[test]
fn entries_off_the_chain_of_the_head_are_left_out() {
    let dir = tempfile::tempdir().unwrap();
    let path = session(dir.path());
    let entries = load(&path).unwrap().entries;
    // The last message answers the first: the second is on another branch.
    let (from, to) = (entries[2].id.as_str(), entries[1].id.as_str());
    edit_line(&path, 4, |line| {
        line.replace(
            &format!("\"parentId\":\"{from}\""),
            &format!("\"parentId\":\"{to}\""),
        )
    });
    assert_eq!(texts(&path), ["one", "three"]);
}

#[test]
fn a_file_without_a_header_is_corrupt_and_left_alone() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("s.jsonl");
    for content in [
        "",
        "\n",
        "nonsense\n",
        "{\"id\":\"msg-1\",\"parentId\":null,\"timestamp\":1,\"type\":\"checkpoint\",\"details\":{\"artifactKind\":\"session\",\"version\":2,\"sessionId\":\"s\",\"cwd\":\"/\",\"createdAt\":1}}\n",
    ] {
        std::fs::write(&path, content).unwrap();
        assert!(
            matches!(SessionFile::open(&path), Err(SessionError::Corrupt { .. })),
            "{content:?}"
        );
        assert_eq!(std::fs::read_to_string(&path).unwrap(), content);
    }
}

#[test]
fn every_prefix_of_a_file_loads() {
    let dir = tempfile::tempdir().unwrap();
    let whole = std::fs::read(session(dir.path())).unwrap();
    let first = whole.iter().position(|&byte| byte == b'\n').unwrap();
    let path = dir.path().join("prefix.jsonl");
    for end in first..=whole.len() {
        std::fs::write(&path, &whole[..end]).unwrap();
        let (mut file, _) =
            SessionFile::open(&path).unwrap_or_else(|error| panic!("{end}: {error}"));
        file.append(says("after")).unwrap();
        drop(file);
        assert_eq!(
            texts(&path).last().map(String::as_str),
            Some("after"),
            "{end}"
        );
    }
}

#[test]
fn the_latest_session_is_that_of_the_same_folder() {
    let dir = tempfile::tempdir().unwrap();
    let cwd = Path::new("/w");
    assert!(matches!(
        latest(dir.path(), cwd),
        Err(SessionError::NoneToContinue(_))
    ));
    let mut want = None;
    for (age, name, folder) in [(30, "a", "/w"), (20, "b", "/w"), (10, "c", "/other")] {
        let path = dir.path().join(format!("{name}.jsonl"));
        drop(SessionFile::create(&path, &header(folder)).unwrap());
        let file = std::fs::File::options().write(true).open(&path).unwrap();
        let modified = std::fs::metadata(&path).unwrap().modified().unwrap();
        file.set_modified(modified - std::time::Duration::from_secs(age))
            .unwrap();
        if name == "b" {
            want = Some(path);
        }
    }
    std::fs::File::create(dir.path().join("broken.jsonl"))
        .unwrap()
        .write_all(b"nonsense\n")
        .unwrap();
    assert_eq!(Some(latest(dir.path(), cwd).unwrap().path), want);
}
