//! Child processes: how they are started, listened to and ended.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::process::{Child, Command};
use tokio::task::JoinHandle;

use crate::home::Home;

/// The program under test: `$SHARD_BIN`, else `shard` in the folder that cargo put the running
/// test's own folder into.
pub(crate) fn default_binary() -> PathBuf {
    if let Some(path) = std::env::var_os("SHARD_BIN") {
        // Children start in another directory, where a relative path would mean something else.
        let path = PathBuf::from(path);
        return std::path::absolute(&path).unwrap_or(path);
    }
    let test = std::env::current_exe().unwrap_or_default();
    let profile = test.parent().and_then(Path::parent);
    profile.unwrap_or(Path::new("")).join("shard")
}

/// Starts the program in the home's work directory, with the home's environment and no other,
/// in a process group of its own.
pub(crate) fn spawn(home: &Home, args: &[&str], stdin: Stdio) -> Child {
    let binary = home.binary();
    let spawned = Command::new(binary)
        .args(args)
        .current_dir(home.work())
        .env_clear()
        .envs(home.env())
        .stdin(stdin)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0)
        .kill_on_drop(true)
        .spawn();
    spawned.unwrap_or_else(|error| {
        panic!(
            "cannot start {}: {error}; build the binary first (cargo build --workspace) or set SHARD_BIN",
            binary.display()
        )
    })
}

/// Kills the child and waits for its end, so that nothing of it is left when this returns.
pub(crate) fn end(child: &mut Child) {
    let _already_over = child.start_kill();
    let deadline = Instant::now() + Duration::from_secs(5);
    while matches!(child.try_wait(), Ok(None)) && Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// What came out of a pipe so far.
#[derive(Debug, Clone, Default)]
pub(crate) struct Collected(Arc<Mutex<Vec<u8>>>);

impl Collected {
    /// Reads the pipe to its end in a task of its own.
    pub(crate) fn from(
        mut pipe: impl AsyncRead + Unpin + Send + 'static,
    ) -> (Self, JoinHandle<()>) {
        let collected = Self::default();
        let target = collected.clone();
        let task = tokio::spawn(async move {
            let mut part = [0; 8192];
            while let Ok(length @ 1..) = pipe.read(&mut part).await {
                target.lock().extend_from_slice(&part[..length]);
            }
        });
        (collected, task)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<u8>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.lock()).into_owned()
    }

    /// The last part of the text, for a failing test's message.
    pub(crate) fn tail(&self) -> String {
        let text = self.text();
        let from = text.char_indices().rev().nth(1999).map_or(0, |(at, _)| at);
        text[from..].trim_end().to_owned()
    }
}
