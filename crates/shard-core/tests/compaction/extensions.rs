//! Sections that do not come with Shard.

use std::sync::{Arc, Mutex};

use shard_contracts::{Carry, CodeError, CodeIntelligence, Extractor, Symbol};
use shard_types::NormalizedBlock;

use super::*;

/// Says these lines, whatever the conversation is.
struct Says {
    section: &'static str,
    carry: Carry,
    lines: &'static [&'static str],
}

impl Extractor for Says {
    fn section(&self) -> &str {
        self.section
    }

    fn carry(&self) -> Carry {
        self.carry
    }

    fn extract(&self, _: &[NormalizedBlock], _: &ExtractorContext<'_>) -> Vec<String> {
        assert!(self.lines != ["panic"], "an extractor with a fault");
        self.lines.iter().map(|line| (*line).to_owned()).collect()
    }
}

fn says(section: &'static str, carry: Carry, lines: &'static [&'static str]) -> Arc<dyn Extractor> {
    Arc::new(Says {
        section,
        carry,
        lines,
    })
}

fn told(more: Vec<Arc<dyn Extractor>>, context: &ExtractorContext<'_>) -> String {
    let blocks = [NormalizedBlock::User {
        text: "Do what is to be done.".to_owned(),
    }];
    let extractors = [default_extractors(), more].concat();
    COMPACTOR.summarize(&blocks, &extractors, context).unwrap()
}

/// The headings and the lines below them, of these sections only.
fn lines<'a>(summary: &'a str, sections: &[&str]) -> Vec<&'a str> {
    let mut wanted = false;
    let lines = summary.lines().filter(move |line| {
        if let Some(name) = line.strip_prefix("## ") {
            wanted = sections.contains(&name);
        }
        wanted && !line.is_empty() && *line != "---"
    });
    lines.collect()
}

#[test]
fn sections_of_extensions_stand_before_what_changes_most() {
    let summary = told(
        vec![
            says("Outstanding Context", Carry::Rebuild, &["[ERROR] all"]),
            says("Pages", Carry::Append, &["one\n## no heading", "two"]),
            says("Last Request", Carry::Append, &["not taken"]),
        ],
        &ExtractorContext::default(),
    );
    assert_eq!(
        lines(&summary, &["Pages", "Outstanding Context", "Last Request"]),
        [
            "## Pages",
            "- one",
            "  ## no heading",
            "- two",
            "## Outstanding Context",
            "- [ERROR] all",
            "## Last Request",
            "- Do what is to be done.",
        ]
    );
}

#[test]
fn each_says_what_becomes_of_its_earlier_lines() {
    let sections = ["Appended", "Updated", "Rebuilt", "Gone"];
    let first = told(
        vec![
            says("Appended", Carry::Append, &["a", "b"]),
            says("Updated", Carry::Update, &["x: 1", "y: 1", "z: 1"]),
            says("Rebuilt", Carry::Rebuild, &["a", "b"]),
            says("Gone", Carry::Append, &["a"]),
        ],
        &ExtractorContext::default(),
    );
    let second = told(
        vec![
            says("Appended", Carry::Append, &["b", "c"]),
            says("Updated", Carry::Update, &["x: 2", "y: 1"]),
            says("Rebuilt", Carry::Rebuild, &["c"]),
        ],
        &ExtractorContext {
            previous_summary: Some(&first),
            ..ExtractorContext::default()
        },
    );
    assert_eq!(
        lines(&second, &sections),
        [
            "## Appended",
            "- a",
            "- b",
            "- c",
            "## Updated",
            "- y: 1",
            "- z: 1",
            "- x: 2",
            "## Rebuilt",
            "- c",
            "## Gone",
            "- a",
        ]
    );
}

#[test]
fn an_extractor_that_panics_costs_its_new_lines_only() {
    let first = told(
        vec![says("Pages", Carry::Append, &["one"])],
        &ExtractorContext::default(),
    );
    let second = told(
        vec![says("Pages", Carry::Append, &["panic"])],
        &ExtractorContext {
            previous_summary: Some(&first),
            ..ExtractorContext::default()
        },
    );
    assert_eq!(first, second);
}

#[test]
fn a_section_that_grows_without_end_folds_its_oldest_lines() {
    let mut summary: Option<String> = None;
    for _ in 0..3 {
        let lines: &'static [&'static str] = Vec::leak(
            (0..200)
                .map(|at| &*format!("line {at} of the pages").leak())
                .collect(),
        );
        summary = Some(told(
            vec![says("Pages", Carry::Append, lines)],
            &ExtractorContext {
                previous_summary: summary.as_deref(),
                ..ExtractorContext::default()
            },
        ));
    }
    let summary = summary.unwrap();
    let lines = lines(&summary, &["Pages"]);
    assert!(
        lines[1].starts_with("- older lines left out: "),
        "{lines:?}"
    );
    assert_eq!(lines.last(), Some(&"- line 199 of the pages"));
    let bytes: usize = lines.iter().map(|line| line.len() + 1).sum();
    assert!(bytes <= 2048 + 10, "{bytes}");
}

#[test]
fn a_summary_in_free_text_is_not_lost() {
    let told = told(
        Vec::new(),
        &ExtractorContext {
            previous_summary: Some("We talked about\nthe weather."),
            ..ExtractorContext::default()
        },
    );
    assert_eq!(
        lines(&told, &["Earlier Summary"]),
        ["## Earlier Summary", "- We talked about", "  the weather."]
    );
}

/// Gives the paths that it is asked for.
#[derive(Default)]
struct Index(Mutex<Vec<PathBuf>>);

impl CodeIntelligence for Index {
    fn outline<'a>(
        &'a self,
        _: &'a Path,
    ) -> shard_contracts::BoxFuture<'a, Result<Vec<Symbol>, CodeError>> {
        unreachable!("a summary does not wait")
    }

    fn symbol<'a>(
        &'a self,
        _: &'a str,
        _: Option<&'a Path>,
    ) -> shard_contracts::BoxFuture<'a, Result<Vec<Symbol>, CodeError>> {
        unreachable!("a summary does not wait")
    }

    fn signatures(&self, paths: &[PathBuf]) -> Vec<String> {
        paths.clone_into(&mut self.0.lock().unwrap());
        vec!["fn from_the_index(a: u8)".to_owned()]
    }

    fn invalidate(&self, _: &Path) {}
}

#[test]
fn an_index_of_code_knows_better() {
    let entries = session("ledger");
    let blocks = Blocks::of(&entries, 0);
    let index = Index::default();
    let context = ExtractorContext {
        code_index: Some(&index),
        cwd: Some(Path::new("/home/dev/ledger")),
        ..ExtractorContext::default()
    };
    let extractors = default_extractors();
    let summary = COMPACTOR
        .summarize(&blocks.blocks, &extractors, &context)
        .unwrap();
    assert_eq!(
        lines(&summary, &["Type Catalog"]),
        ["## Type Catalog", "- fn from_the_index(a: u8)"]
    );
    let asked = index.0.lock().unwrap();
    assert_eq!(asked[0], Path::new("/home/dev/ledger/src/ledger.rs"));
}

#[test]
fn a_window_is_compacted_when_it_is_fuller_than_the_reserve_leaves() {
    let check = |used: u64, want: bool| {
        let size = shard_contracts::ContextSize { used, window: 1000 };
        assert_eq!(COMPACTOR.should_compact(size), want, "{used}");
    };
    check(800, false);
    check(801, true);
    let unknown = shard_contracts::ContextSize { used: 5, window: 0 };
    assert!(!COMPACTOR.should_compact(unknown));
    assert_eq!(COMPACTOR.name(), "default");
    let nothing = COMPACTOR.summarize(&[], &default_extractors(), &ExtractorContext::default());
    assert!(nothing.is_err());
}
