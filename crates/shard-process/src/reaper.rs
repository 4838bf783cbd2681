//! What happens between the fork and the command: one process becomes two.
//!
//! The first stays as the *reaper* of everything below it; its child executes the command. The
//! reaper is never anything but a fork: it runs this file on a copy of the owner's memory, so
//! the rules of [`crate::sys`] hold for every line (no allocation, no locks, no panics).
//!
//! The reaper reports the command's wait status once, stays while descendants live, and ends
//! them when the owner's end of the life pipe closes: first asked (SIGTERM), then killed layer
//! by layer. Being a subreaper makes that complete: whatever loses its parent becomes the
//! reaper's own child, whichever session or process group it moved to.

use std::io;
use std::os::fd::RawFd;
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::process::{
    DumpableBehavior, Pid, Signal, WaitOptions, getpid, getppid, kill_process, set_child_subreaper,
    set_dumpable_behavior, set_parent_process_death_signal, setpgid, setsid, wait,
};
use rustix::stdio::{dup2_stderr, dup2_stdout};
use rustix::thread::{
    CapabilitySet, capabilities, clear_ambient_capability_set, remove_capability_from_bounding_set,
    set_capabilities, set_name, set_no_new_privs,
};

use crate::proc;
use crate::sys::{self, Program};

/// The name of a reaper in process lists.
pub(crate) const NAME: &std::ffi::CStr = c"shard-reaper";

/// How long descendants may take to end by themselves once asked.
const GRACE: Duration = Duration::from_millis(300);

/// How long to wait for the killed to die before looking again. Their death wakes the reaper
/// earlier; this is for children that came while it was looking.
const NEXT_LAYER: Duration = Duration::from_millis(5);

/// How deep a tree is asked to end; each level takes about 1 KB of the stack.
const MAX_DEPTH: usize = 64;

/// With these, a command could read the memory of the owner whatever its dumpable flag says.
const FORBIDDEN: [CapabilitySet; 3] = [
    CapabilitySet::SYS_PTRACE,
    CapabilitySet::PERFMON,
    CapabilitySet::SYS_ADMIN,
];

/// The descriptors of a reaper.
#[derive(Clone, Copy)]
pub(crate) struct Ends {
    /// Reading end; its far end closes when the owner lets go.
    pub(crate) life: RawFd,
    /// Writing end, for the command's wait status.
    pub(crate) status: RawFd,
    /// The domain that the command enters; the reaper itself never does.
    pub(crate) domain: Option<RawFd>,
}

impl Ends {
    /// The two that the reaper keeps while it stays.
    fn close_others(self) {
        sys::close_all_but([self.life, self.status, self.status]);
    }
}

/// What a reaper tells its owner, in records of eight bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Report {
    /// The command is being executed. Always the first, unless it is `Refused`.
    Started,
    /// The command can't be executed, for this error number. Nothing follows.
    Refused(i32),
    /// The command's own process ended, with this wait status.
    Ended(i32),
}

impl Report {
    pub(crate) const SIZE: usize = 8;

    fn to_bytes(self) -> [u8; Self::SIZE] {
        let (kind, value) = match self {
            Self::Started => (0, 0),
            Self::Refused(error) => (1, error),
            Self::Ended(status) => (2, status),
        };
        (u64::from(value.cast_unsigned()) << 32 | kind).to_ne_bytes()
    }

    pub(crate) fn from_bytes(bytes: [u8; Self::SIZE]) -> Self {
        let record = u64::from_ne_bytes(bytes);
        let value = ((record >> 32) as u32).cast_signed();
        match record as u32 {
            0 => Self::Started,
            1 => Self::Refused(value),
            _ => Self::Ended(value),
        }
    }
}

/// Makes the forked process the reaper of `program`; returns only if it can't be one.
pub(crate) fn split(ends: Ends, program: &Program) -> io::Result<()> {
    sys::require_close_range()?;
    sys::silence_signals();
    setsid()?;
    // Whatever the owner is: this copy of its memory must stay closed. Executing resets it.
    set_dumpable_behavior(DumpableBehavior::NotDumpable)?;
    let reaper = getpid();
    set_child_subreaper(Some(reaper))?;
    sys::note_children()?;
    _ = set_name(NAME);
    // A stopped reaper would sleep through its owner's death.
    set_parent_process_death_signal(Some(Signal::CONT))?;
    // Before the command can act on this process (stop it, say): with the rest goes the pipe
    // whose end the owner waits for in the middle of forking.
    sys::close_all_but([ends.life, ends.status, ends.domain.unwrap_or(ends.status)]);
    match sys::start_child(program, || become_command(reaper, ends.domain)) {
        Ok(command) => stay(ends, command),
        Err(error) => {
            report(
                ends,
                Report::Refused(error.raw_os_error().unwrap_or(libc::EINVAL)),
            );
            sys::exit_now()
        }
    }
}

/// Fits the pipe at once; if the owner is gone, nobody needs it.
fn report(ends: Ends, report: Report) {
    _ = rustix::io::write(sys::inherited(ends.status), &report.to_bytes());
}

fn become_command(reaper: Pid, domain: Option<RawFd>) -> io::Result<()> {
    setpgid(None, None)?;
    drop_capabilities();
    _ = set_no_new_privs(true);
    if let Some(domain) = domain {
        // If it can't be confined, it doesn't run.
        sys::enter_domain(domain)?;
    }
    // If someone kills the reaper, the command ends with it. Set after all of that, as a
    // change of credentials may clear it.
    set_parent_process_death_signal(Some(Signal::KILL))?;
    if getppid() != Some(reaper) {
        sys::exit_now();
    }
    sys::close_rest_on_exec();
    sys::admit_signals();
    Ok(())
}

/// Refusals are fine: who may not drop a capability from the bounding set doesn't have it to
/// begin with, and can't regain it under `no_new_privs`.
fn drop_capabilities() {
    _ = clear_ambient_capability_set();
    for capability in FORBIDDEN {
        _ = remove_capability_from_bounding_set(capability);
    }
    if let Ok(mut sets) = capabilities(None) {
        for capability in FORBIDDEN {
            sets.effective.remove(capability);
            sets.permitted.remove(capability);
            sets.inheritable.remove(capability);
        }
        _ = set_capabilities(None, sets);
    }
}

fn stay(ends: Ends, command: i32) -> ! {
    report(ends, Report::Started);
    ends.close_others();
    // Standard input is /dev/null already. From here on the command alone holds its output.
    let null = sys::inherited(0);
    _ = dup2_stdout(null);
    _ = dup2_stderr(null);
    // The command may be anywhere; its directory must not be kept busy from here.
    _ = rustix::process::chdir(c"/");

    let life = sys::inherited(ends.life);
    loop {
        if reap(command, ends) == Left::Nobody {
            sys::exit_now();
        }
        if sys::pause(Some(life), None) {
            end_all(command, ends);
        }
    }
}

#[derive(PartialEq, Eq)]
enum Left {
    Nobody,
    Somebody,
}

/// Waits for all that have ended; reports the command's status if it is among them.
fn reap(command: i32, ends: Ends) -> Left {
    loop {
        match wait(WaitOptions::NOHANG) {
            Ok(Some((pid, ended))) if pid.as_raw_nonzero().get() == command => {
                report(ends, Report::Ended(ended.as_raw()));
            }
            Ok(Some(_)) | Err(Errno::INTR) => {}
            Ok(None) => return Left::Somebody,
            Err(_) => return Left::Nobody,
        }
    }
}

fn end_all(command: i32, ends: Ends) -> ! {
    ask(&Children::of(getpid()), MAX_DEPTH);
    let asked = Instant::now();
    while let Some(rest) = GRACE.checked_sub(asked.elapsed()) {
        if reap(command, ends) == Left::Nobody {
            sys::exit_now();
        }
        sys::pause(None, Some(rest));
    }
    // A killed process can't fork any more, and its children come here: each round takes the
    // topmost layer, until there is none. Killing from the top is what ends a fork bomb.
    loop {
        proc::each_child_of_this_thread(&mut |pid| _ = kill_process(pid, Signal::KILL));
        if reap(command, ends) == Left::Nobody {
            sys::exit_now();
        }
        sys::pause(None, Some(NEXT_LAYER));
    }
}

/// Sends SIGTERM to these and all below them, each before its own children: a script whose
/// current step ended first would go on to its next.
fn ask(processes: &Children, depth: usize) {
    for pid in processes.iter() {
        let below = Children::of(pid);
        _ = kill_process(pid, Signal::TERM);
        // A stopped process gets to know it only when it goes on.
        _ = kill_process(pid, Signal::CONT);
        if depth > 0 {
            ask(&below, depth - 1);
        }
    }
}

/// The children of one process, as many as are worth asking; the others are killed unasked.
struct Children {
    pids: [Option<Pid>; 64],
}

impl Children {
    fn of(parent: Pid) -> Self {
        let mut children = Self { pids: [None; 64] };
        let mut free = children.pids.iter_mut();
        proc::each_child(parent, &mut |pid| {
            if let Some(slot) = free.next() {
                *slot = Some(pid);
            }
        });
        children
    }

    fn iter(&self) -> impl Iterator<Item = Pid> {
        self.pids.iter().map_while(|pid| *pid)
    }
}
