//! `cargo xtask fuzz`: looks for inputs that break what must hold for every input.

use anyhow::{Context, Result, bail};
use clap::builder::PossibleValuesParser;

use crate::program;
use crate::workspace::{self, Metadata};

/// The targets in `tests/fuzz`.
const TARGETS: [&str; 5] = ["codec", "edit", "rules", "shell", "sse"];

/// The package of the targets, which is no member of this workspace.
const PACKAGE: &str = "tests/fuzz";

/// Bounds of one input: its bytes, and the seconds after which it counts as a hang.
const BOUNDS: [&str; 2] = ["-max_len=4096", "-timeout=10"];

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// What to fuzz; everything, one after the other, when left out
    #[arg(value_parser = PossibleValuesParser::new(TARGETS))]
    target: Option<String>,
    /// How long each target runs
    #[arg(long, value_name = "N", default_value_t = 600)]
    seconds: u32,
}

/// Runs the targets, also after one has failed, and tells at the end which did.
pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    ensure_tools()?;
    let mut failures = Vec::new();
    for target in TARGETS {
        if arguments.target.as_deref().is_none_or(|one| one == target) {
            let failure = fuzz(target, arguments.seconds).err();
            failures.extend(failure.map(|failure| format!("{target}: {failure:#}")));
        }
    }
    if !failures.is_empty() {
        bail!(
            "fuzzing found something; the inputs are in {PACKAGE}/artifacts, and belong into \
             {PACKAGE}/corpus once the code is mended:\n- {}",
            failures.join("\n- ")
        );
    }
    Ok(())
}

/// What is found on the way stays in the target folder: the corpus of the repository is kept by
/// hand.
fn fuzz(target: &str, seconds: u32) -> Result<()> {
    let builds = Metadata::read()?.target()?.join("fuzz");
    let found = builds.join("corpus").join(target);
    std::fs::create_dir_all(&found).with_context(|| format!("cannot make {}", found.display()))?;
    let package = workspace::root().join(PACKAGE);
    let corpus = package.join("corpus").join(target);
    let words = package.join("dictionaries").join(target);
    let mut command = program::nightly_cargo(&["fuzz", "run", "--fuzz-dir", PACKAGE]);
    command.arg("--target-dir").arg(&builds);
    command.args([target.as_ref(), found.as_os_str(), corpus.as_os_str()]);
    command.args(["--", &format!("-max_total_time={seconds}")]);
    command.arg(format!("-dict={}", words.display()));
    // Part of what is fuzzed is C, whose errors should not pass unnoticed either.
    program::run(command.args(BOUNDS).env("CFLAGS", "-fsanitize=address"))
}

/// libFuzzer needs options of the compiler that only a nightly one takes.
fn ensure_tools() -> Result<()> {
    let there = |arguments: &[&str]| {
        let output = program::output(&mut program::nightly_cargo(arguments));
        output.is_ok_and(|output| output.status.success())
    };
    if !there(&["--version"]) {
        bail!("fuzzing needs a nightly toolchain: run `rustup toolchain install nightly`");
    }
    if !there(&["fuzz", "--version"]) {
        program::run(&mut program::cargo(&["install", "--locked", "cargo-fuzz"]))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_target_of_the_package_is_known_and_has_a_corpus_within_its_bounds() {
        let package = workspace::root().join(PACKAGE);
        let list = |folder: &str| {
            let entries = std::fs::read_dir(package.join(folder)).unwrap();
            let mut names: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
            names.sort();
            names
        };
        let targets: Vec<_> = list("targets")
            .iter()
            .map(|path| path.file_stem().unwrap().to_owned())
            .collect();
        assert_eq!(targets, TARGETS);
        let mut size = 0;
        for target in TARGETS {
            let files = list(&format!("corpus/{target}"));
            assert!(files.len() <= 300, "{target}: {} files", files.len());
            for file in files {
                size += std::fs::metadata(file).unwrap().len();
            }
        }
        assert!(size < 2 << 20, "the corpora have {size} bytes");
    }
}
