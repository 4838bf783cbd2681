//! Opening a session without parsing all of it.

use std::collections::HashSet;
use std::path::Path;

use proptest::prelude::*;
use shard_session::{Damage, Loaded, Reader, check, load};
use shard_types::{Checkpoint, EntryBody, EntryId, SessionEntry};

use crate::oracle::full;
use crate::sample::{Sample, Step, go_on, lines, play, shown, step};

fn texts(loaded: &Loaded) -> Vec<String> {
    loaded.entries.iter().map(shown).collect()
}

/// Three messages that a summary stands for, one that is kept, and one after it.
fn compacted() -> (Sample, Vec<EntryId>) {
    let mut sample = Sample::new();
    sample.mode("plan");
    let mut ids = vec![sample.user("one"), sample.answer("two")];
    ids.extend(sample.cycle("bash", &serde_json::json!({}), &["three"]));
    ids.push(sample.answer("four"));
    sample.compact("sum", (&ids[0], &ids[3]), &ids[4]);
    ids.push(sample.user("five"));
    (sample, ids)
}

#[test]
fn what_a_summary_stands_for_is_not_loaded() {
    let (sample, ids) = compacted();
    let loaded = load(&sample.path).unwrap();
    assert_eq!(
        texts(&loaded),
        ["session", "mode plan", "four", "= sum", "five"]
    );
    assert_eq!(loaded.index.len(), 6);
    for (at, id) in ids.iter().enumerate() {
        assert_eq!(loaded.index.find(id), Some(at));
        assert_eq!(loaded.index.id(at).as_ref(), Some(id));
    }
    let before = loaded.usage_before.unwrap();
    assert_eq!(
        (before.input, before.output),
        (6, 2),
        "two of three answers"
    );
}

#[test]
fn a_summary_that_cannot_be_read_does_not_count() {
    let (sample, _) = compacted();
    let text = std::fs::read_to_string(&sample.path).unwrap();
    std::fs::write(
        &sample.path,
        text.replace("\"tokensBefore\":9", "\"tokensBefore\":\"\""),
    )
    .unwrap();
    let loaded = load(&sample.path).unwrap();
    assert_eq!(loaded.damage, [Damage { line: 9 }]);
    assert_eq!(loaded.entries.len(), 9, "all but the summary");
}

#[test]
fn what_a_summary_refers_to_may_be_lost() {
    let (sample, ids) = compacted();
    let whole = std::fs::read_to_string(&sample.path).unwrap();
    let without = |lost: &[&EntryId]| {
        let kept = whole.lines().filter(|line| {
            let is = |id: &&EntryId| line.starts_with(&format!("{{\"id\":\"{id}\""));
            !lost.iter().any(is)
        });
        let text: String = kept.flat_map(|line| [line, "\n"]).collect();
        std::fs::write(&sample.path, text).unwrap();
        texts(&load(&sample.path).unwrap())
    };
    // The first row that is kept is known by the last one that is not.
    assert_eq!(
        without(&[&ids[4]]),
        ["session", "mode plan", "= sum", "five"]
    );
    assert_eq!(without(&[&ids[3], &ids[4]])[2..4], ["one", "two"]);
}

#[test]
fn prompts_from_before_the_window_are_known_to_be_delivered() {
    let mut sample = Sample::new();
    let delivered = sample.accept("a");
    sample.deliver(delivered.clone(), "a");
    let damaged = sample.accept("b");
    sample.deliver(damaged.clone(), "b");
    let waiting = sample.accept("c");
    let last = sample.answer("d");
    let kept = sample.user("e");
    sample.compact("sum", (&delivered, &last), &kept);
    // Damage takes the message; the row after it still names it.
    let row = format!("{{\"id\":\"{damaged}\"");
    let text = std::fs::read_to_string(&sample.path).unwrap();
    std::fs::write(&sample.path, text.replace(&row, "{\"")).unwrap();
    let loaded = load(&sample.path).unwrap();
    let accepted = loaded.entries.iter().filter_map(|entry| match &entry.body {
        EntryBody::Checkpoint(Checkpoint::PromptAccepted { message_id, .. }) => Some(message_id),
        _ => None,
    });
    let open: Vec<_> = accepted
        .filter(|id| !loaded.delivered.contains(id))
        .collect();
    assert_eq!(open, [&waiting]);
}

#[test]
fn damage_before_the_window_is_found_by_who_looks_for_it() {
    let (sample, _) = compacted();
    let mut lines = sample.lines();
    lines[2] = lines[2].replace("\"role\":\"user\"", "\"role\":\"robot\"");
    std::fs::write(&sample.path, lines.join("\n") + "\n").unwrap();
    assert_eq!(load(&sample.path).unwrap().damage, []);
    assert_eq!(check(&sample.path).unwrap(), [Damage { line: 3 }]);
    let reader = Reader::open(&sample.path).unwrap();
    assert_eq!(reader.entry(0).unwrap(), None);
    assert_eq!(
        reader.entry(1).unwrap().map(|entry| shown(&entry)),
        Some("two".into())
    );
}

#[test]
fn rows_that_others_wrote_are_read_however_they_are_spaced() {
    let (sample, _) = compacted();
    let want = load(&sample.path).unwrap();
    let spaced = lines(&sample.path).into_iter().map(|line| {
        let row: serde_json::Value = serde_json::from_str(&line).unwrap();
        let fields = row.as_object().unwrap().iter().rev();
        let fields: Vec<_> = fields
            .map(|(key, value)| format!("{key:?} : {value}"))
            .collect();
        format!(" {{ {} }} \n", fields.join(" , "))
    });
    std::fs::write(&sample.path, spaced.collect::<String>()).unwrap();
    let got = load(&sample.path).unwrap();
    assert_eq!((got.entries, got.damage), (want.entries, vec![]));
    assert_eq!(
        got.usage_before, None,
        "it is looked for where it is written"
    );
}

fn agrees(path: &Path) -> Result<(), TestCaseError> {
    let (lazy, full) = (load(path).unwrap(), full(path));
    prop_assert_eq!(&lazy.entries, &full.window);
    let damage: Vec<u64> = lazy.damage.iter().map(|damage| damage.line).collect();
    prop_assert_eq!(damage, full.damage);
    let known: HashSet<EntryId> = (0..lazy.index.len())
        .filter_map(|at| lazy.index.id(at))
        .collect();
    let said = full.chain.iter().filter(|entry| entry.message().is_some());
    for SessionEntry { id, .. } in said {
        prop_assert!(known.contains(id));
    }
    Ok(())
}

/// How a line is damaged.
#[derive(Debug, Clone)]
enum Harm {
    Cut(prop::sample::Index),
    Garbage,
    Details,
}

fn harm() -> impl Strategy<Value = Harm> {
    prop_oneof![
        any::<prop::sample::Index>().prop_map(Harm::Cut),
        Just(Harm::Garbage),
        Just(Harm::Details),
    ]
}

fn harmed(line: &str, harm: &Harm) -> String {
    match harm {
        Harm::Cut(at) => line[..1 + at.index(line.len() - 1)].to_owned(),
        Harm::Garbage => "\u{fffd}".to_owned(),
        Harm::Details => match line.split_once("\"details\":{") {
            Some((head, _)) => format!("{head}\"details\":{{\"role\":{{}}}}}}"),
            None => line.to_owned(),
        },
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_prefix_of_a_session_loads_as_the_whole_rows_in_it(
        steps in prop::collection::vec(step(), 0..30),
        cut: prop::sample::Index,
        more in prop::collection::vec(step(), 0..4),
    ) {
        let sample = play(&steps);
        let whole = std::fs::read(&sample.path).unwrap();
        let header = whole.iter().position(|byte| *byte == b'\n').unwrap();
        let end = header + cut.index(whole.len() - header + 1);
        std::fs::write(&sample.path, &whole[..end]).unwrap();
        agrees(&sample.path)?;
        let (mut sample, loaded) = sample.opened_anew();
        prop_assert_eq!(sample.file.index(), &*loaded.index);
        go_on(&mut sample, &more);
        agrees(&sample.path)?;
        prop_assert!(std::fs::read(&sample.path).unwrap().starts_with(&whole[..end]));
    }

    #[test]
    fn a_damaged_row_costs_itself_alone(
        steps in prop::collection::vec(step(), 1..30),
        at: prop::sample::Index,
        harm in harm(),
    ) {
        let sample = play(&steps);
        let mut lines = sample.lines();
        prop_assume!(lines.len() > 1);
        let before = full(&sample.path);
        let at = 1 + at.index(lines.len() - 1);
        lines[at] = harmed(&lines[at], &harm);
        std::fs::write(&sample.path, lines.join("\n") + "\n").unwrap();
        agrees(&sample.path)?;
        let after = full(&sample.path);
        let lost = before.chain.iter().filter(|entry| !after.chain.contains(entry));
        prop_assert!(lost.count() <= 1);
        let whole: Vec<u64> = check(&sample.path).unwrap().iter().map(|damage| damage.line).collect();
        prop_assert_eq!(whole, vec![at as u64 + 1]);
    }

    #[test]
    fn the_writer_knows_where_its_rows_are_and_readers_follow(
        steps in prop::collection::vec(step(), 0..20),
        more in prop::collection::vec(prop::collection::vec(step(), 0..5), 1..4),
    ) {
        let mut sample = play(&steps);
        let mut reader = Reader::open(&sample.path).unwrap();
        let mut ids: Vec<_> = (0..reader.index().len()).map(|at| reader.index().id(at)).collect();
        for steps in more {
            go_on(&mut sample, &steps);
            reader.refresh().unwrap();
            prop_assert_eq!(reader.index(), sample.file.index());
            prop_assert_eq!(reader.index(), &*load(&sample.path).unwrap().index);
            let now: Vec<_> = (0..reader.index().len()).map(|at| reader.index().id(at)).collect();
            prop_assert!(now.starts_with(&ids), "a number never changes");
            ids = now;
        }
    }

    #[test]
    fn compactions_never_change_what_is_counted(
        steps in prop::collection::vec(step(), 0..20),
    ) {
        let sample = play(&steps);
        let without: Vec<Step> = steps.into_iter().filter(|step| !matches!(step, Step::Compact(_))).collect();
        prop_assert_eq!(sample.file.index().len(), play(&without).file.index().len());
    }
}
