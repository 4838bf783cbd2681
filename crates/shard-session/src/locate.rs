//! Finding a session among the stored ones.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use shard_types::SessionId;

use crate::{Header, SessionError};

/// A stored session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionRef {
    /// Its file.
    pub path: PathBuf,
    /// Its header.
    pub header: Header,
}

/// The session with this id, among those of `folder` and its forks.
///
/// # Errors
/// [`SessionError::NotFound`].
pub fn by_id(folder: &Path, id: &SessionId) -> Result<PathBuf, SessionError> {
    let name = format!("{id}.jsonl");
    let places = [folder.join(&name), folder.join("forks").join(&name)];
    places
        .into_iter()
        .find(|path| path.is_file())
        .ok_or_else(|| SessionError::NotFound(id.clone()))
}

/// The session of `cwd` that was written to last, forks included. Files without a good header are
/// passed over.
///
/// # Errors
/// [`SessionError::NoneToContinue`].
pub fn latest(folder: &Path, cwd: &Path) -> Result<SessionRef, SessionError> {
    let mut files = files(folder);
    files.extend(self::files(&folder.join("forks")));
    files.sort_unstable_by_key(|file| std::cmp::Reverse(file.0));
    let mut found = files.into_iter().filter_map(|(_, path)| {
        let header = header(&path)?;
        (Path::new(&header.cwd) == cwd).then_some(SessionRef { path, header })
    });
    found
        .next()
        .ok_or_else(|| SessionError::NoneToContinue(cwd.to_owned()))
}

fn files(folder: &Path) -> Vec<(SystemTime, PathBuf)> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let sessions =
        entries.filter(|entry| entry.path().extension().is_some_and(|ext| ext == "jsonl"));
    sessions
        .filter_map(|entry| Some((entry.metadata().ok()?.modified().ok()?, entry.path())))
        .collect()
}

/// Longest header line that is looked at, in bytes.
const HEADER_BYTES: u64 = 64 * 1024;

fn header(path: &Path) -> Option<Header> {
    let mut line = Vec::new();
    let file = File::open(path).ok()?;
    BufReader::new(file.take(HEADER_BYTES))
        .read_until(b'\n', &mut line)
        .ok()?;
    Header::read(&line).ok()
}
