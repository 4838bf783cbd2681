//! Commits: what was committed, as git reported it.

use std::sync::LazyLock;

use regex::Regex;
use shard_contracts::{Extractor, ExtractorContext};
use shard_types::NormalizedBlock;

use super::excerpt::{ends, line};

pub(super) const SECTION: &str = "Commits";
/// Bytes of an output that are searched at each end: hooks may print much, and the report is last.
const LOOK: usize = 8 * 1024;
/// Bytes of a subject.
const SUBJECT: usize = 120;

/// `[main (root-commit) 1a2b3c4] Subject`, as `git commit`, `cherry-pick` and `revert` print it.
#[expect(clippy::unwrap_used, reason = "a constant that a test compiles")]
static REPORT: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?m)^\[([^\[\]\n]{1,120}?)(?: \(root-commit\))? ([0-9a-f]{7,40})\] (.+)$").unwrap()
});

/// A command that makes commits.
#[expect(clippy::unwrap_used, reason = "a constant that a test compiles")]
static COMMITS: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r"\bgit(?:\s+(?:-[cC]\s+\S+|--?[\w-]+(?:=\S+)?))*\s+(?:commit|cherry-pick|revert|merge|am|rebase)\b",
    )
    .unwrap()
});
#[expect(clippy::unwrap_used, reason = "a constant that a test compiles")]
static QUIET: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"\scommit\b.*?\s(?:-[a-z]*q[a-z]*|--quiet)\b").unwrap());
#[expect(clippy::unwrap_used, reason = "a constant that a test compiles")]
static MESSAGE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r#"\s(?:-[a-z]*m|--message)[ =]?(?:"([^"]+)"|'([^']+)')"#).unwrap()
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
            if !command.contains("git") || !COMMITS.is_match(command) {
                continue;
            }
            let place = context.origin(at).map(|index| format!(" [{index}]"));
            let place = place.unwrap_or_default();
            let amended = if command.contains("--amend") {
                " (amended)"
            } else {
                ""
            };
            let before = told.len();
            for part in ends(output, LOOK) {
                told.extend(REPORT.captures_iter(part).map(|found| {
                    let subject = line(&found[3], SUBJECT);
                    format!("{} on {}: {subject}{amended}{place}", &found[2], &found[1])
                }));
            }
            if told.len() == before && *exit_code == Some(0) && QUIET.is_match(command) {
                let message = MESSAGE.captures(command);
                let subject = message.and_then(|found| found.get(1).or(found.get(2)));
                told.extend(subject.map(|subject| {
                    let subject = line(subject.as_str(), SUBJECT);
                    format!("quietly: {subject}{amended}{place}")
                }));
            }
        }
        told
    }
}

#[cfg(test)]
mod tests;
