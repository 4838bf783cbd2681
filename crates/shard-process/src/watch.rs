//! The owner's task for one command: it waits for the reaper, so that no handle has to.
//!
//! The task outlives the handles and ends with the reaper. It publishes two facts, in this
//! order: how the command ended, and that nothing of it is left. It never makes the reaper end;
//! that is the life pipe's part, and works without this task. Only a reaper that does not keep
//! its time is killed from here, and then what it had below it.

use std::future::pending;
use std::io;
use std::os::fd::OwnedFd;
use std::process::Child;
use std::sync::Arc;
use std::time::Duration;

use rustix::process::{Pid, Signal, pidfd_send_signal};
use tokio::io::AsyncReadExt;
use tokio::io::unix::AsyncFd;
use tokio::net::unix::pipe::Receiver;
use tokio::sync::{oneshot, watch};
use tokio::time::sleep;

use crate::reaper::Report;
use crate::running::{Exit, Process};
use crate::{strays, sys};

/// How long a reaper may take to end its tree. It is through in a fraction of that unless it was
/// stopped or its processes hang in the kernel.
const REAPER_LIMIT: Duration = Duration::from_millis(2500);

/// What is known of a command.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct State {
    /// How its own process ended.
    pub(crate) exit: Option<Exit>,
    /// Whether everything below it is gone, the reaper included.
    pub(crate) gone: bool,
}

/// Keeps the tree alive; dropping it ends the tree.
#[derive(Debug)]
pub(crate) struct Life {
    pidfd: Arc<OwnedFd>,
    /// The only copy of the life pipe's writing end.
    _pipe: OwnedFd,
    /// Never sent: the watching task notices when it is dropped.
    _held: oneshot::Sender<()>,
}

impl Drop for Life {
    fn drop(&mut self) {
        // A reaper that was stopped would not notice the end of the pipe.
        _ = pidfd_send_signal(&self.pidfd, Signal::CONT);
    }
}

/// How a reaper ended.
#[derive(PartialEq, Eq)]
enum Ended {
    /// With nothing left below it.
    Done,
    /// By somebody else, or unknown: there may be strays.
    Killed,
}

/// A reaper that still has to be waited for.
#[derive(Debug)]
pub(crate) struct Reaper {
    child: Option<Child>,
    pid: Pid,
}

impl Reaper {
    pub(crate) fn new(child: Child) -> Self {
        Self {
            pid: Pid::from_child(&child),
            child: Some(child),
        }
    }

    pub(crate) fn pid(&self) -> Pid {
        self.pid
    }

    /// Waits for a reaper that has nothing to do, which takes no time.
    pub(crate) fn wait_idle(&mut self) {
        if let Some(mut child) = self.child.take() {
            _ = child.wait();
            strays::forget(self.pid);
        }
    }

    fn try_wait(&mut self) -> Option<Ended> {
        let ended = match self.child.as_mut()?.try_wait() {
            Ok(None) => return None,
            Ok(Some(status)) if status.success() => Ended::Done,
            Ok(Some(_)) | Err(_) => Ended::Killed,
        };
        strays::forget(self.pid);
        self.child = None;
        Some(ended)
    }
}

impl Drop for Reaper {
    /// The runtime ended before the reaper did: somebody else has to wait for it.
    fn drop(&mut self) {
        if let Some(child) = self.child.take() {
            strays::leave_unwatched(child);
        }
    }
}

struct Watch {
    reaper: Reaper,
    ended: AsyncFd<Arc<OwnedFd>>,
    status: Receiver,
    state: watch::Sender<State>,
}

/// Starts the task that watches a reaper.
pub(crate) fn start(
    reaper: Reaper,
    pidfd: Arc<OwnedFd>,
    status: Receiver,
    pipe: OwnedFd,
) -> io::Result<Process> {
    let (held, dropped) = oneshot::channel();
    let (state, known) = watch::channel(State::default());
    let pid = reaper.pid();
    let ended = sys::await_readable(Arc::clone(&pidfd))?;
    tokio::spawn(
        Watch {
            reaper,
            ended,
            status,
            state,
        }
        .run(dropped),
    );
    Ok(Process::new(
        pid,
        known,
        Life {
            pidfd,
            _pipe: pipe,
            _held: held,
        },
    ))
}

impl Watch {
    async fn run(mut self, dropped: oneshot::Receiver<()>) {
        let pidfd = Arc::clone(self.ended.get_ref());
        tokio::select! {
            () = self.follow() => {}
            () = hurry(&pidfd, dropped) => {}
        }
    }

    async fn follow(&mut self) {
        let exit = read_status(&mut self.status).await;
        self.state.send_modify(|state| state.exit = Some(exit));
        if self.wait().await == Ended::Killed {
            strays::end_all(self.reaper.pid()).await;
        }
        self.state.send_modify(|state| state.gone = true);
    }

    async fn wait(&mut self) -> Ended {
        loop {
            // An error means that the runtime is ending, and this task with it.
            let Ok(mut ready) = self.ended.readable().await else {
                return Ended::Killed;
            };
            if let Some(ended) = self.reaper.try_wait() {
                return ended;
            }
            ready.clear_ready();
        }
    }
}

/// The second report, as the start is over; its absence means that the reaper was killed.
async fn read_status(status: &mut Receiver) -> Exit {
    let mut record = [0; Report::SIZE];
    match status
        .read_exact(&mut record)
        .await
        .map(|_| Report::from_bytes(record))
    {
        Ok(Report::Ended(status)) => Exit::from_raw(status),
        _ => Exit::Lost,
    }
}

/// Kills the reaper some time after its life pipe was closed; never returns.
async fn hurry(pidfd: &OwnedFd, dropped: oneshot::Receiver<()>) {
    _ = dropped.await;
    sleep(REAPER_LIMIT).await;
    _ = pidfd_send_signal(pidfd, Signal::KILL);
    pending().await
}
