//! Opens a page in the person's browser.
//!
//! The page's address lets whoever has it in. A command line can be read by every user of the
//! machine, so the browser is given a file that only this user can read, and that leads on.

use std::fs::{self, DirBuilder, OpenOptions};
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::Context;

use crate::failure::{Failure, say};
use crate::places::Places;

/// Whether there is a display to show one on.
pub(super) fn is_there() -> bool {
    ["DISPLAY", "WAYLAND_DISPLAY"]
        .iter()
        .any(|name| std::env::var_os(name).is_some_and(|value| !value.is_empty()))
}

fn page(places: &Places) -> PathBuf {
    places.state_home.join("open.html")
}

/// Takes away what an earlier run left for its browser.
pub(super) fn forget(places: &Places) {
    _ = fs::remove_file(page(places));
}

/// Opens the page at `url`. It stays in a file until the next time, when its token is long of no
/// use.
pub(super) fn open(places: &Places, url: &str) -> Result<(), Failure> {
    let path = page(places);
    let written = || {
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&places.state_home)?;
        forget(places);
        let mut options = OpenOptions::new();
        let mut file = options
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&path)?;
        file.write_all(redirect(url).as_bytes())
    };
    written().with_context(|| format!("cannot write {}", path.display()))?;
    let started = Command::new("xdg-open")
        .arg(&path)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .process_group(0) // Ctrl-C here is not meant for the browser
        .spawn();
    if let Err(error) = started {
        forget(places);
        say(&format!(
            "no browser could be opened (xdg-open: {error}); open the address above"
        ));
    }
    Ok(())
}

/// A page that leads on to `url`.
fn redirect(url: &str) -> String {
    let url = url
        .replace('&', "&amp;")
        .replace('"', "&quot;")
        .replace('<', "&lt;");
    format!(
        "<!doctype html>\n<meta charset=\"utf-8\">\n<meta name=\"referrer\" content=\"no-referrer\">\n\
         <meta http-equiv=\"refresh\" content=\"0; url={url}\">\n<title>Shard</title>\n\
         <a href=\"{url}\">Open Shard</a>\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_leads_to_its_address_and_nowhere_else() {
        let page = redirect("http://127.0.0.1:7411/#setup=a\"b<c");
        assert!(
            page.contains("url=http://127.0.0.1:7411/#setup=a&quot;b&lt;c\">"),
            "{page}"
        );
    }
}
