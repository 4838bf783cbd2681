//! `cargo xtask run`: the daemon with the web client, and a sample repository to try it on.

use std::os::unix::process::CommandExt;
use std::process::Command;

use anyhow::{Result, anyhow};

use crate::program;
use crate::sample;
use crate::web;
use crate::workspace::Metadata;

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Handed on to `shard daemon`: `cargo xtask run -- --port 0`
    #[arg(last = true, value_name = "ARGUMENT")]
    daemon: Vec<String>,
}

/// Builds everything (not optimised: the first build is much quicker so) and becomes the daemon.
pub(crate) fn run(arguments: &Arguments) -> Result<()> {
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
    println!(
        "A repository to try an agent in: {}\n\
         Without a model of your own the built-in demo takes: read README.md · run bash test.sh · \
         write notes.txt: hello · ask what is your name?\n\
         Ctrl-C ends the daemon.",
        repository.display()
    );
    let mut command = Command::new(target.join("debug/shard"));
    command.arg("daemon").args(&arguments.daemon);
    let line = program::announce(&command);
    // From here on the terminal is the daemon's.
    Err(anyhow!("cannot start `{line}`: {}", command.exec()))
}
