//! The inverted index beside a session: which entries hold which word.
//!
//! ```text
//! magic │ blocks of segment 0 │ blocks of segment 1 │ … │ directory │ where it is, digest, magic
//! ```
//!
//! A segment covers entries that follow on one another, and the segments follow on one another
//! from entry 0. A block holds sorted words, each without what it shares with the one before, and
//! the entries of each as differences. The directory, which is held in memory, has the first word
//! and the digest of each block, so that a look-up reads one block of a segment and nothing that
//! was damaged passes for good. Numbers are little-endian base 128, or 8 bytes where they are fixed.

use std::fs::{File, Metadata};
use std::hash::{DefaultHasher, Hasher};
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;

use super::query::{Fit, is_prefix};
use super::words::{LONGEST, is_compound};
use crate::Reader;
use crate::regular::open_regular;

/// What the file begins and ends with; its last byte is the version of the format.
pub(super) const MAGIC: [u8; 8] = *b"recall\0\x01";

/// Bytes behind the directory: its offset, its length and its digest, and the magic again.
pub(super) const TRAILER: usize = 32;

/// The largest directory that is read, in bytes: that of an index of some gigabytes.
const MAX_DIRECTORY: u64 = 64 << 20;

/// Entries that follow on one another.
#[derive(Debug, Clone)]
pub(super) struct Segment {
    /// The first entry.
    pub(super) first: usize,
    /// How many there are.
    pub(super) count: usize,
    /// The id of the last one.
    pub(super) last_id: String,
    /// Where the row of the last one ends in the session.
    pub(super) session_end: u64,
    /// Where the segment ends in this file.
    pub(super) end: u64,
    pub(super) blocks: Vec<Block>,
}

#[derive(Debug, Clone)]
pub(super) struct Block {
    pub(super) first_word: Box<str>,
    pub(super) offset: u64,
    pub(super) length: usize,
    pub(super) digest: u64,
}

/// An index that fits its session.
#[derive(Debug)]
pub(super) struct Inverted {
    pub(super) file: File,
    pub(super) segments: Vec<Segment>,
    stamp: Stamp,
}

/// Tells one file from another, and from what it was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stamp {
    inode: u64,
    length: u64,
    modified: (i64, i64),
}

impl Stamp {
    fn of(metadata: &Metadata) -> Self {
        Self {
            inode: metadata.ino(),
            length: metadata.len(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
        }
    }
}

/// Of what is read back by this program alone, and made anew where it does not fit.
pub(super) fn digest(bytes: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    hasher.write(bytes);
    hasher.finish()
}

pub(super) fn damaged() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "the index is damaged")
}

impl Inverted {
    /// Opens the index of a session.
    ///
    /// # Errors
    /// When there is none, or it is of another format, damaged, or about something else than what
    /// the session holds.
    pub(super) fn open(path: &Path, reader: &Reader) -> io::Result<Self> {
        let file = open_regular(path)?;
        let stamp = Stamp::of(&file.metadata()?);
        let mut trailer = [0; TRAILER];
        let trailer_at = stamp
            .length
            .checked_sub(TRAILER as u64)
            .ok_or_else(damaged)?;
        file.read_exact_at(&mut trailer, trailer_at)?;
        let mut rest = Bytes(&trailer);
        let (offset, length, expected) = (rest.fixed()?, rest.fixed()?, rest.fixed()?);
        if rest.0 != MAGIC
            || length > MAX_DIRECTORY
            || offset.checked_add(length) != Some(trailer_at)
        {
            return Err(damaged());
        }
        let mut directory = vec![0; usize::try_from(length).map_err(|_| damaged())?];
        file.read_exact_at(&mut directory, offset)?;
        if digest(&directory) != expected {
            return Err(damaged());
        }
        let segments = read_directory(&mut Bytes(&directory))?;
        match fits(&segments, reader) {
            true => Ok(Self {
                file,
                segments,
                stamp,
            }),
            false => Err(damaged()),
        }
    }

    /// Whether the file of this path is another one by now.
    pub(super) fn is_replaced(&self, path: &Path) -> bool {
        let now = std::fs::metadata(path).map(|metadata| Stamp::of(&metadata));
        now.ok() != Some(self.stamp)
    }

    /// How many entries it covers, from 0 on.
    pub(super) fn covered(&self) -> usize {
        let last = self.segments.last();
        last.map_or(0, |last| last.first + last.count)
    }

    /// Calls `each` with the entries that hold the word or, if it is long enough, one that begins
    /// with it.
    ///
    /// # Errors
    /// When a block cannot be read or is damaged.
    pub(super) fn look_up(&self, term: &str, mut each: impl FnMut(usize, Fit)) -> io::Result<()> {
        let mut filed = String::new();
        file_under(term, &mut filed);
        let filed = Filed {
            word: &filed,
            finds_longer: is_prefix(term),
        };
        for segment in &self.segments {
            let blocks = &segment.blocks;
            let start = blocks.partition_point(|block| &*block.first_word <= filed.word);
            let start = start.saturating_sub(1);
            let may_hold = |block: &&Block| {
                &*block.first_word <= filed.word || filed.fit(&block.first_word) != Fit::None
            };
            for block in blocks[start..].iter().take_while(may_hold) {
                let mut bytes = vec![0; block.length];
                self.file.read_exact_at(&mut bytes, block.offset)?;
                if digest(&bytes) != block.digest {
                    return Err(damaged());
                }
                read_block(&bytes, &filed, segment, &mut each)?;
            }
        }
        Ok(())
    }
}

/// What a word is filed under. Compounds stand apart: whoever looks for the beginning of a word
/// need not go through them, since their parts are filed too.
pub(super) fn file_under(word: &str, filed: &mut String) {
    filed.clear();
    if is_compound(word) {
        filed.push('\u{1}');
    }
    filed.push_str(word);
}

/// A word that is looked for, as it is filed.
struct Filed<'a> {
    word: &'a str,
    finds_longer: bool,
}

impl Filed<'_> {
    fn fit(&self, word: &str) -> Fit {
        match word.strip_prefix(self.word) {
            Some("") => Fit::Same,
            Some(_) if self.finds_longer => Fit::Prefix,
            _ => Fit::None,
        }
    }
}

fn fits(segments: &[Segment], reader: &Reader) -> bool {
    let index = reader.index();
    let mut next = 0;
    segments.iter().all(|segment| {
        let follows = segment.first == next && segment.count > 0;
        next = segment.first.saturating_add(segment.count);
        let last = next.checked_sub(1).and_then(|last| {
            let row = &index.rows()[*index.said().get(last)? as usize];
            Some((row.key.id()?, row.offset + u64::from(row.length)))
        });
        follows
            && last.is_some_and(|(id, end)| {
                id.as_str() == segment.last_id && end == segment.session_end
            })
    })
}

fn read_block(
    bytes: &[u8],
    term: &Filed<'_>,
    segment: &Segment,
    each: &mut impl FnMut(usize, Fit),
) -> io::Result<()> {
    let mut rest = Bytes(bytes);
    let mut word = Vec::with_capacity(LONGEST);
    while !rest.0.is_empty() {
        let shared = rest.number()?;
        if shared > word.len() {
            return Err(damaged());
        }
        word.truncate(shared);
        word.extend(rest.part()?);
        let mut entries = Bytes(rest.part()?);
        let fit = term.fit(std::str::from_utf8(&word).map_err(|_| damaged())?);
        if fit == Fit::None {
            continue;
        }
        let mut at = 0_usize;
        while !entries.0.is_empty() {
            at = at.checked_add(entries.number()?).ok_or_else(damaged)?;
            if at >= segment.count {
                return Err(damaged());
            }
            each(segment.first + at, fit);
        }
    }
    Ok(())
}

fn read_directory(rest: &mut Bytes<'_>) -> io::Result<Vec<Segment>> {
    let mut segments = Vec::new();
    while !rest.0.is_empty() {
        let (first, count) = (rest.number()?, rest.number()?);
        let last_id = rest.text()?.to_owned();
        let (session_end, end) = (rest.fixed()?, rest.fixed()?);
        let mut blocks = Vec::new();
        for _ in 0..rest.number()? {
            blocks.push(Block {
                first_word: rest.text()?.into(),
                offset: rest.fixed()?,
                length: rest.number()?,
                digest: rest.fixed()?,
            });
        }
        segments.push(Segment {
            first,
            count,
            last_id,
            session_end,
            end,
            blocks,
        });
    }
    Ok(segments)
}

pub(super) fn write_directory(segments: &[Segment]) -> Vec<u8> {
    let mut out = Vec::new();
    for segment in segments {
        put_number(&mut out, segment.first);
        put_number(&mut out, segment.count);
        put_part(&mut out, segment.last_id.as_bytes());
        out.extend(segment.session_end.to_le_bytes());
        out.extend(segment.end.to_le_bytes());
        put_number(&mut out, segment.blocks.len());
        for block in &segment.blocks {
            put_part(&mut out, block.first_word.as_bytes());
            out.extend(block.offset.to_le_bytes());
            put_number(&mut out, block.length);
            out.extend(block.digest.to_le_bytes());
        }
    }
    out
}

pub(super) fn put_number(out: &mut Vec<u8>, mut number: usize) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

/// Bytes with their length before them.
pub(super) fn put_part(out: &mut Vec<u8>, bytes: &[u8]) {
    put_number(out, bytes.len());
    out.extend(bytes);
}

/// Takes values from the front of bytes that anybody may have written.
struct Bytes<'a>(&'a [u8]);

impl<'a> Bytes<'a> {
    fn number(&mut self) -> io::Result<usize> {
        let (mut number, mut shift) = (0_usize, 0);
        loop {
            let (&byte, rest) = self.0.split_first().ok_or_else(damaged)?;
            self.0 = rest;
            let low = usize::from(byte & 0x7f);
            let part = low.checked_shl(shift).filter(|part| part >> shift == low);
            number |= part.ok_or_else(damaged)?;
            if byte < 0x80 {
                return Ok(number);
            }
            shift += 7;
        }
    }

    fn fixed(&mut self) -> io::Result<u64> {
        let (number, rest) = self.0.split_first_chunk().ok_or_else(damaged)?;
        self.0 = rest;
        Ok(u64::from_le_bytes(*number))
    }

    fn part(&mut self) -> io::Result<&'a [u8]> {
        let length = self.number()?;
        let (part, rest) = self.0.split_at_checked(length).ok_or_else(damaged)?;
        self.0 = rest;
        Ok(part)
    }

    fn text(&mut self) -> io::Result<&'a str> {
        std::str::from_utf8(self.part()?).map_err(|_| damaged())
    }
}
