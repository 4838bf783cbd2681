//! Opening what has to be a regular file.

use std::fs::{File, metadata};
use std::io;
use std::path::Path;

/// Opens a regular file for reading, wherever links lead.
///
/// # Errors
/// What the system says. Anything else than a regular file is refused without being opened:
/// opening a pipe waits for somebody at its other end, maybe for good.
pub(crate) fn open_regular(path: &Path) -> io::Result<File> {
    refuse_others(path)?;
    File::open(path)
}

/// Makes sure that what is there is a regular file.
///
/// # Errors
/// What the system says, or that it is something else.
pub(crate) fn refuse_others(path: &Path) -> io::Result<()> {
    if metadata(path)?.is_file() {
        return Ok(());
    }
    let what = "it is no regular file; move it away";
    Err(io::Error::new(io::ErrorKind::InvalidInput, what))
}
