//! `shard attach`: an agent on this terminal.

mod input;
mod talk;
mod typed;

use std::io::IsTerminal;

use shard_core::gate::visible;
use shard_protocol::{AttachRole, Attached};
use shard_transports::stdio;
use shard_types::AgentId;
use shard_types::event::Sync;

use self::talk::Talk;
use super::show::{Follower, Screen, Style, word};
use super::{asked_to_end, block_on};
use crate::args::AttachArgs;
use crate::client::{Client, lookup};
use crate::failure::Failure;
use crate::places::Places;

/// How many of the latest messages are shown.
const RECENT: usize = 20;

pub(crate) fn run(args: &AttachArgs) -> Result<(), Failure> {
    let places = Places::find()?;
    let interactive = std::io::stdin().is_terminal() && std::io::stdout().is_terminal();
    block_on(async {
        let mut client = Client::connect(&places).await?;
        let agent_id = client.find(&args.agent).await?.agent_id;
        if interactive {
            let (attached, sync) = client.attach(&agent_id, AttachRole::Interactive).await?;
            Talk::begin(client, places, attached, sync)?.run().await
        } else {
            let (_, sync) = client.attach(&agent_id, AttachRole::Observer).await?;
            watch(client, &agent_id, &sync).await
        }
    })
}

/// The latest messages, with what they are of.
fn recent(sync: &Sync, follower: &mut Follower, screen: &Screen, agent_id: &AgentId) {
    let messages = &sync.live_window.messages;
    let older = messages.len().saturating_sub(RECENT);
    if older > 0 || sync.live_window.has_more {
        let note = format!("(`shard log {agent_id}` shows what was before)");
        screen.printer.note(&note);
    }
    follower.past(&messages[older..]);
}

fn heading(attached: &Attached) -> String {
    let info = &attached.info;
    let name = lookup::name(info).map_or_else(String::new, |name| format!(" ({name})"));
    visible(&format!(
        "{}{name} in {}: {}",
        info.agent_id,
        info.cwd,
        word(&attached.status)
    ))
}

/// Shows what an agent does until stdin ends. Nobody is there to answer it.
async fn watch(mut client: Client, agent_id: &AgentId, sync: &Sync) -> Result<(), Failure> {
    let screen = Screen::joined()?;
    let mut follower = Follower::new(screen.printer.clone(), Style::Text);
    recent(sync, &mut follower, &screen, agent_id);
    let mut stdin = stdio::records()?;
    let mut asked = std::pin::pin!(asked_to_end());
    let outcome = loop {
        screen.printer.ready().await;
        tokio::select! {
            event = client.next_of(agent_id) => match event {
                Ok(event) => follower.show(&event, false),
                Err(lost) => break Err(lost),
            },
            record = stdin.next() => if record.is_none() { break Ok(()) },
            () = screen.out.closed() => break Ok(()),
            () = &mut asked => break Ok(()),
        }
    };
    screen.finish();
    outcome
}
