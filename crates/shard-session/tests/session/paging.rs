//! Pages of messages, and lists of sessions.

use std::path::Path;

use proptest::prelude::*;
use shard_session::{Page, Reader, family, fork, summarize};
use shard_types::{EntryId, Message, SessionEntry};

use crate::oracle::full;
use crate::sample::{Sample, play, step};

fn page(path: &Path, before: Option<&EntryId>, limit: usize) -> Option<Page> {
    Reader::open(path).unwrap().page(before, limit).unwrap()
}

#[test]
fn a_summary_counts_messages_and_begins_with_what_a_person_said() {
    let mut sample = Sample::new();
    sample.user("\n  Fix the\tbug \n please");
    sample.cycle("bash", &serde_json::json!({}), &["a", "b"]);
    let last = sample.answer("done");
    let summary = summarize(&sample.path).unwrap();
    assert_eq!(summary.title.as_deref(), Some("Fix thebug"));
    assert_eq!(summary.message_count, 3);
    assert_eq!(summary.forked_from, None);
    let forked = fork(&sample.path, &last, None).unwrap();
    let summary = summarize(&forked.path).unwrap();
    assert_eq!(summary.message_count, 3);
    assert_eq!(
        summary.forked_from,
        Some((super::file_session(&sample.path), last))
    );
}

#[test]
fn a_family_is_a_session_with_all_that_was_split_off_from_it() {
    let mut sample = Sample::new();
    let said = sample.user("hello");
    let stranger = Sample::new();
    std::fs::copy(&stranger.path, sample.folder().join("other.jsonl")).unwrap();
    let first = fork(&sample.path, &said, None).unwrap();
    let second = fork(&first.path, &first.head_entry_id, None).unwrap();
    let ids = |path| {
        let family = family(path).unwrap();
        let mut ids: Vec<_> = family.into_iter().map(|it| it.header.session_id).collect();
        ids.sort();
        ids
    };
    let root = super::file_session(&sample.path);
    assert_eq!(
        ids(&sample.path),
        [root, first.session_id.clone(), second.session_id.clone()]
    );
    assert_eq!(ids(&first.path), [first.session_id, second.session_id]);
}

#[test]
fn an_unknown_place_gives_no_page() {
    let sample = Sample::new();
    let nowhere: EntryId = "msg-nowhere".parse().unwrap();
    assert_eq!(page(&sample.path, Some(&nowhere), 5), None);
    let empty = page(&sample.path, None, 5).unwrap();
    assert_eq!((empty.messages, empty.has_more), (vec![], false));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn pages_put_together_are_the_whole_conversation(
        steps in prop::collection::vec(step(), 0..25),
        limit in 1_usize..7,
    ) {
        let sample = play(&steps);
        let mut want: Vec<Message> = full(&sample.path).chain.iter().filter_map(SessionEntry::message).collect();
        let mut before = None;
        loop {
            let page = page(&sample.path, before.as_ref(), limit).unwrap();
            let start = want.len().saturating_sub(limit);
            prop_assert_eq!(&page.messages, &want[start..]);
            prop_assert_eq!(page.has_more, start > 0);
            want.truncate(start);
            match page.messages.first() {
                Some(first) if page.has_more => before = Some(first.id.clone()),
                _ => break,
            }
        }
    }
}
