//! Line after line of a file, with memory for one line only.

use std::io::{self, BufRead, BufReader, Read};

use tokio_util::sync::CancellationToken;

use super::job::ABORTED;
use super::read_log::{Fingerprint, Fingerprinter};

/// Read at once.
const CHUNK: usize = 64 << 10;

/// One line, or the start of it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct ScannedLine {
    /// Its first bytes, as many as were asked for, without its ending.
    pub(crate) start: Vec<u8>,
    /// How many bytes it has.
    pub(crate) length: u64,
    /// It ends with a line feed.
    pub(crate) closed: bool,
    /// It ends with CRLF.
    pub(crate) crlf: bool,
}

/// What was counted of lines that nobody looks at.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Rest {
    /// All of them.
    pub(crate) lines: u64,
    /// Those that end with a line feed.
    pub(crate) closed: u64,
    /// Those that end with CRLF.
    pub(crate) crlf: u64,
}

/// Reads lines and fingerprints everything that passes.
pub(crate) struct LineScan<R> {
    reader: BufReader<R>,
    print: Fingerprinter,
    cancel: CancellationToken,
}

impl<R: Read> LineScan<R> {
    /// A scan from the reader's position.
    pub(crate) fn new(reader: R, cancel: CancellationToken) -> Self {
        Self {
            reader: BufReader::with_capacity(CHUNK, reader),
            print: Fingerprinter::default(),
            cancel,
        }
    }

    /// What comes next, up to one chunk, left in place.
    pub(crate) fn peek(&mut self) -> io::Result<&[u8]> {
        self.reader.fill_buf()
    }

    /// Drops bytes that were peeked at.
    pub(crate) fn skip(&mut self, bytes: usize) -> io::Result<()> {
        let passing = self.reader.fill_buf()?;
        self.print.add(&passing[..bytes]);
        self.reader.consume(bytes);
        Ok(())
    }

    /// The next line with at most `keep` bytes of it.
    pub(crate) fn next(&mut self, keep: usize) -> io::Result<Option<ScannedLine>> {
        let mut start = Vec::new();
        let (mut length, mut last) = (0_u64, None);
        loop {
            if self.cancel.is_cancelled() {
                return Err(io::Error::other(ABORTED));
            }
            let buffer = self.reader.fill_buf()?;
            if buffer.is_empty() {
                let line = ScannedLine {
                    start,
                    length,
                    closed: false,
                    crlf: false,
                };
                return Ok((length > 0).then_some(line));
            }
            let ending = memchr::memchr(b'\n', buffer);
            let piece = &buffer[..ending.unwrap_or(buffer.len())];
            let room = (keep + 1).saturating_sub(start.len()).min(piece.len());
            start.extend_from_slice(&piece[..room]);
            length += piece.len() as u64;
            last = piece.last().copied().or(last);
            let used = piece.len() + usize::from(ending.is_some());
            self.print.add(&buffer[..used]);
            self.reader.consume(used);
            if ending.is_some() {
                return Ok(Some(closed(start, length, last == Some(b'\r'), keep)));
            }
        }
    }

    /// Counts the lines that are left. `None` when more than `max` bytes have passed by then.
    pub(crate) fn rest(&mut self, max: u64) -> io::Result<Option<Rest>> {
        let mut rest = Rest::default();
        let mut last = b'\n';
        while self.print.bytes() <= max {
            if self.cancel.is_cancelled() {
                return Err(io::Error::other(ABORTED));
            }
            let chunk = self.reader.fill_buf()?;
            let Some(end) = chunk.last().copied() else {
                rest.lines = rest.closed + u64::from(last != b'\n');
                return Ok(Some(rest));
            };
            rest.closed += memchr::memchr_iter(b'\n', chunk).count() as u64;
            rest.crlf += memchr::memmem::find_iter(chunk, b"\r\n").count() as u64;
            rest.crlf += u64::from(last == b'\r' && chunk.starts_with(b"\n"));
            last = end;
            let used = chunk.len();
            self.print.add(chunk);
            self.reader.consume(used);
        }
        Ok(None)
    }

    /// Everything that is left; `None` when that is more than `max` bytes.
    pub(crate) fn whole(&mut self, max: usize) -> io::Result<Option<Vec<u8>>> {
        let mut whole = Vec::new();
        loop {
            if self.cancel.is_cancelled() {
                return Err(io::Error::other(ABORTED));
            }
            let chunk = self.reader.fill_buf()?;
            if whole.len() + chunk.len() > max {
                return Ok(None);
            }
            if chunk.is_empty() {
                return Ok(Some(whole));
            }
            whole.extend_from_slice(chunk);
            let used = chunk.len();
            self.print.add(chunk);
            self.reader.consume(used);
        }
    }

    /// The fingerprint of what has passed.
    pub(crate) fn fingerprint(&self) -> Fingerprint {
        self.print.finish()
    }
}

/// One byte more than asked for was kept, since the last one may belong to the ending.
fn closed(mut start: Vec<u8>, length: u64, crlf: bool, keep: usize) -> ScannedLine {
    let length = length - u64::from(crlf);
    let kept = usize::try_from(length).unwrap_or(usize::MAX).min(keep);
    start.truncate(kept);
    ScannedLine {
        start,
        length,
        closed: true,
        crlf,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scan(text: &[u8], keep: usize) -> Vec<(String, u64, bool, bool)> {
        let mut scan = LineScan::new(text, CancellationToken::new());
        let mut lines = Vec::new();
        while let Some(line) = scan.next(keep).unwrap() {
            let start = String::from_utf8(line.start).unwrap();
            lines.push((start, line.length, line.closed, line.crlf));
        }
        assert_eq!(scan.fingerprint(), Fingerprint::of(text));
        lines
    }

    #[test]
    fn lines_come_without_their_endings() {
        let line = |text: &str, length, closed, crlf| (text.to_owned(), length, closed, crlf);
        assert_eq!(scan(b"", 10), []);
        let want = [
            line("a", 1, true, true),
            line("", 0, true, false),
            line("b\r", 2, false, false),
        ];
        assert_eq!(scan(b"a\r\n\nb\r", 10), want);
        assert_eq!(scan(b"abc\r\n", 3), [line("abc", 3, true, true)]);
        assert_eq!(scan(b"abcdef\n", 3), [line("abc", 6, true, false)]);
    }

    #[test]
    fn the_rest_is_counted() {
        let rest = |text: &[u8], chunk: usize, max: u64| {
            let mut scan = LineScan::new(text, CancellationToken::new());
            scan.reader = BufReader::with_capacity(chunk, text);
            scan.rest(max).unwrap()
        };
        let want = |lines, closed, crlf| {
            Some(Rest {
                lines,
                closed,
                crlf,
            })
        };
        for chunk in 1..8 {
            assert_eq!(rest(b"a\r\nb\n\r\nc", chunk, 100), want(4, 3, 2), "{chunk}");
            assert_eq!(rest(b"a\n", chunk, 100), want(1, 1, 0), "{chunk}");
            assert_eq!(rest(b"", chunk, 100), want(0, 0, 0), "{chunk}");
            assert_eq!(rest(b"0123456789", chunk, 1), None, "{chunk}");
        }
    }

    #[test]
    fn a_whole_file_is_taken_up_to_a_bound() {
        let whole = |text: &[u8], max| {
            let mut scan = LineScan::new(text, CancellationToken::new());
            scan.reader = BufReader::with_capacity(2, text);
            let whole = scan.whole(max).unwrap()?;
            assert_eq!(scan.fingerprint(), Fingerprint::of(text));
            Some(whole)
        };
        assert_eq!(whole(b"12345", 5).unwrap(), b"12345");
        assert_eq!(whole(b"12345", 4), None);
        assert_eq!(whole(b"", 0).unwrap(), b"");
    }

    #[test]
    fn a_huge_line_costs_what_is_kept_of_it() {
        let reader = io::repeat(b'x').take(5 << 20);
        let mut scan = LineScan::new(reader, CancellationToken::new());
        let line = scan.next(10).unwrap().unwrap();
        assert_eq!((line.length, line.start.len()), (5 << 20, 11));
        assert!(line.start.capacity() < 100);
    }

    #[test]
    fn an_abort_ends_the_scan() {
        let cancel = CancellationToken::new();
        cancel.cancel();
        let mut scan = LineScan::new(io::repeat(b'x'), cancel);
        assert_eq!(scan.next(10).unwrap_err().to_string(), ABORTED);
    }
}
