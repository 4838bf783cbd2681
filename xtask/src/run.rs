//! `cargo xtask run`: a conversation in a sample repository, prompt by prompt.

use std::path::Path;
use std::process::{Command, ExitStatus};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use crate::program;
use crate::sample;
use crate::web;
use crate::workspace::Metadata;

/// How `shard run` ends when there was no line to read.
const END_OF_INPUT: i32 = 2;

/// A round that fails sooner than a person can type did not get as far as reading a line.
const TOO_SOON: Duration = Duration::from_millis(500);

/// How many such rounds in a row mean that no line will ever be read.
const TOO_MANY: usize = 3;

/// Builds the program (not optimised: the first build is much quicker so) and runs one prompt
/// after the other until the input ends.
pub(crate) fn run() -> Result<()> {
    let target = Metadata::read()?.target()?;
    web::run()?;
    program::run(&mut program::cargo(&[
        "build",
        "--locked",
        "--package",
        "shard-cli",
    ]))?;
    let repository = target.join("sample");
    sample::make(&repository)?;
    println!("Shard works in {}.", repository.display());
    println!(
        "Type a line; without a model of your own the built-in demo takes: read README.md · run ls -la · write notes.txt: hello · ask what is your name? (Ctrl-D ends)"
    );
    converse(&target.join("debug/shard"), &repository)
}

fn converse(binary: &Path, repository: &Path) -> Result<()> {
    let mut further: &[&str] = &[];
    let mut failures = 0;
    loop {
        let mut command = Command::new(binary);
        command.arg("run").args(further).current_dir(repository);
        let line = program::announce(&command);
        let began = Instant::now();
        let status = command
            .status()
            .with_context(|| format!("cannot start `{line}`"))?;
        if status.code() == Some(END_OF_INPUT) {
            return Ok(());
        }
        failures = match failed_at_once(status, began.elapsed()) {
            true => failures + 1,
            false => 0,
        };
        if failures == TOO_MANY {
            bail!("`{line}` fails before it reads a line ({status})");
        }
        further = &["--continue"];
    }
}

fn failed_at_once(status: ExitStatus, took: Duration) -> bool {
    !status.success() && took < TOO_SOON
}
