//! The handles to a command: its output, its process, and what stays of it in the background.
//!
//! Each handle that owns a [`Life`] ends the whole tree when it is dropped.

use std::io;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::time::Duration;

use rustix::process::Pid;
use tokio::io::AsyncReadExt;
use tokio::net::unix::pipe::Receiver;
use tokio::sync::watch;
use tokio::time::{sleep, timeout};

use crate::proc::{self, LeftBehind};
use crate::watch::{Life, State};

/// How long [`Running::end`] waits at most.
const END_LIMIT: Duration = Duration::from_secs(4);

/// How a command's own process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// It exited with this code.
    Code(i32),
    /// This signal ended it.
    Signal(i32),
    /// Its reaper was killed, so that nobody knows. What was left of the command is being ended.
    Lost,
}

impl Exit {
    pub(crate) fn from_raw(status: i32) -> Self {
        let status = ExitStatus::from_raw(status);
        match (status.code(), status.signal()) {
            (Some(code), _) => Self::Code(code),
            (None, Some(signal)) => Self::Signal(signal),
            (None, None) => Self::Lost,
        }
    }
}

/// A started command. Dropping it ends every process of the command.
///
/// The two parts are fields so that one caller can wait for both at once.
#[derive(Debug)]
pub struct Running {
    /// What the command writes.
    pub output: Output,
    /// The command's processes.
    pub process: Process,
}

impl Running {
    /// Reads from the output; see [`Output::read`].
    ///
    /// # Errors
    /// What the system says; a closed pipe is not an error.
    pub async fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.output.read(buffer).await
    }

    /// Waits for the command's own process; see [`Process::exited`].
    pub async fn exited(&mut self) -> Exit {
        self.process.exited().await
    }

    /// Names what still runs; see [`Process::left_behind`].
    #[must_use]
    pub fn left_behind(&self) -> Vec<LeftBehind> {
        self.process.left_behind()
    }

    /// Ends every process of the command and waits until all are gone, at most about 4 s.
    pub async fn end(self) {
        self.process.end().await;
    }

    /// Lets what was left in the background go on. Its output is read and thrown away.
    ///
    /// # Panics
    /// Outside a runtime.
    #[must_use = "dropping the guard ends the processes"]
    pub fn keep(self) -> Background {
        tokio::spawn(discard(self.output, self.process.state.clone()));
        Background {
            process: self.process,
        }
    }
}

/// The reading end of a command's standard output and error.
#[derive(Debug)]
pub struct Output(Receiver);

impl Output {
    pub(crate) fn new(pipe: Receiver) -> Self {
        Self(pipe)
    }

    /// Reads the next bytes, in the order they were written; 0 once nobody can write any more.
    ///
    /// A process in the background may hold the pipe open for as long as it lives. Cancel safe.
    ///
    /// # Errors
    /// What the system says; a closed pipe is not an error.
    pub async fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.read(buffer).await
    }
}

/// The processes of a command. Dropping it ends them all.
#[derive(Debug)]
pub struct Process {
    reaper: Pid,
    state: watch::Receiver<State>,
    life: Life,
}

impl Process {
    pub(crate) fn new(reaper: Pid, state: watch::Receiver<State>, life: Life) -> Self {
        Self {
            reaper,
            state,
            life,
        }
    }

    /// Waits until the command's own process ended, whatever it left in the background.
    ///
    /// Cancel safe, and may be awaited again.
    pub async fn exited(&mut self) -> Exit {
        match self.state.wait_for(|state| state.exit.is_some()).await {
            Ok(state) => state.exit.unwrap_or(Exit::Lost),
            Err(_) => Exit::Lost,
        }
    }

    /// Names the processes of the command that still live: all its descendants, and until
    /// [`exited`](Self::exited) its own process. At most 16, with shortened command lines.
    #[must_use]
    pub fn left_behind(&self) -> Vec<LeftBehind> {
        if self.state.borrow().gone {
            return Vec::new();
        }
        let found = proc::descendants(self.reaper);
        // Once the reaper was waited for, its number may be another process's.
        if self.state.borrow().gone {
            Vec::new()
        } else {
            found
        }
    }

    /// The process id of the reaper, for diagnostics.
    #[must_use]
    pub fn reaper(&self) -> u32 {
        self.reaper.as_raw_nonzero().get().unsigned_abs()
    }

    /// Ends every process of the command and waits until all are gone, at most about 4 s.
    pub async fn end(self) {
        let Self {
            mut state, life, ..
        } = self;
        drop(life);
        _ = timeout(END_LIMIT, state.wait_for(|state| state.gone)).await;
    }
}

/// What a command left running. Dropping it ends every process of the command.
#[derive(Debug)]
pub struct Background {
    process: Process,
}

impl Background {
    /// Names what still runs; see [`Process::left_behind`].
    #[must_use]
    pub fn left_behind(&self) -> Vec<LeftBehind> {
        self.process.left_behind()
    }

    /// Ends every process and waits until all are gone, at most about 4 s.
    pub async fn end(self) {
        self.process.end().await;
    }
}

/// Keeps a background process from blocking on a full pipe or dying of a closed one.
async fn discard(mut output: Output, mut state: watch::Receiver<State>) {
    let read_all = async {
        let mut buffer = vec![0; 64 * 1024];
        while let Ok(read @ 1..) = output.read(&mut buffer).await {
            // A process that prints without end is held to a few MB/s, so that it costs the
            // owner next to nothing.
            if read == buffer.len() {
                sleep(Duration::from_millis(10)).await;
            }
        }
    };
    tokio::select! {
        () = read_all => {}
        // The pipe may have been handed to a process that isn't ours.
        _ = state.wait_for(|state| state.gone) => {}
    }
}
