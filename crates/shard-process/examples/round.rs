//! Compares the time of one `bash -c true`, from start to end of output and exit, with the same
//! through the standard library. Prints both medians and their difference.
#![expect(clippy::print_stdout, reason = "a measurement is for reading")]

use std::error::Error;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use shard_process::{CommandSpec, spawn};

const ROUNDS: usize = 200;

fn main() -> Result<(), Box<dyn Error>> {
    shard_process::harden()?;
    let megabytes: usize = std::env::args().nth(1).map_or(Ok(0), |text| text.parse())?;
    // A heap in use, as an owner has it: forking copies its page tables.
    let heap = vec![1_u8; megabytes << 20];
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let (mut plain, mut ours) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        let start = Instant::now();
        Command::new("bash")
            .args(["-c", "true"])
            .stdin(Stdio::null())
            .output()?;
        plain.push(start.elapsed());
        let start = Instant::now();
        runtime.block_on(once())?;
        ours.push(start.elapsed());
    }
    let (plain, ours) = (median(plain), median(ours));
    println!(
        "heap {} MB: std {plain:?}, shard-process {ours:?}, difference {:?}, ratio {:.2}",
        heap.len() >> 20,
        ours.saturating_sub(plain),
        ours.as_secs_f64() / plain.as_secs_f64(),
    );
    Ok(())
}

async fn once() -> Result<(), Box<dyn Error>> {
    let spec = CommandSpec {
        argv: ["bash", "-c", "true"].map(Into::into).to_vec(),
        cwd: PathBuf::from("/"),
        env: std::env::vars_os().collect(),
        domain: None,
    };
    let mut running = spawn(&spec)?;
    let mut buffer = [0; 4096];
    while running.read(&mut buffer).await? > 0 {}
    running.exited().await;
    Ok(())
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}
