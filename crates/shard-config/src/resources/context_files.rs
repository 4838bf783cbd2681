//! What people write down for every agent: `SHARD.md` and `AGENTS.md`.

use std::path::{Path, PathBuf};

use super::{Found, Kind, Layer, Project, Roots, UNTRUSTED};
use crate::regular_file::read_start;

/// How much of one file is taken, in bytes.
const FILE_BYTES: usize = 64 * 1024;

/// How much is taken in all, in bytes. Every request carries it.
const ALL_BYTES: usize = 256 * 1024;

/// One text, as far as it is taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContextFile {
    /// Where it stands.
    pub path: PathBuf,
    /// What it says.
    pub text: String,
}

/// The texts in force, outermost first: the user's, then the project's down to the working
/// directory, in each folder `SHARD.md` before `AGENTS.md`.
pub(super) fn load(roots: &Roots, project: &Project, found: &mut Vec<Found>) -> Vec<ContextFile> {
    // Where there is not room for all, the user's own file and those nearest count.
    let mut room = ALL_BYTES;
    let users = std::iter::once(roots.user_context()).filter(|path| is_there(path));
    let users = users.map(|path| take(&path, Layer::User, &mut room));
    let mut taken: Vec<_> = users.collect();
    let names: &[_] = if roots.agents_md {
        &["AGENTS.md", "SHARD.md"]
    } else {
        &["SHARD.md"]
    };
    let of_project = project.folders.iter().flat_map(|folder| {
        let places = names.iter().filter_map(|name| project.place(folder, name));
        places.filter(|path| is_there(path))
    });
    let of_project = of_project.map(|path| {
        if roots.trust_project {
            return take(&path, Layer::Project, &mut room);
        }
        let mut untrusted = Found::new(Kind::Context, &path, Layer::Project);
        untrusted.not_in_force(UNTRUSTED);
        (untrusted, None)
    });
    let of_project: Vec<_> = of_project.collect();
    taken.extend(of_project.into_iter().rev());
    let mut texts = Vec::new();
    for (file, text) in taken {
        texts.extend(text.map(|text| ContextFile {
            path: file.path.clone(),
            text,
        }));
        found.push(file);
    }
    texts
}

fn is_there(path: &Path) -> bool {
    path.symlink_metadata().is_ok()
}

fn take(path: &Path, layer: Layer, room: &mut usize) -> (Found, Option<String>) {
    let mut file = Found::new(Kind::Context, path, layer);
    let limit = FILE_BYTES.min(*room);
    let mut bytes = match read_start(path, limit) {
        Ok(bytes) => bytes,
        Err(error) => {
            file.not_in_force(format!("not read: it {error}"));
            return (file, None);
        }
    };
    if bytes.len() > limit {
        bytes.truncate(limit);
        while std::str::from_utf8(&bytes).is_err_and(|error| error.error_len().is_none()) {
            bytes.pop(); // half a character
        }
        file.warn(format!(
            "only its first {} bytes are used: a file may have {FILE_BYTES}, and all of them {ALL_BYTES}",
            bytes.len()
        ));
    }
    *room -= bytes.len();
    let text = String::from_utf8_lossy(&bytes).trim().to_owned();
    (file, Some(text))
}
