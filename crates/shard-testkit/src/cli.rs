//! Runs the program to its end, as from a command line.

use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use tokio::io::AsyncWriteExt;

use crate::child::{self, Collected};
use crate::home::Home;

/// How long a run may take.
const DEADLINE: Duration = Duration::from_secs(20);

/// How long the output may stay open after the program ended: a process that it left in the
/// background may have inherited it.
const GRACE: Duration = Duration::from_millis(500);

/// What a run left behind.
#[derive(Debug, Clone)]
pub struct Output {
    /// How it ended.
    pub status: ExitStatus,
    /// What it printed.
    pub stdout: String,
    /// What it complained about.
    pub stderr: String,
}

impl Output {
    /// The exit code; -1 when a signal ended the run.
    #[must_use]
    pub fn code(&self) -> i32 {
        self.status.code().unwrap_or(-1)
    }
}

/// Runs `shard ARGS` in the home's work directory, with that input or none. A run of more than
/// 20 s is killed and fails the test.
pub async fn run_cli(home: &Home, args: &[&str], stdin: Option<&[u8]>) -> Output {
    let input = stdin.map_or_else(Stdio::null, |_| Stdio::piped());
    let mut child = child::spawn(home, args, input);
    let (stdout, out_task) = Collected::from(child.stdout.take().unwrap_or_else(no_pipe));
    let (stderr, err_task) = Collected::from(child.stderr.take().unwrap_or_else(no_pipe));
    let pipe = child.stdin.take();
    let feed = async {
        if let (Some(mut pipe), Some(bytes)) = (pipe, stdin) {
            // A program may end without reading its input.
            let _unread = pipe.write_all(bytes).await;
        }
    };
    let whole = async { tokio::join!(child.wait(), feed).0 };
    let Ok(status) = tokio::time::timeout(DEADLINE, whole).await else {
        child::end(&mut child);
        panic!(
            "`shard {}` still ran after {DEADLINE:?}\nstdout: {}\nstderr: {}",
            args.join(" "),
            stdout.tail(),
            stderr.tail()
        );
    };
    let pipes = async { tokio::join!(out_task, err_task) };
    let _held_open = tokio::time::timeout(GRACE, pipes).await;
    Output {
        status: status.unwrap_or_else(|error| panic!("cannot wait for shard: {error}")),
        stdout: stdout.text(),
        stderr: stderr.text(),
    }
}

fn no_pipe<T>() -> T {
    panic!("a pipe that was asked for is missing")
}
