//! Chromium and its driver, for the tests that look at the web client as a person does.

use std::env;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::{Result, bail};

use crate::program;

/// Debian's names, and those of what is built on it.
const PACKAGES: [&str; 2] = ["chromium", "chromium-driver"];

/// Installs them where that is allowed and they are not there.
pub(crate) fn ensure() -> Result<()> {
    if has_driver() {
        return Ok(());
    }
    let by_hand = format!("sudo apt-get install {}", PACKAGES.join(" "));
    if !on_path("apt-get") || !may_install() {
        bail!(
            "the browser tests need Chromium and chromedriver on the path; on Debian: `{by_hand}`, \
             elsewhere see https://googlechromelabs.github.io/chrome-for-testing"
        );
    }
    let apt = |arguments: &[&str]| {
        let mut command = as_root("apt-get");
        command.args(arguments).stdin(Stdio::null());
        command.env("DEBIAN_FRONTEND", "noninteractive");
        command
    };
    let install = || {
        let mut arguments = vec!["install", "--yes", "--no-install-recommends"];
        arguments.extend(PACKAGES);
        program::run(&mut apt(&arguments))
    };
    // Lists of packages may be old or missing; bringing them is slow, so not before that is known.
    if install().is_err() {
        program::run(&mut apt(&["update"]))?;
        install()?;
    }
    if !has_driver() {
        bail!("chromedriver is still not there; please run `{by_hand}`");
    }
    Ok(())
}

/// Whether the driver is there: on the path, or where the hosted runners of GitHub have it.
fn has_driver() -> bool {
    let hosted = env::var_os("CHROMEWEBDRIVER").map(PathBuf::from);
    on_path("chromedriver") || hosted.is_some_and(|folder| folder.join("chromedriver").is_file())
}

fn on_path(program: &str) -> bool {
    let folders = env::var_os("PATH").unwrap_or_default();
    env::split_paths(&folders).any(|folder| folder.join(program).is_file())
}

fn is_root() -> bool {
    std::fs::metadata("/proc/self").is_ok_and(|process| process.uid() == 0)
}

/// Whether packages can be installed without asking anybody.
fn may_install() -> bool {
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
