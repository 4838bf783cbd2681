//! The lines of a text that are shown, and what a model should know of the rest.

use std::io::Read;
use std::ops::Range;

use shard_contracts::ToolOutput;
use shard_types::RenderDescriptor;

use super::super::file_kind;
use super::super::line_scan::{LineScan, ScannedLine};
use super::super::text_file::{BOM, LineEndings, MAX_BYTES};
use super::super::visible;
use super::Arguments;

/// Lines shown unless the call says otherwise.
const LINES: u64 = 2000;
/// Characters shown of one line.
const LINE_CHARS: usize = 2000;
/// Bytes of an output that are kept for the notes at its end.
const NOTES: usize = 600;

/// What is shown, and what was learned about the rest.
pub(super) struct Page {
    first: u64,
    limit: u64,
    budget: usize,
    numbered: String,
    plain: String,
    shown: u64,
    full: bool,
    lines: u64,
    pub(super) complete: bool,
    bom: bool,
    invalid: bool,
    controls: bool,
    closed: u64,
    crlf: u64,
    /// The text is not what the file holds, but was made of it.
    derived: bool,
    more_notes: Vec<String>,
}

impl Page {
    /// An empty page for what was asked for, of at most `max` bytes.
    pub(super) fn new(arguments: &Arguments, max: usize) -> Self {
        Self {
            first: arguments.offset.unwrap_or(1).max(1),
            limit: arguments.limit.unwrap_or(LINES).max(1),
            budget: max.saturating_sub(NOTES).max(max / 2),
            numbered: String::new(),
            plain: String::new(),
            shown: 0,
            full: false,
            lines: 0,
            complete: false,
            bom: false,
            invalid: false,
            controls: false,
            closed: 0,
            crlf: 0,
            derived: false,
            more_notes: Vec::new(),
        }
    }

    /// The same for a text that was made of what the file holds: how that was encoded is no matter
    /// of these lines, and more notes follow.
    pub(super) fn derived(arguments: &Arguments, max: usize) -> Self {
        Self {
            derived: true,
            ..Self::new(arguments, max.saturating_sub(NOTES).max(max / 2))
        }
    }

    /// The same with more to say at its end.
    pub(super) fn with_notes(mut self, notes: Vec<String>) -> Self {
        self.more_notes.extend(notes);
        self
    }

    /// The numbers of the lines that are shown.
    pub(super) fn lines_shown(&self) -> Range<u64> {
        self.first..self.first + self.shown
    }

    /// Takes the lines that are wanted, and counts the others.
    pub(super) fn fill(mut self, scan: &mut LineScan<impl Read>) -> std::io::Result<Self> {
        if scan.peek()?.starts_with(BOM) {
            self.bom = true;
            scan.skip(BOM.len())?;
        }
        while !self.full {
            let keep = match self.lines + 1 < self.first {
                true => 0,
                false => LINE_CHARS * 4,
            };
            let Some(line) = scan.next(keep)? else {
                self.complete = true;
                return Ok(self);
            };
            self.lines += 1;
            self.closed += u64::from(line.closed);
            self.crlf += u64::from(line.crlf);
            if keep > 0 {
                self.add(&line);
            }
        }
        if let Some(rest) = scan.rest(MAX_BYTES as u64)? {
            self.complete = true;
            self.lines += rest.lines;
            self.closed += rest.closed;
            self.crlf += rest.crlf;
        }
        Ok(self)
    }

    fn add(&mut self, line: &ScannedLine) {
        let raw = String::from_utf8_lossy(&line.start);
        let cut = raw
            .char_indices()
            .nth(LINE_CHARS)
            .map_or(raw.len(), |(at, _)| at);
        let shown = visible::controls(&raw[..cut]);
        // Up to the first invalid byte both texts are the same.
        let valid =
            std::str::from_utf8(&line.start).map_or_else(|error| error.valid_up_to(), str::len);
        self.invalid |= valid < cut;
        self.controls |= shown != raw[..cut];
        let mut row = format!("{:>6}\t{shown}", self.lines);
        if cut < raw.len() || line.length > line.start.len() as u64 {
            row += &format!(" [line cut: {} bytes in all]", line.length);
        }
        let room = self.budget.saturating_sub(self.numbered.len() + 1);
        // The first line is shown whatever it takes: a page must lead on.
        if row.len() > room && self.shown > 0 {
            self.full = true;
            return;
        }
        self.numbered += visible::head(&row, room);
        self.numbered.push('\n');
        self.plain += visible::head(&shown, room);
        self.plain.push('\n');
        self.shown += 1;
        self.full = self.shown == self.limit;
    }

    /// The page with its notes.
    pub(super) fn output(mut self, given: &str) -> Result<ToolOutput, String> {
        let name = visible::line(given).into_owned();
        if self.lines == 0 {
            return Ok(ToolOutput::text(format!("{name} is empty")));
        }
        if self.shown == 0 {
            let lines = visible::count(self.lines, "line");
            return Err(format!(
                "{name} has {lines}; offset {} is past its end",
                self.first
            ));
        }
        for note in self.notes() {
            self.numbered += &format!("[{note}]\n");
        }
        let code = RenderDescriptor::Code {
            path: Some(given.to_owned()),
            lang: file_kind::language(given),
            text: self.plain,
        };
        Ok(ToolOutput::text(self.numbered).with_render(code))
    }

    fn notes(&self) -> Vec<String> {
        let mut notes = self.more_notes.clone();
        let own = !self.derived;
        if own && self.bom {
            notes.push(
                "the file starts with a byte order mark, which stays when it is edited".to_owned(),
            );
        }
        if own && self.invalid {
            notes.push(
                "bytes that are not UTF-8 are shown as � and stay when the file is edited"
                    .to_owned(),
            );
        }
        if self.controls {
            notes.push("control characters are shown as symbols such as ␛".to_owned());
        }
        match LineEndings::from_counts(self.closed, self.crlf) {
            LineEndings::Crlf if own => {
                notes.push("lines end with CRLF; edit keeps that".to_owned());
            }
            LineEndings::Mixed if own => {
                notes.push("some lines end with CRLF; edit keeps that".to_owned());
            }
            _ => {}
        }
        notes.extend(self.continuation());
        notes
    }

    fn continuation(&self) -> Option<String> {
        let next = self.first + self.shown;
        let shown = format!("lines {}-{}", self.first, next - 1);
        let more = format!("continue with offset {next}");
        match self.complete {
            true if next > self.lines => None,
            true => Some(format!("{shown} of {}; {more}", self.lines)),
            false => Some(format!("{shown}; the file goes on; {more}")),
        }
    }
}
