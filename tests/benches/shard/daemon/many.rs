//! What the daemon adds to each event while fifty agents stream at once.
//!
//! The answers are as long on their way through agents' own pipes, measured right before: what comes
//! on top is the daemon's.

use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, anyhow};
use shard_testkit::{Gate, Home, Reply, Request, ScriptedModel, hold, pause, stamp};

use super::peer::{Bare, Daemon, Peer};
use crate::samples::Samples;
use crate::table::Table;

const AGENTS: usize = 50;

/// Events of each agent, and the time between two of them: a hundred in a second.
const EVENTS: usize = 300;
const BETWEEN: Duration = Duration::from_millis(10);

pub(crate) fn report(table: &mut Table) -> Result<()> {
    let bare = bare()?;
    let daemon = daemon()?;
    let line = table.line(
        "50 agents, 100 events/s each: an event through a pipe, p50",
        &micro(bare.median()),
    );
    line.note(&format!("p99 {}", micro(bare.p99())));
    for (name, through, alone, aim) in [
        ("p50", daemon.median(), bare.median(), "added 100 µs"),
        ("p99", daemon.p99(), bare.p99(), "added 1000 µs"),
    ] {
        let name = format!("50 agents, 100 events/s each: through the daemon, {name}");
        let added = micro(through.saturating_sub(alone));
        let line = table.line(&name, &micro(through));
        line.aim(aim).note(&format!("+{added}"));
    }
    Ok(())
}

fn micro(time: Duration) -> String {
    format!("{} µs", time.as_micros())
}

/// A model whose answers are made of the times at which their pieces were sent.
fn model(gate: &Gate, since: Instant) -> ScriptedModel {
    let gate = gate.clone();
    ScriptedModel::answering(move |_: &Request| {
        let start = Reply::new().then(hold(&gate));
        (0..EVENTS).fold(start, |reply, _| {
            reply.then(stamp(since)).then(pause(BETWEEN))
        })
    })
}

fn bare() -> Result<Samples> {
    let (gate, since) = (Gate::new(), Instant::now());
    let model = model(&gate, since);
    let home = Home::new(&model);
    let start = |ready: mpsc::Sender<()>| -> Result<Samples> {
        let mut bare = Bare::start(&home)?;
        bare.peer.prompt("hi")?;
        bare.peer.until("turn_start")?;
        ready.send(())?;
        stamps(&mut bare.peer, since)
    };
    all(&gate, start)
}

fn daemon() -> Result<Samples> {
    let (gate, since) = (Gate::new(), Instant::now());
    let model = model(&gate, since);
    let home = Home::new(&model);
    let daemon = Daemon::start(&home)?;
    let start = |ready: mpsc::Sender<()>| -> Result<Samples> {
        let mut peer = daemon.connect()?;
        let agent = daemon.create(&mut peer)?;
        daemon.attach(&mut peer, &agent)?;
        peer.prompt("hi")?;
        peer.until("turn_start")?;
        ready.send(())?;
        stamps(&mut peer, since)
    };
    all(&gate, start)
}

/// Has each reader run on a thread of its own, and lets all answers begin at once.
fn all(gate: &Gate, read: impl Fn(mpsc::Sender<()>) -> Result<Samples> + Sync) -> Result<Samples> {
    let mut all = Samples::default();
    thread::scope(|scope| -> Result<()> {
        let (ready, readies) = mpsc::channel();
        let readers: Vec<_> = (0..AGENTS)
            .map(|_| {
                let (read, ready) = (&read, ready.clone());
                scope.spawn(move || read(ready))
            })
            .collect();
        drop(ready);
        for _ in 0..AGENTS {
            // Without all of them the rest waits no longer either, and one says why.
            if readies.recv().is_err() {
                break;
            }
        }
        gate.open();
        for reader in readers {
            all.merge(
                reader
                    .join()
                    .map_err(|_| anyhow!("a reader broke down"))??,
            );
        }
        Ok(())
    })?;
    Ok(all)
}

/// Reads a whole turn; how old each piece was when it was read.
fn stamps(peer: &mut Peer, since: Instant) -> Result<Samples> {
    let mut ages = Samples::default();
    loop {
        let line = peer.line()?;
        if line.contains("\"type\":\"turn_end\"") {
            return Ok(ages);
        }
        let Some((_, rest)) = line.split_once("\"text_delta\":\"") else {
            continue;
        };
        let now = since.elapsed();
        // Neighbours that were joined while they waited came together.
        let words = rest.split('"').next().unwrap_or_default();
        for word in words.split_whitespace() {
            let sent = Duration::from_micros(word.parse()?);
            ages.push(now.saturating_sub(sent));
        }
    }
}
