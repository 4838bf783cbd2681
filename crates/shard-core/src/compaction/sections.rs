//! From extractors to the sections of a summary: what is new, joined with what was known, within
//! bounds.

use std::collections::HashSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use shard_contracts::{Carry, Extractor, ExtractorContext};
use shard_types::NormalizedBlock;

use super::document::{self, Section, item_bytes};
use super::excerpt::{line, lines};
use super::{catalog, commits, files, goal, outstanding, preferences, turns};

/// A summary is never longer than this, in bytes: some 6000 tokens.
pub(super) const LONGEST: usize = 24 * 1024;
/// The shortest one that is asked for.
pub(super) const SHORTEST: usize = 4 * 1024;
/// What preamble and headings take at most, in bytes.
pub(super) const FRAME: usize = 1536;
/// Sections of extensions share this many bytes, and there are at most so many of them.
const FOREIGN_BYTES: usize = 2048;
const FOREIGN: usize = 8;
/// The section that holds a summary without sections.
const FREE_TEXT: &str = "Earlier Summary";
/// Longest name of a section, in bytes.
const NAME: usize = 40;
/// How a line begins that counts what is gone.
const FOLDED: &str = "older lines left out: ";

/// What is fixed about a section.
struct Rules {
    name: &'static str,
    /// Its bound, in bytes, in a summary of full length.
    bytes: usize,
    /// Items at the beginning that are never folded.
    pinned: usize,
}

const fn rules(name: &'static str, bytes: usize, pinned: usize) -> Rules {
    Rules {
        name,
        bytes,
        pinned,
    }
}

/// From stable to volatile, so that a summary begins as the one before it did. Sections of
/// extensions come before the last two.
const RULES: [Rules; 7] = [
    rules(goal::SECTION, 2560, 1),
    rules(preferences::SECTION, 2048, 0),
    rules(files::SECTION, 3584, 0),
    rules(commits::SECTION, 1536, 0),
    rules(catalog::SECTION, 2560, 0),
    rules(outstanding::SECTION, 2048, 0),
    rules(turns::SECTION, 3584, 0),
];
/// The place of the first section after those of extensions.
const VOLATILE: usize = 5;

/// How long a part may be in a summary of `limit` bytes that has `bytes` in one of full length.
pub(super) fn share(bytes: usize, limit: usize) -> usize {
    bytes * (limit - FRAME) / (LONGEST - FRAME)
}

/// Runs the extractors and joins their lines with those of the summary before.
pub(super) fn build_sections(
    blocks: &[NormalizedBlock],
    extractors: &[Arc<dyn Extractor>],
    context: &ExtractorContext<'_>,
    limit: usize,
) -> Vec<Section> {
    let known = known(context.previous_summary);
    let mut sections: Vec<Section> = Vec::new();
    let foreign = foreign(extractors, &known);
    let share_of_each = FOREIGN_BYTES / foreign.len().max(1);
    let build = |name: &str, bytes: usize, pinned: usize| {
        let old = known.iter().find(|section| section.name == name);
        let old = old.map_or(&[][..], |section| &section.items);
        let bytes = share(bytes, limit);
        let clip = |items: &[String]| -> Vec<String> {
            let items = items
                .iter()
                .map(|item| lines(item, bytes.saturating_sub(64) / 2));
            items.filter(|item| !item.is_empty()).collect()
        };
        // Under one name the last one counts.
        let extractor = extractors
            .iter()
            .rfind(|extractor| heading(extractor.section()) == name);
        let (carry, new) = extractor.map_or((Carry::Append, Vec::new()), |extractor| {
            (extractor.carry(), run(&**extractor, blocks, context))
        });
        let (old, new) = (clip(old), clip(&new));
        let items = match carry {
            Carry::Rebuild => truncate(new, bytes),
            Carry::Append => within(name, append(&old, new), bytes, pinned),
            Carry::Update => fold(update(&old, new), bytes, pinned),
        };
        Section::new(name, items)
    };
    for (at, rules) in RULES.iter().enumerate() {
        if at == VOLATILE {
            sections.extend(foreign.iter().map(|name| build(name, share_of_each, 0)));
        }
        sections.push(build(rules.name, rules.bytes, rules.pinned));
    }
    sections
}

/// What is known from the summary before. One that has no sections, by a compactor of another
/// kind, is one item of a section of its own.
fn known(previous: Option<&str>) -> Vec<Section> {
    let Some(previous) = previous else {
        return Vec::new();
    };
    match document::parse(previous) {
        none if none.is_empty() => vec![Section::new(FREE_TEXT, vec![previous.to_owned()])],
        sections => sections,
    }
}

/// An extractor that panics costs its new lines, no more.
fn run(
    extractor: &dyn Extractor,
    blocks: &[NormalizedBlock],
    context: &ExtractorContext<'_>,
) -> Vec<String> {
    let lines = catch_unwind(AssertUnwindSafe(|| extractor.extract(blocks, context)));
    lines.unwrap_or_else(|_| {
        tracing::warn!(
            section = extractor.section(),
            "an extractor panicked; its section gets no new lines"
        );
        Vec::new()
    })
}

/// A section's name as it stands in a document.
fn heading(name: &str) -> String {
    line(name, NAME)
}

/// The names of the sections that are not built in, also of those that nobody fills any more, in
/// the order in which they came up.
fn foreign(extractors: &[Arc<dyn Extractor>], known: &[Section]) -> Vec<String> {
    let taken = |name: &String| {
        name.is_empty()
            || RULES.iter().any(|rules| rules.name == name)
            || super::transcript::SECTIONS.contains(&name.as_str())
    };
    let old = known.iter().map(|section| heading(&section.name));
    let new = extractors
        .iter()
        .map(|extractor| heading(extractor.section()));
    let mut names: Vec<String> = Vec::new();
    for name in old.chain(new) {
        if !taken(&name) && !names.contains(&name) {
            names.push(name);
        }
    }
    // When there are too many, those go first that nobody fills any more.
    let filled = |name: &String| {
        let mut filled = extractors.iter();
        filled.any(|extractor| heading(extractor.section()) == *name)
    };
    while names.len() > FOREIGN {
        let idle = names.iter().position(|name| !filled(name));
        names.remove(idle.unwrap_or(names.len() - 1));
    }
    names
}

fn append(old: &[String], new: Vec<String>) -> Vec<String> {
    let mut items = old.to_vec();
    let mut seen: HashSet<String> = old.iter().cloned().collect();
    items.extend(new.into_iter().filter(|item| seen.insert(item.clone())));
    items
}

/// Old lines that nothing new speaks about, then the new ones; what says the same stays in place.
fn update(old: &[String], new: Vec<String>) -> Vec<String> {
    let subject = |item: &str| {
        item.split_once(": ")
            .map_or(item, |(head, _)| head)
            .to_owned()
    };
    let unchanged: HashSet<String> = old
        .iter()
        .filter(|item| new.contains(item))
        .cloned()
        .collect();
    let renewed: HashSet<String> = new.iter().map(|item| subject(item)).collect();
    let mut items = old.to_vec();
    items.retain(|item| unchanged.contains(item) || !renewed.contains(&subject(item)));
    items.extend(new.into_iter().filter(|item| !unchanged.contains(item)));
    items
}

/// Within the bound: lines about one file become one before any is left out.
fn within(name: &str, items: Vec<String>, bytes: usize, pinned: usize) -> Vec<String> {
    match name == files::SECTION && size(&items) > bytes {
        true => fold(files::joined(items), bytes, pinned),
        false => fold(items, bytes, pinned),
    }
}

fn size(items: &[String]) -> usize {
    items.iter().map(|item| item_bytes(item)).sum()
}

/// Leaves the oldest items out until the rest takes three quarters of the bound, if it is more
/// than the bound: so the section stays as it is for a while before it changes again.
fn fold(mut items: Vec<String>, bytes: usize, pinned: usize) -> Vec<String> {
    if size(&items) <= bytes {
        return items;
    }
    let pinned = pinned.min(items.len());
    let mut gone = items.get(pinned).and_then(|item| folded(item)).unwrap_or(0);
    let first = pinned + usize::from(gone > 0);
    let wanted = (bytes * 3 / 4).saturating_sub(64);
    let fixed = size(&items[..pinned]);
    let mut rest = size(&items[first.min(items.len())..]);
    let mut dropped = 0;
    while first + dropped < items.len() && fixed + rest > wanted {
        rest -= item_bytes(&items[first + dropped]);
        dropped += 1;
    }
    gone = gone.saturating_add(dropped as u64);
    let count = format!("{FOLDED}{gone}; recall finds what they were");
    items.splice(pinned..first + dropped, [count]);
    items
}

/// The count in a line that stands for what is gone.
fn folded(item: &str) -> Option<u64> {
    let count = item.strip_prefix(FOLDED)?.split(';').next()?;
    count.parse().ok()
}

/// The first items that fit.
fn truncate(mut items: Vec<String>, bytes: usize) -> Vec<String> {
    let mut size = 0;
    let room = bytes.saturating_sub(32);
    let fitting = items.iter().take_while(|item| {
        size += item_bytes(item);
        size <= room
    });
    let fitting = fitting.count();
    if fitting < items.len() {
        let more = items.len() - fitting;
        items.truncate(fitting);
        items.push(format!("and {more} more"));
    }
    items
}
