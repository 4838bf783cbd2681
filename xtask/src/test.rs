//! `cargo xtask test`: everything that CI runs, or with `--peers` what it leaves out.

use anyhow::{Result, bail};

use crate::browser;
use crate::check;
use crate::peers;
use crate::program;
use crate::proxies;
use crate::web;

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Only the tests against model servers that others wrote, which are downloaded for it; what
    /// follows `--` is for these tests: `cargo xtask test --peers -- aimock`
    #[arg(long)]
    peers: bool,
    /// Only the test that takes things away at random, for that many seconds instead of 20
    #[arg(long, value_name = "SECONDS", conflicts_with = "peers")]
    chaos: Option<u64>,
    /// Handed on to `cargo test`: `cargo xtask test -- --package shard-core`
    #[arg(last = true, value_name = "ARGUMENT")]
    cargo_test: Vec<String>,
}

/// The tests come last, so that the end of the output is what they say. They run also when a
/// check has failed: one run tells all there is to mend.
pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    if arguments.peers {
        return peers::test(&arguments.cargo_test);
    }
    if let Some(seconds) = arguments.chaos {
        return chaos(seconds);
    }
    let checked = check::run();
    if let Err(failure) = &checked {
        eprintln!("error: {failure:#}");
    }
    browser::ensure()?;
    proxies::ensure()?;
    web::run()?;
    web::test()?;
    // Tests start the program by its path, which building them alone need not make.
    program::run(&mut program::cargo(&["build", "--workspace", "--locked"]))?;
    let mut tests = program::cargo(&["test", "--workspace", "--locked"]);
    program::run(tests.args(&arguments.cargo_test))?;
    if checked.is_err() {
        bail!("the tests passed, but the check failed; see above, or run `cargo xtask check`");
    }
    Ok(())
}

/// The seed is shown also when it passes; `SHARD_CHAOS_SEED` repeats one.
fn chaos(seconds: u64) -> Result<()> {
    web::run()?;
    program::run(&mut program::cargo(&["build", "--workspace", "--locked"]))?;
    let mut tests = program::cargo(&["test", "--locked", "--package", "shard-tests"]);
    tests.args(["--test", "chaos", "--", "--nocapture", "whatever_goes_away"]);
    program::run(tests.env("SHARD_CHAOS_SECONDS", seconds.to_string()))
}
