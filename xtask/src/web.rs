//! `cargo xtask web`: the web client in `web/`, built with Node into `web/build`.
//!
//! Owns when to install and when to build. What the client is made of is `web/package.json`'s
//! business: everything goes through its scripts.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::SystemTime;

use anyhow::{Context, Result, bail};

use crate::program;
use crate::workspace;

/// The oldest Node that the tools of the client run on.
const OLDEST_NODE: (u32, u32) = (20, 19);

/// What no source is in.
const MADE: [&str; 3] = ["node_modules", "build", ".svelte-kit"];

/// Builds the client, unless nothing changed since it was built.
pub(crate) fn run() -> Result<()> {
    let folder = folder();
    // Not the page itself: building the daemon alone puts one there that says what is missing.
    let built = modified(&folder.join("build/_app/version.json"));
    if built.is_some() && newest(&folder, true)? <= built {
        return Ok(());
    }
    npm(&["run", "build"])
}

/// Types and format.
pub(crate) fn check() -> Result<()> {
    npm(&["run", "check"])?;
    npm(&["run", "lint"])
}

/// The client's own tests.
pub(crate) fn test() -> Result<()> {
    npm(&["test"])
}

fn folder() -> PathBuf {
    workspace::root().join("web")
}

/// Runs npm in the client's folder, with everything installed that the lock file names.
fn npm(arguments: &[&str]) -> Result<()> {
    let folder = folder();
    let node = Command::new("node").arg("--version").output();
    let version = node.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned());
    usable(version.ok().as_deref())?;
    // npm writes this file last.
    let installed = modified(&folder.join("node_modules/.package-lock.json"));
    if installed.is_none() || installed < modified(&folder.join("package-lock.json")) {
        let install = ["ci", "--no-audit", "--no-fund"];
        program::run(Command::new("npm").args(install).current_dir(&folder))?;
    }
    program::run(Command::new("npm").args(arguments).current_dir(&folder))
}

fn usable(version: Option<&str>) -> Result<()> {
    let (major, minor) = OLDEST_NODE;
    let install = format!("install Node.js {major}.{minor} or newer (https://nodejs.org)");
    let Some(version) = version else {
        bail!("the web client is built with Node.js, which is not there: {install}");
    };
    let mut numbers = version.trim_start_matches('v').split('.');
    let mut next = || numbers.next().and_then(|number| number.parse().ok());
    if (next().unwrap_or(0), next().unwrap_or(0)) < OLDEST_NODE {
        bail!("Node.js {version} is too old for the web client: {install}");
    }
    Ok(())
}

fn modified(path: &Path) -> Option<SystemTime> {
    path.metadata().ok()?.modified().ok()
}

/// When anything below the folder changed last. A folder changes when something in it goes away;
/// the outermost also when something is made in it.
fn newest(folder: &Path, outermost: bool) -> Result<Option<SystemTime>> {
    let mut newest = if outermost { None } else { modified(folder) };
    let cannot = || format!("cannot read {}", folder.display());
    for entry in std::fs::read_dir(folder).with_context(cannot)? {
        let entry = entry.with_context(cannot)?;
        if outermost && MADE.iter().any(|made| entry.file_name() == *made) {
            continue;
        }
        let path = entry.path();
        let time = match entry.file_type().with_context(cannot)?.is_dir() {
            true => self::newest(&path, false)?,
            false => modified(&path),
        };
        newest = newest.max(time);
    }
    Ok(newest)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_node_that_is_missing_or_too_old_is_told_in_a_sentence() {
        for good in ["v20.19.0", "v20.20.2", "v22.1.0", "v24.0.0"] {
            usable(Some(good)).unwrap();
        }
        for old in ["v20.18.3", "v18.20.1", ""] {
            let error = usable(Some(old)).unwrap_err().to_string();
            assert!(error.contains("install Node.js 20.19"), "{error}");
        }
        let error = usable(None).unwrap_err().to_string();
        assert!(error.contains("not there"), "{error}");
    }

    #[test]
    fn what_is_made_is_no_source_but_a_folder_that_lost_a_file_is() {
        let at = |seconds| SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
        let home = tempfile::tempdir().unwrap();
        let touch = |path: &str, seconds| {
            let file = std::fs::File::create(home.path().join(path)).unwrap();
            file.set_modified(at(seconds)).unwrap();
        };
        for folder in ["src", "node_modules"] {
            std::fs::create_dir(home.path().join(folder)).unwrap();
        }
        touch("package.json", 10);
        touch("src/a.ts", 20);
        touch("node_modules/b.js", 99);
        let source = std::fs::File::open(home.path().join("src")).unwrap();
        source.set_modified(at(5)).unwrap();
        assert_eq!(newest(home.path(), true).unwrap(), Some(at(20)));
        source.set_modified(at(30)).unwrap();
        assert_eq!(newest(home.path(), true).unwrap(), Some(at(30)));
    }
}
