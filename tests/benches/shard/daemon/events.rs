//! How many small events pass in a second.

use std::io::{BufRead, BufReader, Write};
use std::sync::mpsc;
use std::thread;
use std::time::Instant;

use anyhow::{Result, anyhow};
use shard_testkit::{Home, Reply, ScriptedModel, text};

use super::peer::{Bare, Daemon, Peer};
use crate::deltas::cpu_seconds;
use crate::table::Table;

/// Events of one run.
const EVENTS: usize = 60_000;

/// About how long the line of one is, in bytes.
const LINE: usize = 200;

/// How often each is run; the best counts, as others only show what else the machine did.
const RUNS: usize = 5;

pub(crate) fn report(table: &mut Table) -> Result<()> {
    let pipe = best(|| pipe().map(|rate| (rate, 0.0)))?.0;
    table.line("lines through a pipe", &per_second(pipe));
    let bare = best(|| {
        let (_model, home) = home(EVENTS);
        let mut bare = Bare::start(&home)?;
        bare.peer.prompt("hi")?;
        Ok((rate(&mut bare.peer)?, 0.0))
    })?;
    table
        .line("small events through a process", &per_second(bare.0))
        .note(&format!("x{:.2} of the pipe", bare.0 / pipe));
    for clients in [1, 10, 100] {
        let (rate, spent) = best(|| through_daemon(clients))?;
        let name = format!("small events through the daemon, {clients} client(s)");
        let line = table.line(&name, &per_second(rate));
        if clients == 1 {
            line.aim("x0.3 of the pipe at least");
        }
        line.note(&format!(
            "x{:.2} of the process, x{:.2} of the pipe",
            rate / bare.0,
            rate / pipe
        ));
        let name = format!("the same, the daemon's own time for an event, {clients} client(s)");
        table.line(&name, &format!("{:.2} µs", spent * 1e6));
    }
    Ok(())
}

/// What a pipe carries: lines of the same length, each written by itself, and taken apart again.
fn pipe() -> Result<f64> {
    let (reader, mut writer) = std::io::pipe()?;
    let writing = thread::spawn(move || -> Result<()> {
        let line = format!("{}\n", "x".repeat(LINE));
        for _ in 0..EVENTS {
            writer.write_all(line.as_bytes())?;
        }
        Ok(())
    });
    let began = Instant::now();
    let mut reader = BufReader::with_capacity(1 << 16, reader);
    let (mut count, mut line) = (0_u32, String::new());
    while reader.read_line(&mut line)? > 0 {
        line.clear();
        count += 1;
    }
    writing
        .join()
        .map_err(|_| anyhow!("the writer broke down"))??;
    Ok(f64::from(count) / began.elapsed().as_secs_f64())
}

fn per_second(rate: f64) -> String {
    format!("{rate:.0}/s")
}

/// The highest rate, and the least time of the daemon for an event, in seconds.
fn best(mut run: impl FnMut() -> Result<(f64, f64)>) -> Result<(f64, f64)> {
    let mut best = (0.0_f64, f64::MAX);
    for _ in 0..RUNS {
        let (rate, spent) = run()?;
        best = (best.0.max(rate), best.1.min(spent));
    }
    Ok(best)
}

fn home(events: usize) -> (ScriptedModel, Home) {
    let words = "ab ".repeat(events);
    let model = ScriptedModel::start([Reply::new().then(text(words).chunks(events))]);
    let home = Home::new(&model);
    (model, home)
}

#[expect(clippy::cast_precision_loss, reason = "at most 60,000")]
fn through_daemon(clients: usize) -> Result<(f64, f64)> {
    // The more there are to hear it, the less is said.
    let events = EVENTS * 10 / clients.max(10);
    let (_model, home) = home(events);
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
    let before = cpu_seconds(daemon.pid())?;
    first.prompt("hi")?;
    // The slowest counts.
    let mut slowest = rate(&mut first)?;
    for other in others {
        let rate = other.join().map_err(|_| anyhow!("a client broke down"))??;
        slowest = slowest.min(rate);
    }
    let spent = cpu_seconds(daemon.pid())? - before;
    Ok((slowest, spent / events as f64))
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
