//! Finding a session among the stored ones.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use shard_types::SessionId;

use crate::{Header, SessionError, Summary, summarize};

/// The folder beside sessions that their forks are in.
pub const FORKS: &str = "forks";

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
    let places = [folder.join(&name), folder.join(FORKS).join(&name)];
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
    files.extend(self::files(&folder.join(FORKS)));
    files.sort_unstable_by_key(|file| std::cmp::Reverse(file.0));
    let mut found = files.into_iter().filter_map(|(_, path)| {
        let header = Header::of_file(&path).ok()?;
        (Path::new(&header.cwd) == cwd).then_some(SessionRef { path, header })
    });
    found
        .next()
        .ok_or_else(|| SessionError::NoneToContinue(cwd.to_owned()))
}

/// A session and its forks, those of forks too, newest first. `path` is the session's file; forks
/// that cannot be read are passed over.
///
/// # Errors
/// When the session itself cannot be read.
pub fn family(path: &Path) -> Result<Vec<Summary>, SessionError> {
    let first = summarize(path)?;
    let forks = files(&forks_folder(path));
    let mut others: Vec<_> = forks
        .into_iter()
        .filter_map(|(_, path)| {
            let (header, source) = Header::with_source_of_file(&path).ok()?;
            Some((header.session_id, source?.session_id, path))
        })
        .collect();
    let mut ids = HashSet::from([first.header.session_id.clone()]);
    let mut found = vec![first];
    // A fork may have been read before the one that it was split off from.
    loop {
        let before = others.len();
        others.retain(|(id, source, path)| {
            let related = ids.contains(source);
            if related && ids.insert(id.clone()) {
                found.extend(summarize(path).ok());
            }
            !related
        });
        if others.len() == before {
            break;
        }
    }
    found.sort_by(|a, b| {
        (b.updated_at, &b.header.session_id).cmp(&(a.updated_at, &a.header.session_id))
    });
    Ok(found)
}

/// Where the forks of a session are: beside it in `forks/`, those of a fork beside that.
pub(crate) fn forks_folder(path: &Path) -> PathBuf {
    let folder = path.parent().unwrap_or(Path::new("."));
    match folder.ends_with(FORKS) {
        true => folder.to_owned(),
        false => folder.join(FORKS),
    }
}

/// Where the session is that a fork was split off from; none if it is not there any more.
pub(crate) fn source_of(fork: &Path, id: &SessionId) -> Option<PathBuf> {
    let forks = fork.parent()?;
    let folders = [Some(forks), forks.parent()].into_iter().flatten();
    let mut paths = folders.map(|folder| folder.join(format!("{id}.jsonl")));
    paths.find(|path| path.is_file())
}

pub(crate) fn files(folder: &Path) -> Vec<(SystemTime, PathBuf)> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let sessions =
        entries.filter(|entry| entry.path().extension().is_some_and(|ext| ext == "jsonl"));
    sessions
        .filter_map(|entry| Some((entry.metadata().ok()?.modified().ok()?, entry.path())))
        .collect()
}
