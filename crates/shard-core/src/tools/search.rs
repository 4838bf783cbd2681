//! Searching files for a pattern, line by line, several files at a time.

use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use grep_matcher::{LineTerminator, Matcher as _};
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder, Sink, SinkContext, SinkMatch};
use tokio_util::sync::CancellationToken;

use super::job::ABORTED;
use super::regular_file::open_file;
use super::snippet::{self, Snippet};

/// The longest line that is searched. Longer ones are data.
const MAX_LINE: usize = 16 << 20;
/// Disks and memory gain nothing from more.
const MAX_THREADS: usize = 8;

/// What to search for, and how much of it.
pub(crate) struct Query {
    /// The pattern.
    pub(crate) matcher: RegexMatcher,
    /// Lines shown around a match.
    pub(crate) context: usize,
    /// Matches taken from one file.
    pub(crate) limit: usize,
    /// Ends the search.
    pub(crate) cancel: CancellationToken,
}

/// How a pattern is meant.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct PatternOptions {
    /// Upper and lower case are the same.
    pub(crate) ignore_case: bool,
    /// It is the text itself, no regular expression.
    pub(crate) literal: bool,
}

/// Compiles a pattern. What is wrong with it is shown with its place.
pub(crate) fn compile(pattern: &str, options: PatternOptions) -> Result<RegexMatcher, String> {
    if !options.literal {
        // The matcher wraps the pattern before it parses it, and would name places in that.
        let mut parser = regex_syntax::ParserBuilder::new().utf8(false).build();
        parser.parse(pattern).map_err(|error| error.to_string())?;
    }
    RegexMatcherBuilder::new()
        .multi_line(true)
        .crlf(true)
        .case_insensitive(options.ignore_case)
        .fixed_strings(options.literal)
        .build(pattern)
        .map_err(|error| error.to_string())
}

/// One line of a result.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Row {
    /// A match.
    Match(u64, Snippet),
    /// A line around a match.
    Context(u64, Snippet),
    /// Lines are left out here.
    Gap,
}

/// What one file gave.
#[derive(Debug, Default)]
pub(crate) struct Hits {
    /// In the order of the file.
    pub(crate) rows: Vec<Row>,
    /// How many rows are matches.
    pub(crate) matches: usize,
    /// There are more matches than were taken.
    pub(crate) more: bool,
    /// It is no text. Its matches are dropped.
    pub(crate) binary: bool,
    /// It could not be read to its end.
    pub(crate) unread: bool,
}

impl Query {
    /// Searches all of `files`; the result is in their order.
    pub(crate) fn search_all(&self, files: &[PathBuf]) -> Vec<Hits> {
        let found: Vec<OnceLock<Hits>> = files.iter().map(|_| OnceLock::new()).collect();
        let next = AtomicUsize::new(0);
        let work = || {
            let mut searcher = self.searcher();
            loop {
                let at = next.fetch_add(1, Ordering::Relaxed);
                let (Some(file), Some(found)) = (files.get(at), found.get(at)) else {
                    return;
                };
                _ = found.set(self.search(&mut searcher, file));
            }
        };
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let helpers = cores.min(MAX_THREADS).min(files.len()).saturating_sub(1);
        std::thread::scope(|scope| {
            for _ in 0..helpers {
                scope.spawn(work);
            }
            work();
        });
        let hits = found
            .into_iter()
            .map(|found| found.into_inner().unwrap_or_default());
        hits.collect()
    }

    fn searcher(&self) -> Searcher {
        SearcherBuilder::new()
            .line_terminator(LineTerminator::crlf())
            .line_number(true)
            .before_context(self.context)
            .after_context(self.context)
            .binary_detection(BinaryDetection::quit(0))
            .heap_limit(Some(MAX_LINE))
            .build()
    }

    fn search(&self, searcher: &mut Searcher, file: &Path) -> Hits {
        let mut collector = Collector {
            query: self,
            hits: Hits::default(),
        };
        let done = open_file(file).map_err(io::Error::other).and_then(|file| {
            let reader = Cancellable(file, &self.cancel);
            searcher.search_reader(&self.matcher, reader, &mut collector)
        });
        let mut hits = collector.hits;
        hits.unread = done.is_err();
        hits
    }
}

/// Ends a long search: the searcher itself asks nobody between two matches.
struct Cancellable<'a, R>(R, &'a CancellationToken);

impl<R: Read> Read for Cancellable<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self.1.is_cancelled() {
            true => Err(io::Error::other(ABORTED)),
            false => self.0.read(buffer),
        }
    }
}

struct Collector<'a> {
    query: &'a Query,
    hits: Hits,
}

impl Collector<'_> {
    /// False when there is no room left.
    fn add(&mut self, line: u64, snippet: Snippet) -> bool {
        if self.hits.matches == self.query.limit {
            self.hits.more = true;
            return false;
        }
        self.hits.matches += 1;
        self.hits.rows.push(Row::Match(line, snippet));
        true
    }

    fn add_windows(&mut self, number: u64, line: &[u8]) -> io::Result<bool> {
        let (mut shown, mut room) = (0, true);
        let matcher = &self.query.matcher;
        let done = matcher.find_iter(line, |found| {
            if found.start() < shown {
                return true;
            }
            let (snippet, end) = snippet::window(line, &(found.start()..found.end()));
            shown = end;
            room = self.add(number, snippet);
            room
        });
        done.map_err(io::Error::other)?;
        Ok(room)
    }
}

impl Sink for Collector<'_> {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> io::Result<bool> {
        let number = found.line_number().unwrap_or_default();
        let line = without_ending(found.bytes());
        match snippet::is_long(line) {
            true => self.add_windows(number, line),
            false => Ok(self.add(number, snippet::whole(line))),
        }
    }

    fn context(&mut self, _: &Searcher, context: &SinkContext<'_>) -> io::Result<bool> {
        let number = context.line_number().unwrap_or_default();
        let snippet = snippet::whole(without_ending(context.bytes()));
        self.hits.rows.push(Row::Context(number, snippet));
        Ok(true)
    }

    fn context_break(&mut self, _: &Searcher) -> io::Result<bool> {
        self.hits.rows.push(Row::Gap);
        Ok(true)
    }

    fn binary_data(&mut self, _: &Searcher, _: u64) -> io::Result<bool> {
        self.hits.binary = true;
        Ok(true)
    }
}

fn without_ending(line: &[u8]) -> &[u8] {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    line.strip_suffix(b"\r").unwrap_or(line)
}
