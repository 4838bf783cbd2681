//! `cargo xtask test`: everything that CI runs.

use anyhow::{Result, bail};

use crate::browser;
use crate::check;
use crate::program;
use crate::web;

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Handed on to `cargo test`: `cargo xtask test -- --package shard-core`
    #[arg(last = true, value_name = "ARGUMENT")]
    cargo_test: Vec<String>,
}

/// The tests come last, so that the end of the output is what they say. They run also when a
/// check has failed: one run tells all there is to mend.
pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let checked = check::run();
    if let Err(failure) = &checked {
        eprintln!("error: {failure:#}");
    }
    browser::ensure()?;
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
