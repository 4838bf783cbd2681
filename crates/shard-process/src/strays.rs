//! The backstop: what to do when a reaper was killed, and the list of reapers it needs.
//!
//! A killed reaper's children become this process's own, if [`crate::harden`] made it a
//! subreaper. A child of this process is taken for such a stray
//! - if its session is the dead reaper's (the number can't be reused while the session lasts), or
//! - if it can't gain new privileges and is in a session other than ours, which holds for all that
//!   descends from a command and can't be undone by it. This is used only where this process
//!   itself may gain privileges, as all its children would look like that otherwise.
//!
//! No other child is touched. So whoever else starts processes here must not give them both a
//! session of their own and `no_new_privs`.
//!
//! The list is a static because zombies belong to the process, not to a runtime or a value: a
//! reaper whose runtime ended before it did is still to be waited for.

use std::process::Child;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rustix::process::{Pid, Signal, WaitOptions, getpid, kill_process, waitpid};
use tokio::runtime::Handle;
use tokio::time::sleep;

use crate::proc::{self, Process};
use crate::reaper;

/// How often strays are killed before they are given up; with the pause below, about a second.
const ROUNDS: usize = 200;

/// How long killed strays get to die before the next look.
const NEXT_ROUND: Duration = Duration::from_millis(5);

static REAPERS: Mutex<Reapers> = Mutex::new(Reapers {
    watched: Vec::new(),
    unwatched: Vec::new(),
});

struct Reapers {
    /// Started here and not waited for yet.
    watched: Vec<Pid>,
    /// Those of them whose watching task is gone.
    unwatched: Vec<Child>,
}

fn reapers() -> MutexGuard<'static, Reapers> {
    REAPERS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Starts a reaper and lists it, in one step for whoever looks at the list.
pub(crate) fn listed<E>(start: impl FnOnce() -> Result<Child, E>) -> Result<Child, E> {
    let mut reapers = reapers();
    let child = start()?;
    reapers.watched.push(Pid::from_child(&child));
    Ok(child)
}

pub(crate) fn forget(reaper: Pid) {
    reapers().watched.retain(|known| *known != reaper);
}

pub(crate) fn leave_unwatched(child: Child) {
    reapers().unwatched.push(child);
}

/// Waits for those unwatched reapers that have ended.
pub(crate) fn reap_unwatched() {
    let mut reapers = reapers();
    let Reapers { watched, unwatched } = &mut *reapers;
    unwatched.retain_mut(|child| {
        let lives = matches!(child.try_wait(), Ok(None));
        if !lives {
            watched.retain(|known| *known != Pid::from_child(child));
        }
        lives
    });
}

/// Kills and waits for what a killed reaper had below it.
pub(crate) async fn end_all(reaper: Pid) {
    let mut empty_looks = 0;
    for _ in 0..ROUNDS {
        // A list that changes while it is read may lack an entry: one look proves nothing.
        match end_adopted(|child| is_stray(child, Some(reaper))) {
            0 => empty_looks += 1,
            _ => empty_looks = 0,
        }
        if empty_looks == 2 {
            return;
        }
        sleep(NEXT_ROUND).await;
    }
}

/// Takes care of what this process adopted from another owner of commands that died: kills
/// strays, and waits for reapers that have done their work. Says how many it found.
///
/// For a process that starts such owners: call it when one of them ended, and again after a
/// moment until it says 0, as the end of each brings up what it had below it. Never touches what
/// this process started itself.
pub fn sweep_adopted() -> usize {
    reap_unwatched();
    // In this order: what a dead reaper had below it is here by the time the reaper is a zombie.
    reap_adopted() + end_adopted(|child| is_stray(child, None))
}

/// Kills a child of this process that has no reaper, and what runs below it, up to a bound. The child is its owner's to
/// wait for; what comes to this process once it is gone is waited for in the background.
pub fn end_tree(child: u32) {
    let pid = |number: u32| i32::try_from(number).ok().and_then(Pid::from_raw);
    let Some(child) = pid(child) else { return };
    let below = proc::descendants(child);
    let mut left: Vec<Pid> = below.iter().filter_map(|it| pid(it.pid)).collect();
    // From the top: a script whose current step ended first would go on to its next.
    for pid in std::iter::once(&child).chain(&left) {
        _ = kill_process(*pid, Signal::KILL);
    }
    let Ok(runtime) = Handle::try_current() else {
        return;
    };
    runtime.spawn(async move {
        for _ in 0..ROUNDS {
            // Whose parent still lives is that one's to wait for.
            left.retain(|pid| match waitpid(Some(*pid), WaitOptions::NOHANG) {
                Ok(ended) => ended.is_none(),
                Err(_) => Process::read(*pid).is_some(),
            });
            if left.is_empty() {
                return;
            }
            sleep(NEXT_ROUND).await;
        }
    });
}

/// Adopted reapers end by themselves; only their zombies are left to us. Says how many it found.
fn reap_adopted() -> usize {
    // Held to the end: a reaper that is just being started must not be taken for an adopted one.
    let reapers = reapers();
    let mut found = 0;
    for child in children() {
        if reapers.watched.contains(&child.pid) || !is_reaper(&child) {
            continue;
        }
        found += 1;
        if child.is_zombie {
            _ = waitpid(Some(child.pid), WaitOptions::NOHANG);
        }
    }
    found
}

fn is_reaper(child: &Process) -> bool {
    child.name.as_bytes() == reaper::NAME.to_bytes()
        && child.session == child.pid.as_raw_nonzero().get()
}

/// Kills or waits for the children that `is_stray` picks; says how many it found. The dead count
/// too: what they had below them may have come since.
fn end_adopted(is_stray: impl Fn(&Process) -> bool) -> usize {
    let mut found = 0;
    for stray in children().iter().filter(|child| is_stray(child)) {
        found += 1;
        if stray.is_zombie {
            _ = waitpid(Some(stray.pid), WaitOptions::NOHANG);
        } else {
            _ = kill_process(stray.pid, Signal::KILL);
        }
    }
    found
}

fn is_stray(child: &Process, reaper: Option<Pid>) -> bool {
    if reaper.is_some_and(|reaper| child.session == reaper.as_raw_nonzero().get()) {
        return true;
    }
    // From /proc like the child's: 0 where the session's leader is outside of our pid namespace.
    let ours = Process::read(getpid()).is_some_and(|this| child.session == this.session);
    !ours && child.has_no_new_privs() && rustix::thread::no_new_privs() == Ok(false)
}

fn children() -> Vec<Process> {
    let mut pids = Vec::new();
    proc::each_child(getpid(), &mut |pid| pids.push(pid));
    pids.into_iter().filter_map(Process::read).collect()
}
