//! `shard web`: the browser's way in.

mod background;
mod browser;

use shard_protocol::{AuthToken, SetupToken};

use super::{block_on, load_config};
use crate::args::WebArgs;
use crate::client::{self, ANSWER, Client};
use crate::failure::{Failure, UNREACHABLE, print, say};
use crate::places::Places;

pub(crate) fn run(args: &WebArgs) -> Result<(), Failure> {
    let places = Places::find()?;
    let mut flags = args.remote.flags();
    if !flags.is_empty() {
        // What the daemon would refuse, before anything is started.
        let access = args.remote.access(&load_config(&places)?)?;
        for warning in access.warnings() {
            say(&format!("warning: {warning}"));
        }
    }
    let is_remote = !flags.is_empty();
    flags.extend(args.port.map(|port| format!("--port={port}")));
    block_on(async {
        browser::forget(&places);
        let mut client = match Client::connect(&places).await {
            Err(failure) if failure.code == UNREACHABLE && !client::listens(&places) => {
                background::start(&places, &flags).await?
            }
            connected => {
                let connected = connected?;
                if is_remote {
                    say(
                        "a daemon runs already and stays as it is; for these flags to count, end it with `shard shutdown` first",
                    );
                }
                connected
            }
        };
        let token: SetupToken = client.call(AuthToken {}, ANSWER).await?;
        // The person's eyes come first: what follows may not work.
        print(&token.url)?;
        if !args.no_open && browser::is_there() {
            browser::open(&places, &token.url)?;
        } else {
            say("open it in a browser; it works once, for ten minutes");
        }
        Ok(())
    })
}
