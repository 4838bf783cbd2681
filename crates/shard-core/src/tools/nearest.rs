//! What a missing path may have been meant to be.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use rustix::fs::Dir;

use super::regular_file::{OpenError, open_folder};
use super::visible;

/// Why a path cannot be used, for the model.
pub(crate) fn refusal(cwd: &Path, given: &str, real: &Path, error: &OpenError) -> String {
    let shown = visible::line(given);
    match error {
        OpenError::Missing => missing(cwd, given, real),
        OpenError::Folder => format!("{shown} is a folder; use ls to see what is in it"),
        OpenError::NoFolder => format!("{shown} is a file, not a folder; use read"),
        other => format!("{shown} {other}"),
    }
}

/// Names of one folder that are compared; a folder with more is no place to guess in.
const MAX_NAMES: usize = 10_000;
/// Suggestions made.
const MAX_SHOWN: usize = 3;
/// How alike two names must be, from 0 to 1.
const ALIKE: f64 = 0.6;

/// Says that `given` does not exist, and what exists under a like name at the first part of
/// `real` that is missing.
pub(crate) fn missing(cwd: &Path, given: &str, real: &Path) -> String {
    let shown = visible::line(given);
    let Some((folder, name, rest)) = first_missing(real) else {
        return format!("{shown} does not exist");
    };
    let place = |path: &Path| match path.strip_prefix(cwd) {
        Ok(below) if below.as_os_str().is_empty() => ".".to_owned(),
        Ok(below) => visible::path(below),
        Err(_) => visible::path(path),
    };
    let near: Vec<String> = alike(folder, name)
        .into_iter()
        .map(|name| place(&whole(folder.join(name), rest)))
        .collect();
    match near.as_slice() {
        [] => format!(
            "{shown} does not exist; nothing in {} has a like name",
            place(folder)
        ),
        near => format!("{shown} does not exist; nearest: {}", near.join(", ")),
    }
}

/// The deepest folder that exists, the name that it lacks, and what should come below.
fn first_missing(real: &Path) -> Option<(&Path, &OsStr, &Path)> {
    let folder = real.ancestors().skip(1).find(|folder| folder.is_dir())?;
    let below = real.strip_prefix(folder).ok()?;
    let mut parts = below.components();
    let name = parts.next()?.as_os_str();
    Some((folder, name, parts.as_path()))
}

fn whole(near: PathBuf, rest: &Path) -> PathBuf {
    let whole = near.join(rest);
    match rest.as_os_str().is_empty() || !whole.exists() {
        true => near,
        false => whole,
    }
}

fn alike(folder: &Path, name: &OsStr) -> Vec<String> {
    let wanted = name.to_string_lossy().to_lowercase();
    // What may not be listed gives no names either.
    let entries = open_folder(folder).ok().map(Dir::new);
    let names = entries
        .into_iter()
        .flatten()
        .flatten()
        .take(MAX_NAMES)
        .filter_map(|entry| Some(entry.ok()?.file_name().to_str().ok()?.to_owned()));
    let mut scored: Vec<(f64, String)> = names
        .map(|name| {
            let alike = strsim::normalized_damerau_levenshtein(&wanted, &name.to_lowercase());
            (alike, name)
        })
        .filter(|(alike, _)| *alike >= ALIKE)
        .collect();
    scored.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
    scored.truncate(MAX_SHOWN);
    scored.into_iter().map(|(_, name)| name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_path_gets_the_names_that_are_like_it() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        std::fs::create_dir(root.join("source")).unwrap();
        for name in ["main.rs", "Main.rs", "mail.rs", "other.txt"] {
            std::fs::write(root.join("source").join(name), "").unwrap();
        }
        let check = |given: &str, want: &str| {
            assert_eq!(missing(&root, given, &root.join(given)), want, "{given}");
        };
        let near = "source/Main.rs, source/main.rs, source/mail.rs";
        check(
            "source/mian.rs",
            &format!("source/mian.rs does not exist; nearest: {near}"),
        );
        check(
            "sources/main.rs",
            "sources/main.rs does not exist; nearest: source/main.rs",
        );
        check(
            "sources/none",
            "sources/none does not exist; nearest: source",
        );
        check("xyz", "xyz does not exist; nothing in . has a like name");
    }
}
