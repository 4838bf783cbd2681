//! The developer commands of this workspace: `cargo xtask COMMAND`.
//!
//! Each command is a file of its own. They say on standard error which programs they start, so
//! that any step can be repeated by hand.

#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a developer's command talks to a person"
)]

mod apt;
mod bench;
mod browser;
mod check;
mod fuzz;
mod layers;
mod peers;
mod program;
mod proxies;
mod run;
mod sample;
mod schema;
mod test;
mod typescript;
mod web;
mod workspace;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

#[derive(Debug, Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask", about)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

/// Developer commands of Shard.
#[derive(Debug, Subcommand)]
enum Command {
    /// Builds Shard and runs the daemon: open the address that it prints
    Run(run::Arguments),
    /// Runs everything that CI runs: the checks, the build, all tests
    Test(test::Arguments),
    /// Checks format, lints, layers, generated files, unwanted dependencies, documentation
    Check,
    /// Writes the JSON Schemas in docs/schemas and the web client's types.ts from the types
    Schema,
    /// Builds the web client into web/build, if it changed
    Web,
    /// Measures start, memory, the cost of a command and of the daemon, with a release build
    Bench,
    /// Looks for inputs that break what must hold for every input; needs a nightly toolchain
    Fuzz(fuzz::Arguments),
}

fn main() -> ExitCode {
    let done = match Arguments::parse().command {
        Command::Run(arguments) => run::run(&arguments),
        Command::Test(arguments) => test::run(&arguments),
        Command::Check => check::run(),
        Command::Schema => schema::run(),
        Command::Web => web::run(),
        Command::Bench => bench::run(),
        Command::Fuzz(arguments) => fuzz::run(&arguments),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}
