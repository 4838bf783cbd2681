//! The binary `shard`: parses the command line, wires the parts together, prints. No logic of its
//! own.

mod args;
mod client;
mod commands;
mod failure;
mod log;
mod memory;
mod places;

use clap::Parser;
use clap::error::ErrorKind;

use crate::args::{Args, Command};
use crate::failure::Failure;
use crate::places::Places;

fn main() -> ! {
    // Before anything else: keys may be in the environment of this very process.
    let hardened = shard_process::harden();
    let code = match parse().and_then(|args| run(args, hardened)) {
        Ok(()) => 0,
        Err(failure) => {
            failure.print();
            failure.code
        }
    };
    // Not by returning: a blocked reader of stdin must not hold the process up.
    std::process::exit(code)
}

fn run(args: Args, hardened: std::io::Result<()>) -> Result<(), Failure> {
    match &args.command {
        Command::Daemon(args) => log::start_daemon(&Places::find()?.state_home, args.background),
        _ => log::start(),
    }
    if let Err(error) = hardened {
        tracing::warn!(%error, "this process could not be closed against others of the same user");
    }
    match args.command {
        Command::Daemon(args) => commands::daemon::run(&args),
        Command::Web(args) => commands::web::run(&args),
        Command::Ls(args) => commands::ls::run(&args),
        Command::New(args) => commands::new::run(args),
        Command::Attach(args) => commands::attach::run(&args),
        Command::Prompt(args) => commands::prompt::run(args),
        Command::Log(args) => commands::log::run(&args),
        Command::Stop(args) => commands::stop::run(&args),
        Command::Kill(args) => commands::kill::run(&args),
        Command::Shutdown(args) => commands::shutdown::run(&args),
        Command::Grants(args) => commands::grants::run(args),
        Command::Workspace(args) => commands::workspace::run(args),
        Command::Auth(args) => commands::auth::run(args),
        Command::Usage(args) => commands::usage::run(&args),
        Command::Agent(args) => commands::agent::run(args),
        Command::Run(args) => commands::run::run(args),
        Command::Config(args) => commands::config::run(args),
        Command::Doctor(args) => commands::doctor::run(args),
        Command::Schema(args) => commands::schema::run(&args),
        Command::Completions(args) => commands::completions::run(&args),
    }
}

/// Reads the command line. A mistake is told in one line.
fn parse() -> Result<Args, Failure> {
    Args::try_parse().map_err(|error| match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
            _ = error.print();
            std::process::exit(0);
        }
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            _ = error.print();
            Failure::silent(failure::USAGE)
        }
        _ => {
            let text = error.to_string();
            let first = text
                .lines()
                .next()
                .unwrap_or_default()
                .trim_start_matches("error: ");
            Failure {
                code: failure::USAGE,
                message: format!("{first}; see `shard --help`"),
            }
        }
    })
}
