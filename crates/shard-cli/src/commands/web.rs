//! `shard web`: the browser's way in.

mod background;
mod browser;

use shard_protocol::{AuthToken, SetupToken};

use super::block_on;
use crate::args::WebArgs;
use crate::client::{self, ANSWER, Client};
use crate::failure::{Failure, UNREACHABLE, print, say};
use crate::places::Places;

pub(crate) fn run(args: &WebArgs) -> Result<(), Failure> {
    let places = Places::find()?;
    block_on(async {
        browser::forget(&places);
        let mut client = match Client::connect(&places).await {
            Err(failure) if failure.code == UNREACHABLE && !client::listens(&places) => {
                background::start(&places, args.port).await?
            }
            connected => connected?,
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
