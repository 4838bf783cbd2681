//! `fs.complete`: names of files, for people who type them.

use std::path::{Component, Path, PathBuf};

use shard_protocol::{ErrorBody, FsComplete, PathCompletions};
use shard_types::{ErrorCode, ListedPath, PathKind};

use super::aside;
use crate::client::{Outcome, data, refuse};
use crate::daemon::Daemon;

/// How many names are given when nobody says how many.
const USUAL: usize = 50;
/// How many names are given at most.
const MOST: usize = 200;
/// How many names of one folder are looked at.
const LOOKED_AT: usize = 20_000;

/// Names that begin as `prefix` does: inside an agent's folder, or folders anywhere.
pub(super) async fn complete(daemon: &Daemon, query: FsComplete) -> Outcome {
    let limit = query.limit.map_or(USUAL, |limit| limit as usize).min(MOST);
    let place = match &query.agent_id {
        Some(id) => Place::Inside(daemon.registry.find(id)?.manifest().cwd),
        None => {
            let home = daemon.shared.settings.home.clone();
            let home = home.unwrap_or_else(|| "/".into());
            let start = start(query.cwd.as_deref(), &home)?;
            Place::Anywhere { start, home }
        }
    };
    let prefix = query.prefix;
    let paths = aside(move || look(&place, &prefix, limit)).await?;
    data(PathCompletions { paths })
}

/// Where names are looked for.
enum Place {
    /// Everything below this folder, and nothing else.
    Inside(PathBuf),
    /// Folders.
    Anywhere {
        /// Where a relative prefix starts.
        start: PathBuf,
        /// What `~` stands for.
        home: PathBuf,
    },
}

fn start(cwd: Option<&str>, home: &Path) -> Result<PathBuf, ErrorBody> {
    match cwd {
        Some(cwd) if Path::new(cwd).is_absolute() => Ok(cwd.into()),
        Some(_) => Err(refuse(
            ErrorCode::InvalidRequest,
            "`cwd`: not an absolute path",
        )),
        None => Ok(home.to_owned()),
    }
}

fn look(place: &Place, prefix: &str, limit: usize) -> Result<Vec<ListedPath>, ErrorBody> {
    // What stands before the last slash is the folder, the rest is the beginning of a name.
    let (folder, name) = match prefix.rfind('/') {
        Some(at) => prefix.split_at(at + 1),
        None => ("", prefix),
    };
    let (real, files_too) = match place {
        Place::Inside(cwd) => (inside(cwd, folder)?, true),
        Place::Anywhere { start, home } => match folder.strip_prefix("~/") {
            Some(rest) => (home.join(rest), false),
            None => (start.join(folder), false),
        },
    };
    let entries = std::fs::read_dir(&real).into_iter().flatten().flatten();
    let mut found: Vec<ListedPath> = entries
        .take(LOOKED_AT)
        .filter_map(|entry| {
            let entry_name = entry.file_name().into_string().ok()?;
            let hidden = entry_name.starts_with('.') && !name.starts_with('.');
            if hidden || !entry_name.starts_with(name) {
                return None;
            }
            let is_folder = std::fs::metadata(entry.path()).is_ok_and(|it| it.is_dir());
            (is_folder || files_too).then(|| ListedPath {
                path: format!("{folder}{entry_name}"),
                kind: if is_folder {
                    PathKind::Dir
                } else {
                    PathKind::File
                },
                hint: None,
            })
        })
        .collect();
    found.sort_by(|a, b| a.path.cmp(&b.path));
    found.truncate(limit);
    Ok(found)
}

/// A folder of the workspace, however it is written.
fn inside(cwd: &Path, folder: &str) -> Result<PathBuf, ErrorBody> {
    let outside = || {
        let message = "`prefix`: only names inside the agent's folder are completed";
        refuse(ErrorCode::PermissionDenied, message)
    };
    let plain = Path::new(folder)
        .components()
        .all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
    if !plain {
        return Err(outside());
    }
    match cwd.join(folder).canonicalize() {
        Ok(real) if real.starts_with(cwd) => Ok(real),
        Ok(_) => Err(outside()),
        Err(_) => Ok(cwd.join(folder)), // there is none: nothing will be found
    }
}
