//! Packages of Debian and of what is built on it.

use std::env;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result};

use crate::program;

/// Whether packages can be installed here, without asking anybody.
pub(crate) fn may_install() -> bool {
    on_path("apt-get") && may_be_root()
}

/// Installs packages.
pub(crate) fn install(packages: &[&str]) -> Result<()> {
    with_fresh_lists(|| {
        let mut command = as_root("apt-get");
        command.args(["install", "--yes", "--no-install-recommends"]);
        command.args(packages).stdin(Stdio::null());
        program::run(command.env("DEBIAN_FRONTEND", "noninteractive"))
    })
}

/// Unpacks packages into a folder, which needs no rights and starts no service.
pub(crate) fn unpack(packages: &[&str], folder: &Path) -> Result<()> {
    let archives = folder.join("archives");
    let cannot = || format!("cannot write to {}", archives.display());
    if archives.exists() {
        std::fs::remove_dir_all(&archives).with_context(cannot)?;
    }
    std::fs::create_dir_all(&archives).with_context(cannot)?;
    with_fresh_lists(|| {
        let mut command = Command::new("apt-get");
        command.arg("download").args(packages);
        program::run(command.current_dir(&archives))
    })?;
    for archive in std::fs::read_dir(&archives).with_context(cannot)? {
        let mut command = Command::new("dpkg");
        let archive: PathBuf = archive.with_context(cannot)?.path();
        program::run(command.arg("--extract").arg(archive).arg(folder))?;
    }
    std::fs::remove_dir_all(&archives).with_context(cannot)
}

/// Lists of packages may be old or missing; bringing them is slow, so not before that is known.
fn with_fresh_lists(work: impl Fn() -> Result<()>) -> Result<()> {
    work().or_else(|failure| {
        if !may_be_root() {
            return Err(failure);
        }
        program::run(as_root("apt-get").arg("update").stdin(Stdio::null()))?;
        work()
    })
}

pub(crate) fn on_path(program: &str) -> bool {
    let folders = env::var_os("PATH").unwrap_or_default();
    env::split_paths(&folders).any(|folder| folder.join(program).is_file())
}

fn is_root() -> bool {
    std::fs::metadata("/proc/self").is_ok_and(|process| process.uid() == 0)
}

fn may_be_root() -> bool {
    let asked_nothing = || {
        let mut command = Command::new("sudo");
        let quiet = command.args(["-n", "true"]).stdout(Stdio::null());
        quiet
            .stderr(Stdio::null())
            .status()
            .is_ok_and(|status| status.success())
    };
    is_root() || (on_path("sudo") && asked_nothing())
}

fn as_root(program: &str) -> Command {
    if is_root() {
        return Command::new(program);
    }
    let mut command = Command::new("sudo");
    command.args(["-n", program]);
    command
}
