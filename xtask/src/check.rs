//! `cargo xtask check`: what can be told without running the program.

use anyhow::{Result, bail};

use crate::layers;
use crate::program;
use crate::schema;
use crate::web;
use crate::workspace::Metadata;

/// `ring` is the one cryptography: the first takes minutes to build, the second a system library.
const UNWANTED: [&str; 2] = ["aws-lc-sys", "openssl-sys"];

/// The quick ones first.
const CHECKS: [fn() -> Result<()>; 7] = [
    format,
    arrows,
    schemas,
    unwanted,
    web::check,
    lints,
    documentation,
];

/// Makes every check, also after one has failed, and tells at the end which did.
pub(crate) fn run() -> Result<()> {
    let results = CHECKS.iter().map(|check| check());
    let failures: Vec<String> = results
        .filter_map(|result| Some(format!("{:#}", result.err()?)))
        .collect();
    if !failures.is_empty() {
        bail!("the check failed:\n- {}", failures.join("\n- "));
    }
    Ok(())
}

fn format() -> Result<()> {
    program::run(&mut program::cargo(&["fmt", "--all", "--check"]))?;
    // The fuzz targets are a workspace of their own.
    let manifest = "tests/fuzz/Cargo.toml";
    program::run(&mut program::cargo(&[
        "fmt",
        "--manifest-path",
        manifest,
        "--check",
    ]))
}

fn lints() -> Result<()> {
    program::run(&mut program::cargo(&[
        "clippy",
        "--workspace",
        "--all-targets",
        "--locked",
        "--",
        "-D",
        "warnings",
    ]))
}

fn arrows() -> Result<()> {
    none_of(layers::faults(&Metadata::read()?.crates()))
}

fn schemas() -> Result<()> {
    let mut faults = schema::faults()?;
    for fault in &mut faults {
        fault.push_str(": run `cargo xtask schema`");
    }
    none_of(faults)
}

fn none_of(faults: Vec<String>) -> Result<()> {
    if !faults.is_empty() {
        bail!("{}", faults.join("\n- "));
    }
    Ok(())
}

fn unwanted() -> Result<()> {
    let mut faults = Vec::new();
    for name in UNWANTED {
        let mut command = program::cargo(&["tree", "--workspace", "--locked", "--invert", name]);
        let output = program::output(&mut command)?;
        let (stdout, stderr) = (
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr),
        );
        faults.extend(found(name, output.status.success(), &stdout, &stderr));
    }
    none_of(faults)
}

/// What the answer of `cargo tree --invert` tells, if it is bad.
fn found(name: &str, success: bool, stdout: &str, stderr: &str) -> Option<String> {
    match success {
        // It is in the lock file, but nothing that is built here uses it.
        true if stdout.trim().is_empty() => None,
        true => Some(format!(
            "{name} is in the tree of dependencies:\n{}",
            stdout.trim_end()
        )),
        false if stderr.contains("did not match any packages") => None,
        false => Some(format!(
            "`cargo tree` could not look for {name}: {}",
            stderr.trim_end()
        )),
    }
}

/// The header of a module may point to private parts: it is for those who read the code.
const DOCUMENTATION: &str = "-Dwarnings -Arustdoc::private_intra_doc_links";

fn documentation() -> Result<()> {
    let mut command = program::cargo(&["doc", "--workspace", "--no-deps", "--locked"]);
    program::run(command.env("RUSTDOCFLAGS", DOCUMENTATION))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_package_that_is_not_there_is_good() {
        let none = "error: package ID specification `x-sys` did not match any packages\n";
        assert_eq!(found("x-sys", false, "", none), None);
        assert_eq!(found("x-sys", true, "", "warning: nothing to print"), None);
        assert_eq!(
            found("x-sys", true, "x-sys v1.0.0\n└── a v1.0.0\n", ""),
            Some("x-sys is in the tree of dependencies:\nx-sys v1.0.0\n└── a v1.0.0".to_owned())
        );
        let broken = found(
            "x-sys",
            false,
            "",
            "error: the lock file needs to be updated\n",
        );
        assert_eq!(
            broken.as_deref(),
            Some("`cargo tree` could not look for x-sys: error: the lock file needs to be updated")
        );
    }
}
