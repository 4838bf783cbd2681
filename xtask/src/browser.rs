//! Chromium and its driver, for the tests that look at the web client as a person does.

use std::env;
use std::path::PathBuf;

use anyhow::{Result, bail};

use crate::apt::{self, on_path};

/// Debian's names, and those of what is built on it.
const PACKAGES: [&str; 2] = ["chromium", "chromium-driver"];

/// Installs them where that is allowed and they are not there.
pub(crate) fn ensure() -> Result<()> {
    if has_driver() {
        return Ok(());
    }
    let by_hand = format!("sudo apt-get install {}", PACKAGES.join(" "));
    if !apt::may_install() {
        bail!(
            "the browser tests need Chromium and chromedriver on the path; on Debian: `{by_hand}`, \
             elsewhere see https://googlechromelabs.github.io/chrome-for-testing"
        );
    }
    apt::install(&PACKAGES)?;
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
