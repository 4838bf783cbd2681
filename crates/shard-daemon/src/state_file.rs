//! State on disk: every file is either as it was or as it is to be, whatever happens meanwhile.

use std::fs::{self, DirBuilder, File};
use std::io::{self, Read, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;

/// How the names of files begin that are being written; one that stays was left by a writer that
/// was killed.
pub(crate) const TEMPORARY: &str = ".new-";

/// Makes a folder, and those above it, for its owner alone.
///
/// # Errors
/// What the system says.
pub(crate) fn make_folder(folder: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

/// Puts `bytes` in the place of the file at `path`, mode 0600, in a folder that is there. Safe on
/// the disk when this returns.
///
/// # Errors
/// What the system says; the file is as it was.
pub(crate) fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("/"));
    let mut file = tempfile::Builder::new()
        .prefix(TEMPORARY)
        .tempfile_in(folder)?;
    file.write_all(bytes)?;
    file.as_file().sync_all()?;
    file.persist(path)?;
    File::open(folder)?.sync_all()
}

/// Reads a file of at most `limit` bytes.
///
/// # Errors
/// What the system says, or that the file is larger.
pub(crate) fn read(path: &Path, limit: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    fs::File::open(path)?
        .take(limit.saturating_add(1))
        .read_to_end(&mut bytes)?;
    if bytes.len() as u64 > limit {
        let error = format!("it is longer than {limit} bytes");
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, error));
    }
    Ok(bytes)
}
