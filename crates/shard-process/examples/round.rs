//! Compares the time of one `bash -c true`, from start to end of output and exit, with the same
//! through the standard library, and confined. Prints the medians and their differences.
#![expect(clippy::print_stdout, reason = "a measurement is for reading")]

use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use shard_process::{CommandSpec, Domain, spawn};

const ROUNDS: usize = 200;

fn main() -> Result<(), Box<dyn Error>> {
    shard_process::harden()?;
    let megabytes: usize = std::env::args().nth(1).map_or(Ok(0), |text| text.parse())?;
    // A heap in use, as an owner has it: forking copies its page tables.
    let heap = vec![1_u8; megabytes << 20];
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let places = ["/tmp", "/var/tmp", "/dev/shm", "/dev/null", "/dev/zero"].map(Path::new);
    let domain = Domain::writing_only(places)?.map(Arc::new);
    let (mut plain, mut ours, mut confined) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        let start = Instant::now();
        Command::new("bash")
            .args(["-c", "true"])
            .stdin(Stdio::null())
            .output()?;
        plain.push(start.elapsed());
        let start = Instant::now();
        runtime.block_on(once(None))?;
        ours.push(start.elapsed());
        let start = Instant::now();
        runtime.block_on(once(domain.clone()))?;
        confined.push(start.elapsed());
    }
    let (plain, ours, confined) = (median(plain), median(ours), median(confined));
    println!(
        "heap {} MB: std {plain:?}, shard-process {ours:?}, difference {:?}, ratio {:.2}; confined {confined:?}",
        heap.len() >> 20,
        ours.saturating_sub(plain),
        ours.as_secs_f64() / plain.as_secs_f64(),
    );
    Ok(())
}

async fn once(domain: Option<Arc<Domain>>) -> Result<(), Box<dyn Error>> {
    let spec = CommandSpec {
        argv: ["bash", "-c", "true"].map(Into::into).to_vec(),
        cwd: PathBuf::from("/"),
        env: std::env::vars_os().collect(),
        domain,
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
