//! How many small events pass in a second.

use std::sync::mpsc;
use std::thread;
use std::time::Instant;

use anyhow::{Result, anyhow};
use shard_testkit::{Home, Reply, ScriptedModel, text};

use super::peer::{Bare, Daemon, Peer};
use crate::table::Table;

/// Events of one run.
const EVENTS: usize = 60_000;

/// How often each is run; the best counts, as others only show what else the machine did.
const RUNS: usize = 5;

pub(crate) fn report(table: &mut Table) -> Result<()> {
    let bare = best(|| {
        let (_model, home) = home();
        let mut bare = Bare::start(&home)?;
        bare.peer.prompt("hi")?;
        rate(&mut bare.peer)
    })?;
    table.line("small events through a process", &per_second(bare));
    for clients in [1, 10] {
        let rate = best(|| through_daemon(clients))?;
        let name = format!("small events through the daemon, {clients} client(s)");
        let line = table.line(&name, &per_second(rate));
        line.aim("100000/s").note(&format!("x{:.2}", rate / bare));
    }
    Ok(())
}

fn per_second(rate: f64) -> String {
    format!("{rate:.0}/s")
}

fn best(mut run: impl FnMut() -> Result<f64>) -> Result<f64> {
    let mut best = 0.0_f64;
    for _ in 0..RUNS {
        best = best.max(run()?);
    }
    Ok(best)
}

fn home() -> (ScriptedModel, Home) {
    let words = "ab ".repeat(EVENTS);
    let model = ScriptedModel::start([Reply::new().then(text(words).chunks(EVENTS))]);
    let home = Home::new(&model);
    (model, home)
}

fn through_daemon(clients: usize) -> Result<f64> {
    let (_model, home) = home();
    let daemon = Daemon::start(&home)?;
    let mut first = daemon.connect()?;
    let agent = daemon.create(&mut first)?;
    daemon.attach(&mut first, &agent)?;
    let (ready, attached) = mpsc::channel();
    let mut others = Vec::new();
    for _ in 1..clients {
        let (socket, agent, ready) = (daemon.socket(), agent.clone(), ready.clone());
        others.push(thread::spawn(move || -> Result<f64> {
            let mut peer = Peer::attached(&socket, &agent)?;
            ready.send(())?;
            rate(&mut peer)
        }));
    }
    for _ in 1..clients {
        attached.recv()?;
    }
    first.prompt("hi")?;
    // The slowest counts.
    let mut slowest = rate(&mut first)?;
    for other in others {
        let rate = other.join().map_err(|_| anyhow!("a client broke down"))??;
        slowest = slowest.min(rate);
    }
    Ok(slowest)
}

/// Reads all events of a turn; how many came in a second, from the first one on.
fn rate(peer: &mut Peer) -> Result<f64> {
    peer.until("message_delta")?;
    let began = Instant::now();
    let mut count = 1_u32;
    while !peer.line()?.contains("\"type\":\"turn_end\"") {
        count += 1;
    }
    Ok(f64::from(count) / began.elapsed().as_secs_f64())
}
