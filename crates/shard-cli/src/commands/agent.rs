//! `shard agent`: an agent on stdin and stdout.

use std::sync::Arc;
use std::time::Duration;

use shard_contracts::{BoxFuture, EventBus};
use shard_core::agent::Responder;
use shard_core::boot::Booted;
use shard_core::direct::{Direct, Events, Next, Outlet};
use shard_transports::{Outbox, stdio};

use super::{asked_to_end, block_on, load_config};
use crate::args::AgentArgs;
use crate::failure::{FAILED, Failure};
use crate::memory;
use crate::places::Places;

/// How long an agent may take to end once its peer is gone.
const END: Duration = Duration::from_secs(4);

/// How long its last lines may take to be read.
const LAST_LINES: Duration = Duration::from_millis(500);

pub(crate) fn run(args: AgentArgs) -> Result<(), Failure> {
    let places = Places::find()?;
    let config = load_config(&places)?;
    let limit = usize::try_from(config.daemon.client_queue_bytes).unwrap_or(usize::MAX);
    if let Some(name) = &args.name {
        tracing::info!(name, "starting");
    }
    block_on(async move {
        let booted = args
            .agent
            .boot(places, config, Responder::Peer)
            .assemble()
            .await?;
        serve(booted, Arc::new(Outbox::new(limit))).await
    })
}

/// Serves until the peer is gone or the process is asked to end.
async fn serve(booted: Booted, outbox: Arc<Outbox>) -> Result<(), Failure> {
    let Booted {
        session,
        handle,
        bus,
        mut host,
        diagnostics,
        ..
    } = booted;
    for diagnostic in diagnostics {
        tracing::warn!("{diagnostic}");
    }
    let outlet: Arc<dyn Outlet> = Arc::new(Lines(Arc::clone(&outbox)));
    bus.subscribe(Arc::new(Events(Arc::clone(&outlet))));
    stdio::write(Arc::clone(&outbox), std::io::stdout())?;
    let mut records = stdio::records()?;
    let mut session = tokio::spawn(session.run());
    let connection = Direct::new(handle.clone(), outlet);
    let mut asked = std::pin::pin!(asked_to_end());
    let end = loop {
        tokio::select! {
            record = records.next() => {
                let Some(record) = record else { break Ok(()) };
                if connection.take(record).await == Next::Close {
                    break Err(Failure::silent(FAILED));
                }
            }
            () = outbox.closed() => break Err(anyhow::anyhow!("the reader of stdout is gone or too slow").into()),
            () = &mut asked => break Ok(()),
            _ = &mut session => break Err(anyhow::anyhow!("the agent broke down; its session is kept").into()),
        }
    };
    if tracing::enabled!(tracing::Level::DEBUG) {
        tracing::debug!(pss_kb = memory::pss_kb(), "ending");
    }
    // Whatever hangs, the process ends: its tools end with it, and the transcript is on file.
    let wind_down = async {
        handle.close().await;
        host.shut_down().await;
    };
    let closed = tokio::time::timeout(END, wind_down).await;
    outbox.finish(LAST_LINES);
    if closed.is_err() {
        tracing::error!("the agent did not end in time");
    }
    end
}

/// The peer at the other end of stdout.
struct Lines(Arc<Outbox>);

impl Outlet for Lines {
    fn send(&self, line: String) {
        if let Err(error) = self.0.push_line(line) {
            tracing::error!("{error}; the connection is closed");
        }
    }

    fn ready(&self) -> BoxFuture<'_, ()> {
        Box::pin(self.0.ready())
    }
}
