//! Finding what was said.

use std::path::Path;

use proptest::prelude::*;
use serde_json::json;
use shard_session::recall::{BadQuery, Found, Query, Recall, bring_up_to_date, text};

use crate::sample::{Sample, go_on, play, step};

const ON: &dyn Fn() -> bool = &|| false;

fn find(recall: &mut Recall, query: &str) -> Found {
    let query = Query::parse(query).unwrap();
    recall.search(&query, 0..usize::MAX, 1000, ON).unwrap()
}

/// What is found, best first, by index.
fn places(path: &Path, query: &str) -> Vec<usize> {
    let found = find(&mut Recall::open(path).unwrap(), query);
    assert_eq!(found.stopped_at, None);
    found.hits.iter().map(|hit| hit.at).collect()
}

fn index_of(sample: &Sample) -> std::path::PathBuf {
    sample.path.with_extension("recall")
}

/// With and without an index.
fn check(sample: &Sample, query: &str, want: &[usize]) {
    _ = std::fs::remove_file(index_of(sample));
    assert_eq!(places(&sample.path, query), want, "{query}");
    bring_up_to_date(&sample.path, ON).unwrap();
    assert_eq!(places(&sample.path, query), want, "{query}, with an index");
}

#[test]
fn everything_that_was_said_is_found() {
    let mut sample = Sample::new();
    sample.user("Please look at the parser");
    sample.cycle(
        "bash",
        &json!({ "command": "grep -n parseLine src/net/http_client.rs" }),
        &["12: fn parse_line()"],
    );
    sample.answer("It reads `HTTPHeader`s");
    check(&sample, "PARSER", &[0]);
    check(&sample, "grep", &[1]);
    check(&sample, "parseLine", &[1, 2, 0]);
    check(&sample, "parse_line", &[2, 1, 0]);
    check(&sample, "http_client.rs", &[1, 3]);
    check(&sample, "src/net/http_client.rs", &[1, 3]);
    check(&sample, "httpheader", &[3]);
    check(&sample, "nowhere", &[]);
    check(&sample, "pars", &[2, 1, 0]);
    check(&sample, "ars", &[]);
    check(&sample, r"/parse\w+\(\)/", &[2]);
    check(&sample, r"/http\w/i", &[3, 1]);
    check(&sample, r"/^It .*s$/", &[3]);
}

#[test]
fn more_words_count_before_rarer_ones_and_those_before_recent_ones() {
    let mut sample = Sample::new();
    for said in [
        "rare word here",
        "word common",
        "common here",
        "rare",
        "common word here",
        "here",
        "commonplace",
    ] {
        sample.user(said);
    }
    check(&sample, "here", &[5, 4, 2, 0]);
    check(&sample, "rare common", &[3, 0, 4, 2, 1, 6]);
    check(&sample, "rare here", &[0, 3, 5, 4, 2]);
    check(&sample, "word common here", &[4, 1, 0, 2, 5, 6]);
}

#[test]
fn a_search_does_not_find_searches() {
    let mut sample = Sample::new();
    sample.user("the needle");
    sample.cycle("recall", &json!({ "query": "needle" }), &["[0] the needle"]);
    sample.cycle("bash", &json!({ "command": "recall" }), &["needle 2"]);
    check(&sample, "needle", &[4, 0]);
    check(&sample, "/needle/", &[4, 0]);
    let found = find(&mut Recall::open(&sample.path).unwrap(), "needle");
    assert_eq!(found.total, 2);
}

#[test]
fn a_scope_bounds_what_is_found_and_so_does_a_page() {
    let mut sample = Sample::new();
    for number in 0..10 {
        sample.user(&format!("word {number}"));
    }
    let mut recall = Recall::open(&sample.path).unwrap();
    for query in ["word", "/word/"] {
        let query = Query::parse(query).unwrap();
        let found = recall.search(&query, 2..8, 3, ON).unwrap();
        let places: Vec<usize> = found.hits.iter().map(|hit| hit.at).collect();
        assert_eq!((places, found.total), (vec![7, 6, 5], 6));
    }
}

#[test]
fn a_search_can_be_stopped() {
    let mut sample = Sample::new();
    for number in 0..10 {
        sample.user(&format!("word {number}"));
    }
    let mut recall = Recall::open(&sample.path).unwrap();
    for query in ["word", "/word/"] {
        let query = Query::parse(query).unwrap();
        let left = std::cell::Cell::new(4);
        let stop = || left.replace(left.get() - 1) == 0;
        let found = recall.search(&query, 0..10, 9, &stop).unwrap();
        let places: Vec<usize> = found.hits.iter().map(|hit| hit.at).collect();
        assert_eq!((places, found.stopped_at), (vec![9, 8, 7, 6], Some(5)));
    }
    bring_up_to_date(&sample.path, &|| true).unwrap();
    assert!(!index_of(&sample).exists());
}

#[test]
fn a_query_says_what_is_wrong_with_it() {
    assert!(matches!(Query::parse(" ?! "), Err(BadQuery::NoWord(_))));
    assert!(matches!(Query::parse("/(/"), Err(BadQuery::Regex(_))));
    let huge = r"/(\w{200}){200}/";
    assert!(matches!(Query::parse(huge), Err(BadQuery::Regex(_))));
    assert!(matches!(Query::parse("/"), Err(BadQuery::NoWord(_))));
    assert!(matches!(Query::parse("/usr/bin"), Ok(Query::Words(_))));
}

#[test]
fn the_place_of_a_hit_is_where_its_rarest_word_stands() {
    let mut sample = Sample::new();
    sample.user("common common");
    sample.user("common, Rarely and RARE");
    let query = Query::parse("common rare").unwrap();
    let mut recall = Recall::open(&sample.path).unwrap();
    let found = recall.search(&query, 0..9, 9, ON).unwrap();
    let entry = recall.entry(found.hits[0].at).unwrap().unwrap();
    let said = text(&entry);
    let place = query.place(&said, found.hits[0].word).unwrap();
    assert_eq!(&said[place], "RARE");
}

#[test]
fn an_index_takes_part_only_if_it_fits() {
    let mut sample = Sample::new();
    sample.user("first needle");
    bring_up_to_date(&sample.path, ON).unwrap();
    let old = std::fs::read(index_of(&sample)).unwrap();
    // A newer row is found beside it.
    sample.user("second needle");
    assert_eq!(places(&sample.path, "needle"), [1, 0]);
    // The index of another session says nothing.
    let mut other = Sample::new();
    other.user("straw");
    std::fs::write(index_of(&other), &old).unwrap();
    assert_eq!(places(&other.path, "straw"), [0]);
    assert_eq!(places(&other.path, "needle"), [] as [usize; 0]);
    // One that is cut, or of another version, is as good as none.
    for end in 0..old.len() {
        std::fs::write(index_of(&sample), &old[..end]).unwrap();
        assert_eq!(places(&sample.path, "needle"), [1, 0], "{end}");
    }
    let mut later = old.clone();
    *later.last_mut().unwrap() += 1;
    std::fs::write(index_of(&sample), &later).unwrap();
    assert_eq!(places(&sample.path, "needle"), [1, 0]);
    bring_up_to_date(&sample.path, ON).unwrap();
    assert_ne!(std::fs::read(index_of(&sample)).unwrap(), later);
}

#[test]
fn what_is_no_index_is_neither_waited_for_nor_loaded() {
    let mut sample = Sample::new();
    sample.user("a needle");
    let made = std::process::Command::new("mkfifo")
        .arg(index_of(&sample))
        .status();
    assert!(made.unwrap().success());
    let (path, (tell, told)) = (sample.path.clone(), std::sync::mpsc::channel());
    std::thread::spawn(move || tell.send(places(&path, "needle")));
    let found = told.recv_timeout(std::time::Duration::from_secs(5));
    assert_eq!(found, Ok(vec![0]), "a pipe is not waited for");
    std::fs::remove_file(index_of(&sample)).unwrap();
    // A file of holes, whose end says that all of it is a directory.
    let length = 1_u64 << 42;
    let mut trailer = [0_u64, length, 0].map(u64::to_le_bytes).concat();
    trailer.extend(b"recall\0\x01");
    let huge = std::fs::File::create(index_of(&sample)).unwrap();
    std::os::unix::fs::FileExt::write_all_at(&huge, &trailer, length).unwrap();
    assert_eq!(places(&sample.path, "needle"), [0]);
}

#[test]
fn a_search_that_goes_on_notices_what_is_new() {
    let mut sample = Sample::new();
    sample.user("first needle");
    let mut recall = Recall::open(&sample.path).unwrap();
    assert_eq!(recall.behind().next(), None);
    sample.user(&format!("second needle {}", "straw ".repeat(50_000)));
    recall.refresh().unwrap();
    assert_eq!(recall.behind().next(), Some(&*sample.path));
    assert_eq!(find(&mut recall, "needle").total, 2);
    bring_up_to_date(&sample.path, ON).unwrap();
    recall.refresh().unwrap();
    assert_eq!(recall.behind().next(), None);
    assert_eq!(find(&mut recall, "needle").total, 2);
}

#[test]
fn damaged_entries_are_passed_over() {
    let mut sample = Sample::new();
    sample.user("needle one");
    sample.user("needle two");
    let text = std::fs::read_to_string(&sample.path).unwrap();
    let text = text.replace(
        "\"type\":\"text\",\"text\":\"needle one\"",
        "\"type\":\"x\",\"text\":\"needle one\"",
    );
    std::fs::write(&sample.path, text).unwrap();
    check(&sample, "needle", &[1]);
    check(&sample, "/needle/", &[1]);
}

fn query() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-e]{1,3}( [a-eA-E_./]{1,8}){0,3}".prop_map(|words| format!("a {words}")),
        "[a-e]{1,2}".prop_map(|letters| format!("/{letters}/i")),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn an_index_changes_nothing_but_the_time_it_takes(
        steps in prop::collection::vec(step(), 1..25),
        more in prop::collection::vec(prop::collection::vec(step(), 0..8), 0..4),
        newest in prop::collection::vec(step(), 0..4),
        queries in prop::collection::vec(query(), 1..5),
        harm: Option<(prop::sample::Index, u8)>,
    ) {
        let mut sample = play(&steps);
        bring_up_to_date(&sample.path, ON).unwrap();
        for steps in more {
            go_on(&mut sample, &steps);
            bring_up_to_date(&sample.path, ON).unwrap();
        }
        go_on(&mut sample, &newest);
        if let (Some((at, byte)), Ok(mut bytes)) = (harm, std::fs::read(index_of(&sample))) {
            let at = at.index(bytes.len());
            bytes[at] = byte;
            std::fs::write(index_of(&sample), bytes).unwrap();
        }
        let mut with = Recall::open(&sample.path).unwrap();
        let bare = sample.folder().join("bare.jsonl");
        std::fs::copy(&sample.path, &bare).unwrap();
        let mut without = Recall::open(&bare).unwrap();
        for query in &queries {
            prop_assert_eq!(find(&mut with, query), find(&mut without, query), "{}", query);
        }
    }

    #[test]
    fn an_expression_finds_every_entry_that_it_matches(
        steps in prop::collection::vec(step(), 1..25),
        words in prop::collection::vec("[a-eA-E_]{1,4}( [a-e])?", 1..3),
        ignore_case: bool,
    ) {
        let sample = play(&steps);
        let case = if ignore_case { "i" } else { "" };
        let query = format!("/{}/{case}", words.join("|"));
        let mut recall = Recall::open(&sample.path).unwrap();
        let mut hits: Vec<_> = find(&mut recall, &query).hits.iter().map(|hit| hit.at).collect();
        hits.reverse();
        let parsed = Query::parse(&query).unwrap();
        let matches = |at: &usize| {
            let entry = recall.entry(*at).unwrap().unwrap();
            parsed.place(&text(&entry), 0).is_some()
        };
        prop_assert_eq!(hits, recall.entries().filter(matches).collect::<Vec<_>>(), "{}", query);
    }
}
