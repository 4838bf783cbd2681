//! A daemon in the background.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io::Read;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context, anyhow};
use tokio::time::{Instant, sleep};

use crate::client::Client;
use crate::failure::{FAILED, Failure, UNREACHABLE};
use crate::log;
use crate::places::Places;

/// How long a daemon may take until it answers.
const START: Duration = Duration::from_secs(20);

/// How often it is tried.
const TRY: Duration = Duration::from_millis(50);

/// How much is read of what a daemon said before it gave up, in bytes.
const LAST_WORDS: u64 = 64 * 1024;

/// Starts one with these flags, and connects to it.
pub(super) async fn start(places: &Places, flags: &[String]) -> Result<Client, Failure> {
    let folder = log::folder(&places.state_home);
    let path = folder.join("daemon.out");
    let output = output(&folder, &path)
        .with_context(|| format!("cannot write what the daemon says to {}", path.display()))?;
    let mut child = spawn(places, flags, &output).context("cannot start the daemon")?;
    let deadline = Instant::now() + START;
    loop {
        sleep(TRY).await;
        match Client::connect(places).await {
            Err(failure) if failure.code == UNREACHABLE => {}
            connected => return connected,
        }
        if let Ok(Some(status)) = child.try_wait() {
            // Somebody else's may have been faster; then this one gave way.
            if let Ok(client) = Client::connect(places).await {
                return Ok(client);
            }
            let why = last_words(&path).unwrap_or_else(|| format!("it ended with {status}"));
            return Err(anyhow!("the daemon did not start: {why}").into());
        }
        if Instant::now() > deadline {
            return Err(Failure {
                code: FAILED,
                message: format!(
                    "the daemon (pid {}) does not answer; {} may say why",
                    child.id(),
                    path.display()
                ),
            });
        }
    }
}

/// Where a daemon's words go that has no terminal.
fn output(folder: &Path, path: &Path) -> std::io::Result<File> {
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(folder)?;
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true).mode(0o600);
    options.open(path)
}

fn spawn(places: &Places, flags: &[String], output: &File) -> std::io::Result<Child> {
    let mut command = Command::new(std::env::current_exe()?);
    command.args(["daemon", "--background"]).args(flags);
    command
        .env("SHARD_HOME", &places.state_home) // it may have been relative to this folder
        .current_dir("/")
        .stdin(Stdio::null())
        .stdout(output.try_clone()?)
        .stderr(output.try_clone()?)
        .spawn()
}

/// The last line that a daemon wrote, which says why it gave up.
fn last_words(path: &Path) -> Option<String> {
    let mut text = String::new();
    File::open(path)
        .ok()?
        .take(LAST_WORDS)
        .read_to_string(&mut text)
        .ok()?;
    let line = text.lines().rev().find(|line| !line.trim().is_empty())?;
    Some(line.trim_start_matches("shard: ").to_owned())
}
