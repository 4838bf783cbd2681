//! Commits: what was committed and merged, as git reported it.
//!
//! Only what git prints counts, and only of a command that runs git: a list of commits, a file of
//! notes or a script that is written down tells of nothing that was done.

use std::sync::LazyLock;

use regex::Regex;
use shard_contracts::{Extractor, ExtractorContext};
use shard_types::NormalizedBlock;

use super::excerpt::{ends, line};
use crate::gate::shell::{Role, Simple, Word, analyze, program};

pub(super) const SECTION: &str = "Commits";
/// Bytes of an output that are searched at each end: hooks may print much, and the report is last.
const LOOK: usize = 8 * 1024;
/// Bytes of a subject.
const SUBJECT: usize = 120;

/// Options of git itself whose value is a word of its own.
const WITH_VALUE: [&str; 6] = [
    "-c",
    "-C",
    "--git-dir",
    "--work-tree",
    "--namespace",
    "--config-env",
];

/// `[main (root-commit) 1a2b3c4] Subject`, as `git commit`, `cherry-pick` and `revert` print it.
#[expect(clippy::unwrap_used, reason = "a constant that a test compiles")]
static REPORT: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r"(?m)^\[(detached HEAD|[^\s\[\]~^:?*\\]{1,120})(?: \(root-commit\))? ([0-9a-f]{7,40})\] (.+)$",
    )
    .unwrap()
});

/// What `git merge` and `pull` print when there was something to merge.
#[expect(clippy::unwrap_used, reason = "a constant that a test compiles")]
static MERGED: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r"(?m)^Merge made by the '([\w-]+)' strategy\.?$|^Updating [0-9a-f]{7,40}\.\.([0-9a-f]{7,40})\nFast-forward\b",
    )
    .unwrap()
});

pub(super) struct Commits;

impl Extractor for Commits {
    fn section(&self) -> &'static str {
        SECTION
    }

    fn extract(&self, blocks: &[NormalizedBlock], context: &ExtractorContext<'_>) -> Vec<String> {
        let mut told = Vec::new();
        for (at, block) in blocks.iter().enumerate() {
            let NormalizedBlock::Bash {
                command,
                output,
                exit_code,
            } = block
            else {
                continue;
            };
            let is_quiet = *exit_code == Some(0) && command.contains("-q");
            let says = |part: &str| REPORT.is_match(part) || MERGED.is_match(part);
            if !command.contains("git") || !(is_quiet || ends(output, LOOK).into_iter().any(says)) {
                continue;
            }
            let commands = analyze(command).commands;
            let calls: Vec<_> = commands.iter().filter_map(Call::of).collect();
            let place = context.origin(at).map(|index| format!(" [{index}]"));
            let place = place.unwrap_or_default();
            told.extend(report(&calls, output, is_quiet).map(|it| it + &place));
        }
        told
    }
}

/// What these calls of git did, by their output.
fn report(calls: &[Call], output: &str, is_quiet: bool) -> impl Iterator<Item = String> {
    let is = |names: &[&str]| calls.iter().find(|call| names.contains(&&*call.name));
    let mut told = Vec::new();
    if is(&["commit", "cherry-pick", "revert", "merge", "am", "rebase"]).is_some() {
        let amended = match calls.iter().any(|call| call.has("--amend")) {
            true => " (amended)",
            false => "",
        };
        for part in ends(output, LOOK) {
            told.extend(REPORT.captures_iter(part).map(|found| {
                let subject = line(&found[3], SUBJECT);
                format!("{} on {}: {subject}{amended}", &found[2], &found[1])
            }));
        }
        let quiet = is(&["commit"]).filter(|call| is_quiet && told.is_empty() && call.is_quiet());
        told.extend(quiet.and_then(Call::message).map(|subject| {
            let subject = line(&subject, SUBJECT);
            format!("quietly: {subject}{amended}")
        }));
    }
    if let Some(merge) = is(&["merge", "pull"]) {
        let what = merge.operand().unwrap_or_else(|| merge.name.clone());
        for part in ends(output, LOOK) {
            told.extend(MERGED.captures_iter(part).map(|found| match found.get(2) {
                Some(hash) => format!("{}: fast-forward to {what}", hash.as_str()),
                None => format!("merged {what} ({})", &found[1]),
            }));
        }
    }
    told.into_iter()
}

/// A call of git.
struct Call {
    /// The name of its command.
    name: String,
    /// What stands behind that; none for a word that the shell computes.
    words: Vec<Option<String>>,
}

impl Call {
    /// None if it is another program, or not certain to run.
    fn of(command: &Simple) -> Option<Self> {
        let name = command.name().filter(|_| command.role == Role::Runs)?;
        if program(&name) != "git" {
            return None;
        }
        let mut words = command.words.iter().skip(1).map(Word::text);
        loop {
            let word = words.next()??;
            if WITH_VALUE.contains(&&*word) {
                words.next()?;
            } else if !word.starts_with('-') {
                let words = words.collect();
                return Some(Self { name: word, words });
            }
        }
    }

    fn has(&self, option: &str) -> bool {
        self.words.iter().flatten().any(|word| word == option)
    }

    fn is_quiet(&self) -> bool {
        let short = |word: &String| flags(word).is_some_and(|flags| flags.contains('q'));
        self.has("--quiet") || self.words.iter().flatten().any(short)
    }

    /// What `-m` says.
    fn message(&self) -> Option<String> {
        let at = self.words.iter().position(|word| {
            let word = word.as_deref().unwrap_or_default();
            word.starts_with("--message") || flags(word).is_some_and(|flags| flags.contains('m'))
        })?;
        let word = self.words[at].as_deref()?;
        let with_it = match word.strip_prefix("--message") {
            Some(rest) => rest.strip_prefix('='),
            None => word.split_once('m').map(|(_, rest)| rest),
        };
        match with_it.filter(|text| !text.is_empty()) {
            Some(text) => Some(text.to_owned()),
            None => self.words.get(at + 1)?.clone(),
        }
    }

    /// The last word that is no option.
    fn operand(&self) -> Option<String> {
        let last = self.words.last()?.as_ref();
        last.filter(|word| !word.starts_with('-')).cloned()
    }
}

/// The letters of short options, up to `m`, whose value may follow on it.
fn flags(word: &str) -> Option<&str> {
    let letters = word
        .strip_prefix('-')
        .filter(|rest| !rest.starts_with('-'))?;
    let end = letters.find('m').map_or(letters.len(), |at| at + 1);
    Some(&letters[..end])
}

#[cfg(test)]
mod tests;
