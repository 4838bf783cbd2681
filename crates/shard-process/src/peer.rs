//! Who is at the other end of a unix socket: a process that descends from this one, or another.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::process::{Pid, PidfdFlags, getpid, pidfd_open};

use crate::proc::{self, Process};
use crate::sys;

/// How often the way up is walked before it is given up. Processes on it may end meanwhile, and
/// their children move to the nearest subreaper.
const TRIES: usize = 16;

/// More levels than any real tree has.
const MAX_DEPTH: usize = 4096;

/// The process that opened a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Peer {
    /// It descends from this process: an agent, or something that an agent's tool started.
    Descendant,
    /// It does not.
    Stranger,
}

/// Why it cannot be told who the peer is.
#[derive(Debug, thiserror::Error)]
pub enum PeerError {
    /// The process is gone.
    #[error("the process that connected is gone")]
    Gone,
    /// The kernel does not say.
    #[error("the kernel does not say who connected")]
    Unknown(#[from] io::Error),
}

impl Peer {
    /// Judges the process that connected. It and every process on the way up are held by a
    /// descriptor while they are looked at, so that a number that is used anew can't mislead.
    ///
    /// # Errors
    /// [`PeerError`]; who can't be told must not be trusted.
    pub fn of(socket: impl AsFd) -> Result<Self, PeerError> {
        let pidfd = sys::peer_pidfd(socket.as_fd())?;
        let pid = match proc::pid_of(&pidfd)? {
            Some(pid) => pid,
            // It has no number here: whatever descends from this process has one.
            None => return Ok(Self::Stranger),
        };
        for _ in 0..TRIES {
            if let Some(peer) = judge(pid, pidfd.as_fd())? {
                return Ok(peer);
            }
        }
        Err(PeerError::Gone)
    }
}

/// Walks up from a process; `None` if the tree changed meanwhile.
fn judge(pid: Pid, pidfd: BorrowedFd<'_>) -> Result<Option<Peer>, PeerError> {
    let this = getpid();
    let (mut pid, mut held) = (pid, pidfd.try_clone_to_owned()?);
    for depth in 0..MAX_DEPTH {
        if pid == this {
            return Ok(Some(Peer::Descendant));
        }
        let parent = Process::read(pid).map(|process| process.parent);
        // Alive after the look: so it was this process that was looked at.
        let parent = match parent {
            Some(parent) if is_alive(&held)? => parent,
            _ if depth == 0 => return Err(PeerError::Gone),
            _ => return Ok(None),
        };
        let Some(parent) = Pid::from_raw(parent) else {
            return Ok(Some(Peer::Stranger)); // the first process, or one of an outer namespace
        };
        let Ok(parent_held) = pidfd_open(parent, PidfdFlags::empty()) else {
            return Ok(None);
        };
        // Still the parent now that it is held: so the descriptor is the parent's.
        let unchanged =
            Process::read(pid).is_some_and(|it| it.parent == parent.as_raw_nonzero().get());
        if !unchanged || !is_alive(&held)? {
            return Ok(None);
        }
        (pid, held) = (parent, parent_held);
    }
    Ok(None)
}

fn is_alive(pidfd: &OwnedFd) -> io::Result<bool> {
    let mut wanted = [PollFd::new(pidfd, PollFlags::IN)];
    let now = Timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    Ok(rustix::event::poll(&mut wanted, Some(&now))? == 0)
}
