//! The lines of a file, one after the other, without a copy of each.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

/// How much is read at a time.
const CHUNK: usize = 256 << 10;

/// Longest line that is looked at, in bytes. No row that is written comes near it; a longer one is
/// no row, and must not fill the memory of whoever opens the file.
const MAX_LINE: usize = 256 << 20;

/// One line of a file.
#[derive(Debug)]
pub(crate) struct Line<'a> {
    /// Its number, counted from where reading began, from 1.
    pub(crate) number: u64,
    /// Where it starts in the file.
    pub(crate) offset: u64,
    /// Without its newline. Empty for a line that is too long.
    pub(crate) bytes: &'a [u8],
    /// It is longer than any row can be.
    pub(crate) too_long: bool,
    /// It has a newline at its end.
    pub(crate) ended: bool,
    /// Where the next one starts.
    pub(crate) end: u64,
}

impl Line<'_> {
    /// Nothing stands on it.
    pub(crate) fn is_blank(&self) -> bool {
        !self.too_long && self.bytes.iter().all(u8::is_ascii_whitespace)
    }
}

/// Reads lines by their place in the file: several readers do not disturb one another, and the
/// writer's own descriptor will do.
#[derive(Debug)]
pub(crate) struct Lines<'a> {
    file: &'a File,
    buffer: Vec<u8>,
    /// What of the buffer was read from the file and not yet given out.
    held: std::ops::Range<usize>,
    /// Where the held part starts in the file.
    offset: u64,
    number: u64,
    longest: usize,
}

impl<'a> Lines<'a> {
    /// The lines from an offset on, which must be the start of one.
    pub(crate) fn from(file: &'a File, offset: u64) -> Self {
        Self {
            file,
            buffer: vec![0; CHUNK],
            held: 0..0,
            offset,
            number: 0,
            longest: MAX_LINE,
        }
    }

    /// The next line; none at the end of the file.
    pub(crate) fn next(&mut self) -> io::Result<Option<Line<'_>>> {
        let start = self.offset;
        let (mut searched, mut too_long) = (0, false);
        loop {
            let held = &self.buffer[self.held.clone()];
            let found = memchr::memchr(b'\n', &held[searched..]);
            if let Some(at) = found {
                return Ok(Some(self.give(start, searched + at, true, too_long)));
            }
            searched = held.len();
            if searched > self.longest {
                too_long = true;
                self.offset += searched as u64;
                self.held = 0..0;
                searched = 0;
            }
            if self.fill()? == 0 {
                return match searched > 0 || too_long {
                    true => Ok(Some(self.give(start, searched, false, too_long))),
                    false => Ok(None),
                };
            }
        }
    }

    fn give(&mut self, offset: u64, length: usize, ended: bool, too_long: bool) -> Line<'_> {
        let taken = self.held.start;
        self.held.start += length + usize::from(ended);
        self.offset += (length + usize::from(ended)) as u64;
        self.number += 1;
        let bytes = match too_long {
            true => &[],
            false => &self.buffer[taken..taken + length],
        };
        Line {
            number: self.number,
            offset,
            bytes,
            too_long,
            ended,
            end: self.offset,
        }
    }

    /// Reads on behind what is held; 0 at the end of the file.
    fn fill(&mut self) -> io::Result<usize> {
        self.buffer.copy_within(self.held.clone(), 0);
        self.held = 0..self.held.len();
        if self.held.end == self.buffer.len() {
            self.buffer.resize(self.buffer.len() * 2, 0);
        }
        let at = self.offset + self.held.end as u64;
        loop {
            match self.file.read_at(&mut self.buffer[self.held.end..], at) {
                Ok(read) => {
                    self.held.end += read;
                    return Ok(read);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn lines_have_their_place_and_their_number() {
        let mut file = tempfile::tempfile().unwrap();
        let long = "x".repeat(3 * CHUNK);
        write!(file, "a\n\n{long}\nend").unwrap();
        let mut lines = Lines::from(&file, 0);
        let mut seen = Vec::new();
        while let Some(line) = lines.next().unwrap() {
            seen.push((line.number, line.offset, line.bytes.len(), line.ended));
        }
        let end = 4 + long.len() as u64;
        let want = [
            (1, 0, 1, true),
            (2, 2, 0, true),
            (3, 3, long.len(), true),
            (4, end, 3, false),
        ];
        assert_eq!(seen, want);
        let mut rest = Lines::from(&file, end);
        assert_eq!(rest.next().unwrap().unwrap().bytes, b"end");
    }

    #[test]
    fn a_line_without_an_end_in_sight_is_passed_over() {
        let mut file = tempfile::tempfile().unwrap();
        let long = "x".repeat(5 * CHUNK);
        write!(file, "a\n{long}\nb\n{long}").unwrap();
        let mut lines = Lines::from(&file, 0);
        lines.longest = CHUNK;
        let mut seen = Vec::new();
        while let Some(line) = lines.next().unwrap() {
            seen.push((line.offset, line.bytes.to_vec(), line.too_long, line.ended));
        }
        let after = 2 + long.len() as u64 + 1;
        let want = [
            (0, b"a".to_vec(), false, true),
            (2, vec![], true, true),
            (after, b"b".to_vec(), false, true),
            (after + 2, vec![], true, false),
        ];
        assert_eq!(seen, want);
        assert!(lines.buffer.len() <= 4 * CHUNK);
    }
}
