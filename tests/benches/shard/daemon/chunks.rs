//! How long one chunk takes from the model to a client.

use std::time::{Duration, Instant};

use anyhow::Result;
use shard_testkit::{Gate, Home, Reply, ScriptedModel, hold, text};

use super::peer::{Bare, Daemon, Peer};
use crate::samples::Samples;

/// Chunks that are timed.
const CHUNKS: usize = 300;

#[derive(Default)]
pub(crate) struct Chunks {
    pub(crate) bare: Samples,
    pub(crate) daemon: Samples,
}

pub(crate) async fn times() -> Result<Chunks> {
    let (direct, supervised) = (gates(), gates());
    let model = ScriptedModel::start([reply(&direct), reply(&supervised)]);
    let home = Home::new(&model);
    let mut bare = Bare::start(&home)?;
    bare.peer.prompt("hi")?;
    direct[0].reached().await;
    let daemon = Daemon::start(&home)?;
    let mut peer = daemon.connect()?;
    let agent = daemon.create(&mut peer)?;
    daemon.attach(&mut peer, &agent)?;
    peer.prompt("hi")?;
    supervised[0].reached().await;
    let mut times = Chunks::default();
    // Turn by turn, so that both see the same machine.
    for (direct, supervised) in direct.iter().zip(&supervised) {
        times.bare.push(time(&mut bare.peer, direct).await?);
        times.daemon.push(time(&mut peer, supervised).await?);
    }
    Ok(times)
}

fn gates() -> Vec<Gate> {
    (0..CHUNKS).map(|_| Gate::new()).collect()
}

fn reply(gates: &[Gate]) -> Reply {
    gates.iter().fold(Reply::new(), |reply, gate| {
        reply.then(hold(gate)).then(text("a few words "))
    })
}

/// From the moment at which the model may send the chunk until it is there.
async fn time(peer: &mut Peer, gate: &Gate) -> Result<Duration> {
    gate.reached().await;
    let began = Instant::now();
    gate.open();
    peer.until("message_delta")?;
    Ok(began.elapsed())
}
