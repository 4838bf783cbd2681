//! Outstanding Context: what was wrong when the summary was made.
//!
//! Looks at the newest steps only. A failure counts until its command succeeds; what a later run
//! of the same command no longer says is left out. A failure whose file was changed afterwards may
//! be mended, so it is told as that.

use std::collections::HashSet;
use std::sync::LazyLock;

use regex::Regex;
use shard_contracts::{Carry, Extractor, ExtractorContext};
use shard_types::NormalizedBlock;

use super::diagnostics::{Finding, Severity, findings, same_file};
use super::excerpt::{end, first_line, line};
use super::files::{self, Touch, path_of, relative};

pub(super) const SECTION: &str = "Outstanding Context";
/// How many of the newest blocks count.
const NEWEST: usize = 25;
/// Bytes of a command and of what a tool said.
const COMMAND: usize = 80;
const SAID: usize = 160;
/// Lines about one run.
const PER_RUN: usize = 8;

/// Programs whose output is read even when the command ended well: behind a pipe the exit code is
/// that of the last one.
#[expect(clippy::unwrap_used, reason = "a constant that a test compiles")]
static CHECKER: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(concat!(
        r"\b(?:cargo|rustc|clippy|tsc|vue-tsc|svelte-check|npx|npm|pnpm|yarn|bun|deno|jest|vitest|eslint|node|",
        r"pytest|py\.test|python3?|uv|tox|ruff|mypy|pyright|go|golangci-lint|gcc|g\+\+|cc|c\+\+|clang(?:\+\+)?|",
        r"make|cmake|ninja|bazel|mvn|gradlew?|dotnet|xcodebuild|swift)\b",
    ))
    .unwrap()
});
/// Commands that say "nothing found" or "different" with their exit code.
#[expect(clippy::unwrap_used, reason = "a constant that a test compiles")]
static SEARCH: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^\s*(?:cd \S+ && )?(?:\w+=\S+ )*(?:git )?(?:[efz]?grep|rg|ag|fd|find|which|pgrep|(?<compares>diff|cmp|test|\[))(?:\s|$)").unwrap()
});
/// What says nothing about the work itself: changes of folder and what only picks lines.
#[expect(clippy::unwrap_used, reason = "a constant that a test compiles")]
static WRAPPING: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^\s*(?:cd \S+\s*(?:&&|;)\s*)?|\s*[12]?>&[12]|\s*2>/dev/null|\s*\|\s*(?:tail|head|grep|sed|cat|tee)\b[^|]*|;\s*echo\b.*$")
        .unwrap()
});

pub(super) struct OutstandingContext;

impl Extractor for OutstandingContext {
    fn section(&self) -> &'static str {
        SECTION
    }

    fn carry(&self) -> Carry {
        Carry::Rebuild
    }

    fn extract(&self, blocks: &[NormalizedBlock], context: &ExtractorContext<'_>) -> Vec<String> {
        let mut from = blocks.len().saturating_sub(NEWEST);
        if matches!(blocks.get(from), Some(NormalizedBlock::ToolResult { .. })) {
            from = from.saturating_sub(1);
        }
        let touched = files::touched(&blocks[from..], context.cwd);
        let touched = touched.into_iter().map(|touch| Touch {
            block: touch.block + from,
            ..touch
        });
        let touched: Vec<_> = touched.filter(|touch| touch.kind.changes()).collect();
        let mut open = Vec::new();
        for at in from..blocks.len() {
            look(blocks, at, context, &mut open);
        }
        for issue in &mut open {
            issue.settle(&touched);
        }
        open.sort_by_key(|issue| (issue.resolved.is_some(), issue.finding.severity));
        let mut seen = HashSet::new();
        let told = open.iter().filter_map(|issue| {
            let line = issue.told(context);
            seen.insert(line.clone()).then(|| {
                let index = context.origin(issue.block);
                let index = index.map(|index| format!(" [{index}]"));
                line + &index.unwrap_or_default()
            })
        });
        told.collect()
    }
}

/// Something that was wrong.
struct Issue {
    block: usize,
    /// The run that it is about: the same one again is news about it.
    run: String,
    finding: Finding,
    /// Why it may be mended.
    resolved: Option<&'static str>,
}

impl Issue {
    /// Marks it when the file that it names was changed later.
    fn settle(&mut self, touched: &[Touch]) {
        let Some(path) = &self.finding.path else {
            return;
        };
        let edited = touched
            .iter()
            .any(|touch| touch.block > self.block && same_file(&touch.path, path));
        if edited && self.resolved.is_none() {
            self.resolved = Some("its file was changed since");
        }
    }

    fn told(&self, context: &ExtractorContext<'_>) -> String {
        let Finding {
            severity,
            tag,
            path,
            line,
            message,
        } = &self.finding;
        let word = match (self.resolved, severity) {
            (Some(_), _) => "RESOLVED",
            (None, Severity::Error) => "ERROR",
            (None, Severity::Warning) => "WARN",
            (None, Severity::Info) => "INFO",
        };
        let place = path.as_ref().map(|path| relative(path, context.cwd));
        let place = match (place, line) {
            (Some(path), Some(line)) => format!(" {path}:{line}:"),
            (Some(path), None) => format!(" {path}:"),
            (None, _) => String::new(),
        };
        let how = self.resolved.map(|how| format!(" ({how})"));
        format!(
            "[{word}] [{tag}]{place} {message}{}",
            how.unwrap_or_default()
        )
    }
}

/// Takes one step into account: what was open about the same run is settled, what is wrong now is
/// open.
fn look(
    blocks: &[NormalizedBlock],
    at: usize,
    context: &ExtractorContext<'_>,
    open: &mut Vec<Issue>,
) {
    let (run, found) = match &blocks[at] {
        NormalizedBlock::Bash {
            command,
            output,
            exit_code,
        } => (run_of(command), of_command(command, output, *exit_code)),
        NormalizedBlock::ToolResult {
            name,
            text,
            is_error,
        } => {
            let args = at.checked_sub(1).and_then(|call| match &blocks[call] {
                NormalizedBlock::ToolCall { args, .. } => Some(args),
                _ => None,
            });
            let path = args.and_then(path_of);
            let path = path.map(|path| relative(path, context.cwd));
            let run = format!("{name} {}", path.as_deref().unwrap_or_default());
            (run, of_tool(name, text, *is_error, path))
        }
        _ => return,
    };
    let clean = !found
        .iter()
        .any(|finding| finding.severity == Severity::Error);
    if clean {
        succeeded(open, &run);
    } else {
        open.retain(|issue| issue.run != run);
    }
    let more = found.len().saturating_sub(PER_RUN);
    let mut found = found;
    found.truncate(PER_RUN);
    if more > 0
        && let Some(last) = found.last_mut()
    {
        last.message += &format!(" (and {more} more of this run)");
    }
    open.extend(found.into_iter().map(|finding| Issue {
        block: at,
        run: run.clone(),
        finding,
        resolved: None,
    }));
}

/// The command without what changes nothing about its meaning.
fn run_of(command: &str) -> String {
    line(&WRAPPING.replace_all(command, ""), 400)
}

/// The first complaint of a run that succeeds now stands for all of them.
fn succeeded(open: &mut Vec<Issue>, run: &str) {
    let about = |issue: &Issue| issue.run == run && issue.finding.severity != Severity::Info;
    let count = open.iter().filter(|issue| about(issue)).count();
    let mut first = true;
    open.retain_mut(|issue| {
        if !about(issue) || !std::mem::take(&mut first) {
            return !about(issue);
        }
        if count > 1 && issue.resolved.is_none() {
            issue.finding.message += &format!(" (and {} more)", count - 1);
        }
        issue.resolved = Some("it succeeded since");
        true
    });
}

fn of_command(command: &str, output: &str, exit_code: Option<i32>) -> Vec<Finding> {
    let shown = line(command, COMMAND);
    let plain = |severity, tag: &str, message: String| Finding {
        severity,
        tag: tag.to_owned(),
        path: None,
        line: None,
        message,
    };
    let search = SEARCH.captures(command);
    let searched = search.is_some();
    match exit_code {
        Some(1) if searched && output.trim().is_empty() => {
            let compares = search.is_some_and(|search| search.name("compares").is_some());
            let tag = if compares {
                "bash:exit 1"
            } else {
                "no matches"
            };
            return vec![plain(Severity::Info, tag, shown)];
        }
        Some(0) if !CHECKER.is_match(command) => return Vec::new(),
        None => {
            let said = last_line(output);
            let tag = match output.contains("[timed out after") {
                true => "bash:timeout",
                false => "bash:no exit code",
            };
            let mut found = findings(command, output);
            found.push(plain(Severity::Error, tag, format!("`{shown}` {said}")));
            return found;
        }
        _ => {}
    }
    // A search shows what others printed once.
    let mut found = if searched {
        Vec::new()
    } else {
        findings(command, output)
    };
    let failed = found
        .iter()
        .any(|finding| finding.severity == Severity::Error);
    match exit_code {
        Some(code) if code != 0 && !failed => {
            let said = last_line(output);
            let error = plain(
                Severity::Error,
                &format!("bash:exit {code}"),
                format!("`{shown}` {said}"),
            );
            found.insert(0, error);
        }
        _ => {}
    }
    found
}

fn of_tool(name: &str, text: &str, is_error: bool, path: Option<String>) -> Vec<Finding> {
    let said = first_line(text);
    let (severity, tag) = match is_error {
        true if text.contains("denied") && said.len() < 400 => (Severity::Warning, "denied"),
        true => (Severity::Error, name),
        false if said.trim_start_matches('[').starts_with("no matches") => {
            (Severity::Info, "no matches")
        }
        false => return Vec::new(),
    };
    let message = match tag == name {
        true => line(said, SAID),
        false => {
            let said = said.trim_matches(['[', ']']);
            format!("{name}: {}", line(said, SAID))
        }
    };
    vec![Finding {
        severity,
        tag: tag.to_owned(),
        path,
        line: None,
        message,
    }]
}

/// The last line that says something.
fn last_line(output: &str) -> String {
    let tail = end(output, 2000);
    let mut lines = tail.lines().rev().map(str::trim);
    let said = lines.find(|line| !line.is_empty());
    said.map_or_else(|| "printed nothing".to_owned(), |text| line(text, SAID))
}

#[cfg(test)]
mod tests;
