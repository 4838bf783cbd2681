//! `cargo xtask bench`: measures the program as it is shipped.

use anyhow::Result;

use crate::program;
use crate::workspace::Metadata;

/// Builds the program for release and has the benchmark measure it.
pub(crate) fn run() -> Result<()> {
    let binary = Metadata::read()?.target()?.join("release/shard");
    program::run(&mut program::cargo(&[
        "build",
        "--release",
        "--locked",
        "--package",
        "shard-cli",
    ]))?;
    let mut bench = program::cargo(&["bench", "--locked", "--package", "shard-tests"]);
    program::run(bench.args(["--bench", "shard"]).env("SHARD_BIN", binary))
}
