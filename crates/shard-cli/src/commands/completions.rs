//! `shard completions`: what a shell needs to complete commands.

use clap::CommandFactory;

use crate::args::{Args, CompletionsArgs};
use crate::failure::{Failure, print};

pub(crate) fn run(args: &CompletionsArgs) -> Result<(), Failure> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Args::command(), "shard", &mut script);
    print(&String::from_utf8_lossy(&script))?;
    Ok(())
}
