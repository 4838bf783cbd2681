//! Caddy and nginx, for the tests of the web client behind a proxy.

use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Result, bail};

use crate::apt::{self, on_path};
use crate::workspace::Metadata;

/// Each by the name of its program and of its package, and how it says its version.
const PROXIES: [(&str, &str); 2] = [("caddy", "version"), ("nginx", "-v")];

/// Brings those that are not there, next to what was built: installed, nginx would be started.
pub(crate) fn ensure() -> Result<()> {
    let folder = Metadata::read()?.target()?.join("proxies");
    let missing: Vec<_> = PROXIES
        .into_iter()
        .filter(|(name, _)| !is_installed(name) && unpacked(name, &folder).is_none())
        .collect();
    if missing.is_empty() {
        return Ok(());
    }
    let names: Vec<_> = missing.iter().map(|(name, _)| *name).collect();
    let by_hand = format!("sudo apt-get install {}", names.join(" "));
    if !on_path("apt-get") {
        bail!("the browser tests need caddy and nginx on the path; on Debian: `{by_hand}`");
    }
    apt::unpack(&names, &folder)?;
    for (name, version) in missing {
        let runs = unpacked(name, &folder).is_some_and(|program| {
            let mut command = Command::new(program);
            command
                .arg(version)
                .stdout(Stdio::null())
                .stderr(Stdio::null());
            command.status().is_ok_and(|status| status.success())
        });
        if !runs {
            bail!("{name} does not run as it was unpacked; please run `{by_hand}`");
        }
    }
    Ok(())
}

/// Whether it is on the path, or among what is for administrators.
fn is_installed(name: &str) -> bool {
    let for_administrators = ["/usr/sbin", "/usr/local/sbin"];
    on_path(name)
        || for_administrators
            .iter()
            .any(|it| Path::new(it).join(name).is_file())
}

fn unpacked(name: &str, folder: &Path) -> Option<std::path::PathBuf> {
    let places = ["usr/bin", "usr/sbin"].map(|place| folder.join(place).join(name));
    places.into_iter().find(|place| place.is_file())
}
