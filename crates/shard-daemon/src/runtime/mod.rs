//! One process that serves an Agent, from its start to the end of everything below it.
//!
//! The task here is the only holder of the child. What the process prints comes out in order, as
//! [`RuntimeEvent`]s; what it is told goes into its stdin. Who may hear or say what is decided by
//! its agent ([`crate::agent`]).

mod last_words;
mod line;
mod process;

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use shard_protocol::codec::Record;
use shard_transports::Outbox;
use shard_transports::unix::{self, ByteRecords};
use tokio::process::Child;
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until, timeout};

pub(crate) use line::{Line, SyncHead, Violation, What};
pub(crate) use process::Launch;

use last_words::LastWords;

/// Batches of lines that wait for the agent. Each is at most what one read brought.
const BATCHES: usize = 4;

/// What a process may leave unread of what it is told, in bytes.
const UNREAD: usize = 32 << 20;

/// Longest line of a process, in bytes. More than any message of a client, because the process
/// repeats what it was told, with its own words around it.
const LONGEST_LINE: usize = 24 << 20;

/// How long a process may take to say that it is ready.
pub(crate) const READY: Duration = Duration::from_secs(20);

/// How long a process may take to end by itself once its stdin is closed.
const WIND_UP: Duration = Duration::from_millis(4500);

/// How long what a dead process had printed may take to be read.
const DRAIN: Duration = Duration::from_secs(2);

/// What comes from a process.
#[derive(Debug)]
pub(crate) enum RuntimeEvent {
    /// Lines, in order.
    Lines(Vec<Line>),
    /// It broke the rules; it is being ended.
    Broken(Violation),
    /// It and everything that it started are gone.
    Ended(Ending),
}

/// How a process ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Ending {
    /// Without anything that may be a secret.
    pub(crate) reason: String,
    pub(crate) exit_code: Option<i32>,
    /// The last lines that it printed on stderr; only for whoever asked for the process.
    pub(crate) last_words: String,
}

impl Ending {
    /// How it ended and what it said last, for whoever asked for the process.
    pub(crate) fn in_words(&self) -> String {
        if self.last_words.is_empty() {
            return self.reason.clone();
        }
        format!("{}; its last words: {}", self.reason, self.last_words)
    }
}

/// How to end a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stop {
    /// It ends its turn and goes; if it does not, it is killed.
    Gently,
    /// Now.
    Now,
}

/// A process that runs. Dropping this ends it.
#[derive(Debug)]
pub(crate) struct Runtime {
    stdin: Arc<Outbox>,
    events: mpsc::Receiver<RuntimeEvent>,
    stop: mpsc::Sender<Stop>,
}

impl Runtime {
    /// Starts a process. That it could not be started comes out as its end.
    pub(crate) fn start(launch: Launch) -> Self {
        let (sender, events) = mpsc::channel(BATCHES);
        let (stop, stops) = mpsc::channel(2);
        let stdin = Arc::new(Outbox::new(UNREAD));
        _ = stdin.push(launch.introduction());
        tokio::spawn(supervise(launch, Arc::clone(&stdin), sender, stops));
        Self {
            stdin,
            events,
            stop,
        }
    }

    /// Tells the process something, as a line with its ending. One that leaves too much unread is
    /// ended.
    pub(crate) fn tell(&self, line: impl Into<Bytes>) {
        if self.stdin.push(line).is_err() {
            self.stop(Stop::Now);
        }
    }

    /// Ends the process; its end comes as the last event.
    pub(crate) fn stop(&self, how: Stop) {
        // Two may wait, which is one of each sort; more would say nothing new.
        _ = self.stop.try_send(how);
    }

    /// The next event. Cancel safe. After the end nothing comes.
    pub(crate) async fn next(&mut self) -> RuntimeEvent {
        match self.events.recv().await {
            Some(event) => event,
            None => std::future::pending().await,
        }
    }
}

async fn supervise(
    launch: Launch,
    stdin: Arc<Outbox>,
    events: mpsc::Sender<RuntimeEvent>,
    mut stops: mpsc::Receiver<Stop>,
) {
    let mut child = match launch.spawn() {
        Ok(child) => child,
        Err(error) => {
            let ending = Ending {
                reason: format!("it could not be started: {error}"),
                exit_code: None,
                last_words: String::new(),
            };
            _ = events.send(RuntimeEvent::Ended(ending)).await;
            return;
        }
    };
    let writing = child.stdin.take().map(|sink| {
        let stdin = Arc::clone(&stdin);
        tokio::spawn(async move { unix::write(&stdin, sink).await })
    });
    let last_words = child.stderr.take().map(LastWords::listen);
    let pumping = child.stdout.take().map(|stdout| {
        let events = events.clone();
        let records = ByteRecords::with_limit(stdout, LONGEST_LINE);
        tokio::spawn(pump(records, events))
    });
    let status = wait(&mut child, &stdin, &mut stops).await;
    stdin.give_up();
    if let Some(writing) = writing {
        writing.abort();
    }
    if let Some(pumping) = pumping {
        // What it had printed before it ended still counts; a tool may hold the pipe open.
        drain(pumping).await;
    }
    process::sweep().await;
    let last_words = match last_words {
        Some(words) => words.heard().await,
        None => String::new(),
    };
    let ending = Ending {
        reason: process::describe(&status),
        exit_code: status.ok().and_then(|status| status.code()),
        last_words,
    };
    _ = events.send(RuntimeEvent::Ended(ending)).await;
}

/// Waits for the end of the process, and brings it about when asked to.
async fn wait(
    child: &mut Child,
    stdin: &Outbox,
    stops: &mut mpsc::Receiver<Stop>,
) -> std::io::Result<std::process::ExitStatus> {
    let mut kill_at: Option<Instant> = None;
    loop {
        tokio::select! {
            status = child.wait() => return status,
            stop = stops.recv() => match stop {
                Some(Stop::Now) => {
                    process::kill(child);
                    kill_at = None;
                }
                // Nobody holds the handle any more: nobody needs the process.
                Some(Stop::Gently) | None => {
                    stdin.close();
                    kill_at.get_or_insert_with(|| Instant::now() + WIND_UP);
                    if stop.is_none() {
                        return finish(child, kill_at).await;
                    }
                }
            },
            () = at(kill_at) => {
                process::kill(child);
                kill_at = None;
            }
        }
    }
}

/// Resolves at that moment; never, if there is none.
pub(crate) async fn at(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}

/// Waits for the end after which nobody asks.
async fn finish(
    child: &mut Child,
    kill_at: Option<Instant>,
) -> std::io::Result<std::process::ExitStatus> {
    if let Some(at) = kill_at
        && let Ok(status) = tokio::time::timeout_at(at, child.wait()).await
    {
        return status;
    }
    process::kill(child);
    child.wait().await
}

/// Hands on what the process prints, in the batches in which it comes.
async fn pump(
    mut records: ByteRecords<tokio::process::ChildStdout>,
    events: mpsc::Sender<RuntimeEvent>,
) {
    loop {
        let records = records.next_batch().await;
        if records.is_empty() {
            return;
        }
        let (mut lines, mut broken) = (Vec::with_capacity(records.len()), None);
        for record in records {
            match read(record) {
                Ok(line) => lines.push(line),
                Err(violation) => {
                    broken = Some(violation);
                    break;
                }
            }
        }
        if events.send(RuntimeEvent::Lines(lines)).await.is_err() {
            return;
        }
        if let Some(violation) = broken {
            _ = events.send(RuntimeEvent::Broken(violation)).await;
            return;
        }
    }
}

fn read(record: Record) -> Result<Line, Violation> {
    match record {
        Record::Line(text) => Line::read(text),
        Record::NotUtf8 => Err(Violation("a line that is no text")),
        Record::TooLong(_) => Err(Violation("a line that is too long")),
    }
}

async fn drain(mut pumping: tokio::task::JoinHandle<()>) {
    if timeout(DRAIN, &mut pumping).await.is_err() {
        pumping.abort();
    }
}
