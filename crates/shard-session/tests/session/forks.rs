//! Sessions that are split off.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use proptest::prelude::*;
use serde_json::json;
use shard_session::recall::{Query, Recall, bring_up_to_date};
use shard_session::{Forked, SessionError, SessionFile, by_id, fork, forked_by, latest, load};
use shard_types::{Checkpoint, ContentBlock, EntryBody, EntryId, Role, SessionEntry, SessionId};

use crate::oracle::full;
use crate::sample::{Sample, lines, play, shown, step};

fn texts(path: &Path) -> Vec<String> {
    full(path).chain.iter().map(shown).collect()
}

/// Splits a session and looks at what holds for every fork.
fn split(path: &Path, from: &EntryId) -> Forked {
    let before = std::fs::read(path).unwrap();
    let forked = fork(path, from, None).unwrap();
    assert_eq!(
        std::fs::read(path).unwrap(),
        before,
        "the source is read only"
    );
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let folder = forked.path.parent().unwrap();
    assert_eq!((mode(&forked.path), mode(folder)), (0o600, 0o700));
    let source = load(path).unwrap();
    let loaded = load(&forked.path).unwrap();
    assert_eq!(loaded.damage, []);
    let entries = full(&forked.path).chain;
    let EntryBody::Checkpoint(Checkpoint::Fork {
        version,
        session_id,
        cwd,
        fork_id,
        source_session_id,
        source_entry_id,
        ..
    }) = &entries[0].body
    else {
        panic!("it begins with where it comes from: {:?}", entries[0]);
    };
    assert_eq!((*version, cwd), (1, &source.header.cwd));
    assert_eq!((fork_id, session_id), (&forked.fork_id, &forked.session_id));
    assert_eq!(*source_session_id, source.header.session_id);
    assert_eq!(source_entry_id, from);
    assert_eq!(entries[0].parent_id, None);
    for pair in entries.windows(2) {
        assert_eq!(pair[1].parent_id.as_ref(), Some(&pair[0].id));
    }
    let old = std::fs::read_to_string(path).unwrap();
    for entry in &entries {
        assert!(!old.contains(entry.id.as_str()), "ids are its own");
    }
    let last = entries.iter().rfind(|entry| entry.message().is_some());
    assert_eq!(last.map(|entry| &entry.id), Some(&forked.head_entry_id));
    forked
}

#[test]
fn a_fork_has_what_was_said_up_to_an_entry_and_nothing_later() {
    let mut sample = Sample::new();
    sample.user("one");
    let two = sample.answer("two");
    sample.user("three");
    let forked = split(&sample.path, &two);
    assert_eq!(texts(&forked.path), ["fork", "one", "two"]);
    let forks = sample.folder().join("forks");
    assert_eq!(
        forked.path,
        forks.join(format!("{}.jsonl", forked.session_id))
    );
    let source = load(&sample.path).unwrap();
    let copy = load(&forked.path).unwrap();
    for (old, new) in source.entries[1..].iter().zip(&copy.entries[1..]) {
        assert_eq!((&old.body, old.timestamp), (&new.body, new.timestamp));
    }
    let leftovers = std::fs::read_dir(&forks).unwrap().count();
    assert_eq!(leftovers, 1);
}

#[test]
fn a_fork_can_be_found_and_goes_on_by_itself() {
    let mut sample = Sample::new();
    let said = sample.user("one");
    let forked = split(&sample.path, &said);
    assert_eq!(
        by_id(sample.folder(), &forked.session_id).unwrap(),
        forked.path
    );
    let modified = std::fs::metadata(&sample.path).unwrap().modified().unwrap();
    let later = modified + std::time::Duration::from_secs(5);
    let options = std::fs::File::options().write(true).open(&forked.path);
    options.unwrap().set_modified(later).unwrap();
    assert_eq!(
        latest(sample.folder(), Path::new("/w")).unwrap().path,
        forked.path
    );
    let (mut file, loaded) = SessionFile::open(&forked.path).unwrap();
    assert_eq!(loaded.header.session_id, forked.session_id);
    file.append(crate::sample::says(shard_types::Role::User, Vec::new()))
        .unwrap();
    assert_eq!(texts(&forked.path), ["fork", "one", ""]);
}

#[test]
fn results_stay_with_the_message_that_asked_for_them() {
    let mut sample = Sample::new();
    sample.user("go");
    let group = sample.cycle("bash", &json!({}), &["a", "b", "c"]);
    sample.answer("done");
    for (which, from) in group.iter().enumerate() {
        let forked = split(&sample.path, from);
        let said: Vec<_> = texts(&forked.path);
        let said: Vec<_> = said.iter().filter(|text| *text != "other").collect();
        assert_eq!(
            said,
            ["fork", "go", "bash\nbash\nbash", "a", "b", "c"],
            "{which}"
        );
        let entries = load(&forked.path).unwrap().entries;
        let calls = entries.iter().filter_map(SessionEntry::message);
        let calls: Vec<_> = calls.flat_map(|message| message.content).collect();
        let asked = calls.iter().filter_map(|block| match block {
            ContentBlock::ToolCall { id, .. } => Some(id),
            _ => None,
        });
        let answered = calls.iter().filter_map(|block| match block {
            ContentBlock::ToolResult { tool_call_id, .. } => Some(tool_call_id),
            _ => None,
        });
        assert!(asked.eq(answered), "every call has its result");
    }
}

#[test]
fn a_compaction_applies_to_what_came_after_it() {
    let mut sample = Sample::new();
    let one = sample.user("one");
    let two = sample.answer("two");
    let three = sample.user("three");
    sample.compact("sum 0", (&one, &two), &three);
    let four = sample.answer("four");
    let five = sample.user("five");
    sample.compact("sum 1", (&one, &four), &five);
    let six = sample.answer("six");
    let check = |from: &EntryId, want: &[&str]| {
        let forked = split(&sample.path, from);
        assert_eq!(texts(&forked.path), want);
        forked
    };
    check(&two, &["fork", "one", "two"]);
    check(&three, &["fork", "one", "two", "three"]);
    check(&five, &["fork", "three", "= sum 0", "four", "five"]);
    let forked = check(&six, &["fork", "five", "= sum 1", "six"]);
    let entries = load(&forked.path).unwrap().entries;
    let EntryBody::Compaction(details) = &entries[2].body else {
        panic!("{:?}", entries[2]);
    };
    assert_eq!(details.first_kept_entry_id, entries[1].id);
    assert_eq!(
        details.message_range,
        (one, four),
        "what is not there keeps its name"
    );
    assert_eq!(details.index, 1);
    // A fork of the fork has the same window.
    let again = split(&forked.path, &forked.head_entry_id);
    assert_eq!(texts(&again.path), ["fork", "five", "= sum 1", "six"]);
    assert_eq!(
        again.path.parent(),
        forked.path.parent(),
        "forks lie side by side"
    );
}

/// Everything that `recall` has of a session, by number.
fn recalled(path: &Path) -> Vec<(usize, String)> {
    let recall = Recall::open(path).unwrap();
    let entry = |at: usize| recall.entry(at).unwrap().map(|entry| (at, shown(&entry)));
    recall.entries().filter_map(entry).collect()
}

fn found(path: &Path, query: &str) -> Vec<usize> {
    let mut recall = Recall::open(path).unwrap();
    let query = Query::parse(query).unwrap();
    let found = recall.search(&query, 0..usize::MAX, 25, &|| false).unwrap();
    assert_eq!(found.total, found.hits.len());
    found.hits.iter().map(|hit| hit.at).collect()
}

#[test]
fn an_entry_has_one_number_in_a_session_its_forks_and_theirs() {
    let mut sample = Sample::new();
    let one = sample.user("one");
    let two = sample.answer("two");
    let three = sample.user("three");
    sample.compact("sum 0", (&one, &two), &three);
    let four = sample.answer("four");
    let five = sample.user("five");
    sample.compact("sum 1", (&three, &four), &five);
    let six = sample.answer("six");
    let fork = split(&sample.path, &six);
    // What is said later is not the fork's.
    let seven = sample.user("seven, the other one");
    sample.compact("sum 2", (&five, &six), &seven);
    let (mut file, loaded) = SessionFile::open(&fork.path).unwrap();
    assert_eq!(loaded.first_index, 4);
    file.append(said("seven")).unwrap();
    let eight = file.append(said("eight")).unwrap().id;
    drop(file);
    let again = split(&fork.path, &eight);
    let numbered = |said: &[&str]| -> Vec<_> {
        let said = said.iter().map(|text| (*text).to_owned());
        said.enumerate().collect()
    };
    let said = [
        "one", "two", "three", "four", "five", "six", "seven", "eight",
    ];
    let compactions = [(0, 0..2), (1, 2..4)];
    for path in [&fork.path, &again.path] {
        assert_eq!(recalled(path), numbered(&said));
        let recall = Recall::open(path).unwrap();
        assert_eq!(recall.compactions().unwrap(), compactions);
        assert_eq!(recall.window_start().unwrap(), 4);
        for _ in ["without an index", "with one"] {
            assert_eq!(found(path, "two"), [1]);
            assert_eq!(found(path, "eight two six"), [7, 5, 1]);
            assert_eq!(found(path, "other"), [0; 0]);
            assert_eq!(found(path, "/^[os]/"), [6, 5, 0]);
            bring_up_to_date(path, &|| false).unwrap();
            bring_up_to_date(&sample.path, &|| false).unwrap();
        }
    }
    std::fs::remove_file(&sample.path).unwrap();
    let recall = Recall::open(&again.path).unwrap();
    assert_eq!(recalled(&again.path), numbered(&said)[4..]);
    assert_eq!(recall.lost(), Some(&load_source(&fork.path)));
    assert_eq!(recall.compactions().unwrap(), []);
    assert_eq!(found(&again.path, "six two"), [5]);
}

fn said(text: &str) -> EntryBody {
    let text = text.to_owned();
    crate::sample::says(Role::User, vec![ContentBlock::Text { text }])
}

fn load_source(path: &Path) -> SessionId {
    match &full(path).chain[0].body {
        EntryBody::Checkpoint(Checkpoint::Fork {
            source_session_id, ..
        }) => source_session_id.clone(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_first_summary_of_a_fork_holds_wherever_that_is_split() {
    let mut sample = Sample::new();
    let one = sample.user("one");
    let two = sample.answer("two");
    let three = sample.user("three");
    sample.answer("four");
    sample.compact("sum 0", (&one, &two), &three);
    let five = sample.user("five");
    let fork = split(&sample.path, &five);
    let copy = load(&fork.path).unwrap().index.id(0).unwrap();
    let again = split(&fork.path, &copy);
    assert_eq!(texts(&again.path), ["fork", "three", "= sum 0"]);
    let said = recalled(&again.path);
    assert_eq!(said.last(), Some(&(2, "three".to_owned())));
    assert_eq!(said[0].1, "one");
}

#[test]
fn a_fork_that_names_itself_as_its_source_is_searched_once() {
    let mut sample = Sample::new();
    let one = sample.user("one");
    let two = sample.user("two");
    sample.compact("sum 0", (&one, &one), &two);
    let three = sample.user("three");
    let fork = split(&sample.path, &three);
    let text = std::fs::read_to_string(&fork.path).unwrap();
    let source = load_source(&fork.path).to_string();
    std::fs::write(&fork.path, text.replace(&source, fork.session_id.as_str())).unwrap();
    let said = recalled(&fork.path);
    assert_eq!(said, [(1, "two".to_owned()), (2, "three".to_owned())]);
}

#[test]
fn a_fork_goes_on_in_the_mode_and_with_the_plan_of_its_source() {
    let mut sample = Sample::new();
    sample.mode("plan");
    sample.user("one");
    sample.plan("old");
    let two = sample.answer("two");
    sample.plan("new");
    sample.accept("three");
    sample.mode("build");
    let three = sample.user("three");
    sample.mode("review");
    sample.user("four");
    let forked = split(&sample.path, &two);
    assert_eq!(
        texts(&forked.path),
        ["fork", "plan \"new\"", "mode build", "one", "two"]
    );
    let forked = split(&sample.path, &three);
    assert_eq!(
        texts(&forked.path)[..3],
        ["fork", "plan \"new\"", "mode review"]
    );
}

#[test]
fn a_plan_names_the_copy_of_its_message() {
    let mut sample = Sample::new();
    let said = sample.user("one");
    let details = json!({ "text": "x", "messageId": said });
    let details = details.as_object().unwrap().clone();
    let plan = Checkpoint::other("plan", details).unwrap();
    sample.add(EntryBody::Checkpoint(plan));
    let forked = split(&sample.path, &said);
    let entries = load(&forked.path).unwrap().entries;
    let EntryBody::Checkpoint(Checkpoint::Other(plan)) = &entries[1].body else {
        panic!("{:?}", entries[1]);
    };
    assert_eq!(plan["messageId"], json!(forked.head_entry_id));
}

#[test]
fn there_is_no_fork_at_what_was_not_said() {
    let mut sample = Sample::new();
    let checkpoint = sample.mode("plan");
    let said = sample.user("one");
    let mut lines = lines(&sample.path);
    lines[2] = lines[2].replace("\"role\":\"user\"", "\"role\":\"robot\"");
    let damaged = said;
    std::fs::write(&sample.path, lines.join("\n") + "\n").unwrap();
    for from in [checkpoint, damaged, "msg-nowhere".parse().unwrap()] {
        let refused = fork(&sample.path, &from, None).unwrap_err();
        assert!(
            matches!(&refused, SessionError::NoEntry(id) if *id == from),
            "{refused}"
        );
        assert_eq!(refused.code(), shard_types::ErrorCode::NotFound);
    }
    assert!(!sample.folder().join("forks").exists());
}

#[test]
fn a_fork_that_cannot_be_written_leaves_nothing() {
    let mut sample = Sample::new();
    let said = sample.user("one");
    std::fs::write(sample.folder().join("forks"), "in the way").unwrap();
    let refused = fork(&sample.path, &said, None).unwrap_err();
    assert!(matches!(refused, SessionError::Io { .. }), "{refused}");
    assert_eq!(refused.code(), shard_types::ErrorCode::InternalError);
}

#[test]
fn what_a_later_build_wrote_into_a_row_is_copied_too() {
    let mut sample = Sample::new();
    let said = sample.user("one");
    let text = std::fs::read_to_string(&sample.path).unwrap();
    let text = text.replace("\"role\":\"user\"", "\"role\":\"user\",\"later\":[1.50]");
    std::fs::write(&sample.path, text).unwrap();
    let forked = split(&sample.path, &said);
    let copy = std::fs::read_to_string(&forked.path).unwrap();
    assert!(
        copy.contains("\"role\":\"user\",\"later\":[1.50]"),
        "{copy}"
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_fork_at_the_head_has_the_window_of_its_source(
        steps in prop::collection::vec(step(), 0..25),
        at: prop::sample::Index,
    ) {
        let sample = play(&steps);
        let index = sample.file.index();
        prop_assume!(!index.is_empty());
        let seen = |path: &Path| -> Vec<String> {
            let entries = load(path).unwrap().entries;
            let seen = entries.iter().filter(|entry| !matches!(entry.body, EntryBody::Checkpoint(_)));
            seen.map(shown).collect()
        };
        let last = split(&sample.path, &index.id(index.len() - 1).unwrap());
        let mut source = seen(&sample.path);
        // A compaction after the last message is not part of what led to it.
        if source.last().is_none_or(|last| !last.starts_with("= ")) {
            prop_assert_eq!(seen(&last.path), source);
        }
        // Anywhere else it is the same as if the session had ended there.
        let from = index.id(at.index(index.len())).unwrap();
        let forked = split(&sample.path, &from);
        let copied = seen(&forked.path);
        source = full(&sample.path).chain.iter().map(shown).collect();
        prop_assert!(copied.iter().all(|text| source.contains(text)));
        let again = split(&forked.path, &forked.head_entry_id);
        prop_assert_eq!(seen(&again.path), copied);
        let all = recalled(&sample.path);
        for path in [&forked.path, &again.path] {
            let known = recalled(path);
            prop_assert!(known.len() > index.find(&from).unwrap());
            prop_assert_eq!(&known[..], &all[..known.len()]);
        }
    }
}

#[test]
fn a_fork_is_found_again_by_its_request_key() {
    let mut sample = Sample::new();
    let said = sample.user("hello");
    let first = fork(&sample.path, &said, Some("key-1")).unwrap();
    fork(&sample.path, &said, None).unwrap();
    let found = forked_by(&sample.path, "key-1").unwrap();
    assert_eq!(found, Some((first.clone(), said)));
    assert_eq!(forked_by(&sample.path, "key-2").unwrap(), None);
    // A key belongs to the session that was split, not to what came of it.
    assert_eq!(forked_by(&first.path, "key-1").unwrap(), None);
}
