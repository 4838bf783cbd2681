//! `grep`: lines of files by a regular expression.

use std::path::{Path, PathBuf};

use futures_util::future::BoxFuture;
use rustix::fs::FileType;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};
use shard_contracts::{Access, Tool, ToolContext, ToolOutput};
use shard_types::{ListedPath, PathKind};

use super::regular_file::{self, open_file, open_folder, regular};
use super::search::{Hits, PatternOptions, Query, Row, compile};
use super::snippet::Snippet;
use super::tree::Tree;
use super::walk::{Filter, Listing, shown};
use super::{arguments, job, nearest, visible};
use crate::paths::resolve_judged;

/// Matches shown unless the call says otherwise.
const MATCHES: usize = 200;
/// More lines around a match are better had with `read`.
const MAX_CONTEXT: usize = 50;
/// Files searched before their results are looked at: enough to keep the threads busy, and little
/// to throw away when the first ones fill the output.
const BATCH: usize = 64;
/// Files named in a note.
const NAMED: usize = 3;

#[derive(Debug, Deserialize, JsonSchema)]
struct Arguments {
    /// A regular expression (Rust syntax), matched within one line.
    pattern: String,
    /// The file or folder to search; the working folder unless given.
    path: Option<String>,
    /// Only files that this glob matches, such as `*.rs`, `src/**` or `!*.min.js`.
    glob: Option<String>,
    /// Upper and lower case are the same.
    ignore_case: Option<bool>,
    /// Take the pattern as plain text.
    literal: Option<bool>,
    /// Lines to show before and after each match.
    context: Option<usize>,
    /// How many matches to show; 200 unless given.
    limit: Option<usize>,
}

/// Searches files.
#[derive(Debug)]
pub struct Grep;

impl Tool for Grep {
    fn name(&self) -> &'static str {
        "grep"
    }

    fn description(&self) -> &'static str {
        "Search the text of files, sorted by path. Rows are path:line: text; in very long lines \
         path:line:column: and the text around the match. Leaves out what .gitignore names and \
         binary files; hidden files are included."
    }

    fn input_schema(&self) -> Value {
        arguments::schema::<Arguments>()
    }

    fn read_only(&self) -> bool {
        true
    }

    fn access(&self, input: &Map<String, Value>) -> Access {
        let path = arguments::text(input, "path");
        Access::Read(vec![arguments::start(Some(path)).to_owned()])
    }

    fn execute<'a>(
        &'a self,
        input: Map<String, Value>,
        context: &'a ToolContext,
    ) -> BoxFuture<'a, ToolOutput> {
        Box::pin(job::reading(context, |context| grep(input, context)))
    }
}

fn grep(input: Map<String, Value>, context: &ToolContext) -> Result<ToolOutput, String> {
    let arguments: Arguments = arguments::parse(input)?;
    let query = query(&arguments, context)?;
    let filter = arguments.glob.as_deref().map(Filter::new).transpose()?;
    let given = arguments::start(arguments.path.as_deref());
    let real = resolve_judged(context, given)?;
    let is_file =
        check_kind(&real).map_err(|error| nearest::refusal(&context.cwd, given, &real, &error))?;
    let mut report = Report::new(given, &real, is_file, &query, context.max_output_bytes);
    let mut files = Files::of(&real, is_file, filter, &query);
    loop {
        let batch: Vec<PathBuf> = files.by_ref().take(BATCH).collect();
        let found = query.search_all(&batch);
        if query.cancel.is_cancelled() {
            return Err(job::ABORTED.to_owned());
        }
        let full = batch
            .iter()
            .zip(found)
            .any(|(file, hits)| !report.add(file, hits));
        if full || batch.len() < BATCH {
            report.unread += files.unread;
            return Ok(report.output(&arguments.pattern, files.tree.as_ref().and_then(Tree::note)));
        }
    }
}

fn query(arguments: &Arguments, context: &ToolContext) -> Result<Query, String> {
    let options = PatternOptions {
        ignore_case: arguments.ignore_case.unwrap_or_default(),
        literal: arguments.literal.unwrap_or_default(),
    };
    let hint = match options.literal {
        true => "",
        false => "\nTo search for the text as it stands, set literal to true.",
    };
    let matcher = compile(&arguments.pattern, options).map_err(|error| {
        format!(
            "the pattern is not valid: {}{hint}",
            visible::controls(&error)
        )
    })?;
    // A match takes some bytes of output at least, so more than this are never shown.
    let most = (context.max_output_bytes / 4).max(1);
    Ok(Query {
        matcher,
        context: arguments.context.unwrap_or_default().min(MAX_CONTEXT),
        limit: arguments.limit.unwrap_or(MATCHES).clamp(1, most),
        cancel: context.cancel.clone(),
    })
}

/// Whether a file or a folder is searched; nothing else is.
fn check_kind(real: &Path) -> Result<bool, regular_file::OpenError> {
    let is_file = regular(regular_file::kind(real)?).is_ok();
    match is_file {
        true => _ = open_file(real)?,
        false => _ = open_folder(real)?,
    }
    Ok(is_file)
}

/// The files to search.
struct Files<'a> {
    root: &'a Path,
    filter: Option<Filter>,
    /// The one file, until it was given.
    file: Option<PathBuf>,
    tree: Option<Tree>,
    unread: u64,
}

impl<'a> Files<'a> {
    fn of(root: &'a Path, is_file: bool, filter: Option<Filter>, query: &Query) -> Self {
        Self {
            root,
            filter,
            file: is_file.then(|| root.to_owned()),
            tree: (!is_file).then(|| Tree::of(root, query.cancel.clone())),
            unread: 0,
        }
    }

    fn wants(&self, below: &Path) -> bool {
        let filter = self.filter.as_ref();
        filter.is_none_or(|filter| filter.matches(below, PathKind::File))
    }
}

impl Iterator for Files<'_> {
    type Item = PathBuf;

    fn next(&mut self) -> Option<PathBuf> {
        if let Some(file) = self.file.take() {
            let name = Path::new(file.file_name().unwrap_or_default());
            return self.wants(name).then_some(file);
        }
        loop {
            let Ok(entry) = self.tree.as_mut()?.next()? else {
                self.unread += 1;
                continue;
            };
            let below = entry.path.strip_prefix(self.root).unwrap_or(&entry.path);
            if entry.kind == FileType::RegularFile && self.wants(below) {
                return Some(entry.path);
            }
        }
    }
}

/// Puts results together in the order of the files.
struct Report<'a> {
    given: &'a str,
    root: &'a Path,
    is_file: bool,
    context: usize,
    limit: usize,
    listing: Listing,
    cut: bool,
    unread: u64,
    binary: Vec<String>,
}

impl<'a> Report<'a> {
    fn new(given: &'a str, root: &'a Path, is_file: bool, query: &Query, max: usize) -> Self {
        Self {
            given,
            root,
            is_file,
            context: query.context,
            limit: query.limit,
            listing: Listing::new(max),
            cut: false,
            unread: 0,
            binary: Vec::new(),
        }
    }

    /// Adds what a file gave; false when there is no room for more.
    fn add(&mut self, file: &Path, hits: Hits) -> bool {
        let path = shown(self.given, file.strip_prefix(self.root).unwrap_or(file));
        self.unread += u64::from(hits.unread);
        if hits.binary {
            if self.is_file || hits.matches > 0 {
                self.binary.push(path);
            }
            return true;
        }
        let left = self.limit - self.listing.len();
        let apart = self.context > 0 && hits.matches > 0 && left > 0 && self.listing.len() > 0;
        let room = !apart || self.listing.add_text("--");
        let mut rows = first(&hits.rows, left, self.context);
        let room = room && rows.all(|row| self.add_row(&path, row));
        self.cut |= !room || hits.more || hits.matches > left;
        !self.cut
    }

    fn add_row(&mut self, path: &str, row: &Row) -> bool {
        match row {
            Row::Gap => self.listing.add_text("--"),
            Row::Context(line, snippet) => self
                .listing
                .add_text(&format!("{path}-{line}- {}", snippet.text)),
            Row::Match(line, snippet) => {
                let text = place(*line, snippet);
                let fits = self.listing.add_text(&format!("{path}:{text}"));
                if fits {
                    self.listing.add_path(ListedPath {
                        path: path.to_owned(),
                        kind: PathKind::File,
                        hint: Some(text),
                    });
                }
                fits
            }
        }
    }

    fn output(self, pattern: &str, note: Option<String>) -> ToolOutput {
        let shown = self.listing.len();
        let mut notes = Vec::new();
        if shown == 0 && !self.cut {
            let pattern = visible::short(&visible::line(pattern), 100);
            notes.push(format!("no matches for {pattern}"));
        }
        if !self.binary.is_empty() {
            let names = self
                .binary
                .iter()
                .take(NAMED)
                .map(|name| visible::short(name, 60));
            let names: Vec<String> = names.collect();
            let all = visible::count(self.binary.len() as u64, "binary file");
            notes.push(format!("{all} not shown: {}", names.join(", ")));
        }
        if self.unread > 0 {
            notes.push(format!(
                "{} could not be read",
                visible::count(self.unread, "place")
            ));
        }
        if self.cut {
            let first = visible::count(shown as u64, "match").replace("matchs", "matches");
            notes.push(format!(
                "truncated: the first {first}; narrow pattern, path or glob, or raise limit"
            ));
        }
        self.listing.output(notes.into_iter().chain(note))
    }
}

/// The rows up to the match number `matches` and the lines that belong to it.
fn first(rows: &[Row], matches: usize, context: usize) -> impl Iterator<Item = &Row> {
    let mut left = matches;
    let mut end = (left == 0).then_some(0);
    rows.iter().take_while(move |row| match row {
        Row::Match(..) if left == 0 => false,
        Row::Match(line, _) => {
            left -= 1;
            end = (left == 0).then_some(line + context as u64);
            true
        }
        Row::Context(line, _) => end.is_none_or(|end| *line <= end),
        Row::Gap => end.is_none(),
    })
}

fn place(line: u64, snippet: &Snippet) -> String {
    match snippet.column {
        None => format!("{line}: {}", snippet.text),
        Some(column) => format!("{line}:{column}: {}", snippet.text),
    }
}

#[cfg(test)]
mod tests;
