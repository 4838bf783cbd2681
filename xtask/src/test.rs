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
