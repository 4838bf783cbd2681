//! A whole file in memory, with what must be kept when it is written back.

use std::fs::Metadata;
use std::io::Read as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use super::regular_file::{OpenError, open_file};

/// The largest file that is held in memory. Sources are far below; an edit of a larger one is
/// work for a command.
pub(crate) const MAX_BYTES: usize = 32 << 20;

/// The byte order mark of UTF-8.
pub(crate) const BOM: &[u8] = b"\xEF\xBB\xBF";

/// Whether a file starts with a byte order mark of UTF-16.
pub(crate) fn is_utf16(bytes: &[u8]) -> bool {
    bytes.starts_with(b"\xff\xfe") || bytes.starts_with(b"\xfe\xff")
}

/// A file as it stood at one moment.
#[derive(Debug)]
pub(crate) struct Snapshot {
    /// All of it.
    pub(crate) bytes: Vec<u8>,
    /// Which file that was.
    pub(crate) identity: Identity,
}

/// Tells whether a file is still the one that was looked at, and carries what a new version of it
/// keeps.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Identity {
    pub(crate) device: u64,
    pub(crate) inode: u64,
    pub(crate) size: u64,
    /// Set by the kernel at every change; nobody can set it back.
    pub(crate) changed: (i64, i64),
    pub(crate) mode: u32,
    pub(crate) owner: (u32, u32),
}

impl From<&Metadata> for Identity {
    fn from(metadata: &Metadata) -> Self {
        Self {
            device: metadata.dev(),
            inode: metadata.ino(),
            size: metadata.size(),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
            mode: metadata.mode(),
            owner: (metadata.uid(), metadata.gid()),
        }
    }
}

/// Reads a whole file.
pub(crate) fn read_whole(real: &Path) -> Result<Snapshot, OpenError> {
    let file = open_file(real)?;
    let identity = Identity::from(&file.metadata()?);
    let mut bytes = Vec::new();
    // The size is no promise: a file may grow, and those that a kernel makes up say anything.
    file.take(MAX_BYTES as u64 + 1).read_to_end(&mut bytes)?;
    if bytes.len() > MAX_BYTES {
        return Err(OpenError::TooLarge(MAX_BYTES >> 20));
    }
    Ok(Snapshot { bytes, identity })
}

/// The byte order mark, where there is one, and the rest.
pub(crate) fn split_bom(bytes: &[u8]) -> (&[u8], &[u8]) {
    match bytes.strip_prefix(BOM) {
        Some(rest) => (BOM, rest),
        None => (&[], bytes),
    }
}

/// How many lines there are; a last one without an ending counts.
pub(crate) fn count_lines(bytes: &[u8]) -> u64 {
    let endings = memchr::memchr_iter(b'\n', bytes).count();
    let open = bytes.last().is_some_and(|byte| *byte != b'\n');
    (endings + usize::from(open)) as u64
}

/// The number of the line that holds the byte at `offset`, from 1.
pub(crate) fn line_at(bytes: &[u8], offset: usize) -> u64 {
    memchr::memchr_iter(b'\n', &bytes[..offset]).count() as u64 + 1
}

/// How the lines of a file end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LineEndings {
    /// All with LF, or there is none.
    Lf,
    /// All with CRLF.
    Crlf,
    /// Both occur.
    Mixed,
}

impl LineEndings {
    /// Counts them.
    pub(crate) fn of(bytes: &[u8]) -> Self {
        let all = memchr::memchr_iter(b'\n', bytes).count() as u64;
        let crlf = memchr::memmem::find_iter(bytes, b"\r\n").count() as u64;
        Self::from_counts(all, crlf)
    }

    /// From the number of line endings, and how many of them are CRLF.
    pub(crate) fn from_counts(all: u64, crlf: u64) -> Self {
        match crlf {
            0 => Self::Lf,
            _ if crlf == all => Self::Crlf,
            _ => Self::Mixed,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_counted_as_an_editor_does() {
        let check = |text: &str, want| assert_eq!(count_lines(text.as_bytes()), want, "{text:?}");
        check("", 0);
        check("a", 1);
        check("a\n", 1);
        check("a\n\n", 2);
        check("a\r\nb", 2);
        assert_eq!(line_at(b"a\nb\nc", 2), 2);
    }

    #[test]
    fn line_endings_are_told_apart() {
        let check =
            |text: &str, want| assert_eq!(LineEndings::of(text.as_bytes()), want, "{text:?}");
        check("", LineEndings::Lf);
        check("a\nb\n", LineEndings::Lf);
        check("a\r\nb\r\n", LineEndings::Crlf);
        check("a\r\nb\n", LineEndings::Mixed);
    }
}
