//! The system calls that need `unsafe`, and nothing else.
//!
//! Everything here that runs after a fork is async-signal-safe: the forked process has one
//! thread, a copy of the heap in whatever state the other threads left it, and possibly locks
//! that nobody will ever release. So: no allocation, no locks, no panics.
#![expect(
    unsafe_code,
    reason = "forking, signal dispositions and closing inherited descriptors have no safe wrapper"
)]

use std::io;
use std::os::fd::{BorrowedFd, OwnedFd, RawFd};
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::ptr;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

/// Which side of a fork this is.
pub(crate) enum Fork {
    Child,
    Parent { child: i32 },
}

/// Registers a descriptor with the runtime, to wait until it is readable.
pub(crate) fn await_readable(fd: Arc<OwnedFd>) -> io::Result<AsyncFd<Arc<OwnedFd>>> {
    // SAFETY: the shared owner names the same open descriptor for as long as it exists.
    Ok(unsafe { AsyncFd::register_with_interest(fd, Interest::READABLE) }?)
}

/// Runs `split` in the process that `command` forks, before it executes anything.
pub(crate) fn after_fork<F>(command: &mut Command, split: F)
where
    F: FnMut() -> io::Result<()> + Send + Sync + 'static,
{
    // SAFETY: the one caller passes `reaper::split`, which keeps to the rules of this module.
    unsafe { command.pre_exec(split) };
}

/// Forks without the C library's fork handlers, which may take locks that are held by threads
/// that don't exist here.
///
/// Only for a process with a single thread, whose child goes on to execute a program.
pub(crate) fn fork() -> io::Result<Fork> {
    // SAFETY: without CLONE_VM the child has its own copy of everything; the zeros stand for
    // "same stack, no thread id to store, no thread-local storage" in either argument order.
    let pid = unsafe { libc::syscall(libc::SYS_clone, libc::SIGCHLD, 0, 0, 0, 0) };
    match i32::try_from(pid) {
        Ok(0) => Ok(Fork::Child),
        Ok(child) if child > 0 => Ok(Fork::Parent { child }),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Ends this process at once, without running anything of the owner's.
pub(crate) fn exit_now() -> ! {
    // SAFETY: always sound; runs no destructors and no exit handlers.
    unsafe { libc::_exit(0) }
}

/// A descriptor that was inherited over the fork.
pub(crate) fn inherited(fd: RawFd) -> BorrowedFd<'static> {
    // SAFETY: callers name descriptors that the owner opened for this process and that it keeps
    // open until it exits.
    unsafe { BorrowedFd::borrow_raw(fd) }
}

/// Fails where the kernel can't close a range of descriptors.
pub(crate) fn require_close_range() -> io::Result<()> {
    close_range(libc::c_uint::MAX, libc::c_uint::MAX, 0)
}

/// Closes every descriptor above 2 except two.
pub(crate) fn close_all_but(one: RawFd, other: RawFd) {
    let mut first = 3;
    for kept in [one.min(other), one.max(other)] {
        let Ok(kept) = libc::c_uint::try_from(kept) else {
            continue;
        };
        if kept > first {
            // The call was tried by `require_close_range`, so that it can't fail now.
            _ = close_range(first, kept - 1, 0);
        }
        first = kept.saturating_add(1).max(first);
    }
    _ = close_range(first, libc::c_uint::MAX, 0);
}

/// Leaves only 0, 1 and 2 to the program executed next.
///
/// The owner opens everything close-on-exec; this is for what a library of its own didn't.
/// A kernel before 5.11 lacks the flag, and the first line of defence must do.
pub(crate) fn close_rest_on_exec() {
    _ = close_range(3, libc::c_uint::MAX, libc::CLOSE_RANGE_CLOEXEC);
}

fn close_range(first: libc::c_uint, last: libc::c_uint, flags: libc::c_uint) -> io::Result<()> {
    // SAFETY: called only after the fork, where the descriptors' owners never run again.
    let done = unsafe { libc::syscall(libc::SYS_close_range, first, last, flags) };
    if done == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}

/// Sets a signal to be ignored, in this process and those it starts unless they reset it.
pub(crate) fn ignore_signal(signal: libc::c_int) -> io::Result<()> {
    set_handler(signal, libc::SIG_IGN)
}

/// Holds back every signal and forgets the owner's handlers, whose code must not run here.
pub(crate) fn silence_signals() {
    set_mask(&full_set());
    for signal in 1..=64 {
        set_default(signal);
    }
}

/// Past the C library, which refuses to touch the two signals that it uses itself: an ignored
/// one would be passed on to the command.
fn set_default(signal: libc::c_int) {
    // The kernel's `sigaction` has at most four words, and all zero is the default. Its signal
    // sets have 8 bytes.
    let action = [0_u64; 4];
    // SAFETY: reads `action` alone; no handler is installed. KILL and STOP are refused.
    unsafe {
        libc::syscall(
            libc::SYS_rt_sigaction,
            signal,
            action.as_ptr(),
            ptr::null_mut::<u64>(),
            8,
        )
    };
}

/// Lets every signal through, as a program expects it at its start.
pub(crate) fn admit_signals() {
    set_mask(&empty_set());
}

/// Makes the end of a child interrupt [`pause`] (and nothing else: the signal stays blocked).
pub(crate) fn note_children() -> io::Result<()> {
    extern "C" fn noted(_: libc::c_int) {}
    set_handler(
        libc::SIGCHLD,
        noted as extern "C" fn(libc::c_int) as libc::sighandler_t,
    )
}

/// Waits until a child ended, `pipe` was closed at its far end, or the time is up.
/// Says whether the pipe was closed.
pub(crate) fn pause(pipe: Option<BorrowedFd<'_>>, limit: Option<Duration>) -> bool {
    use std::os::fd::AsRawFd;
    let mut fds = [libc::pollfd {
        fd: -1,
        events: libc::POLLIN,
        revents: 0,
    }];
    if let Some(pipe) = pipe {
        fds[0].fd = pipe.as_raw_fd();
    }
    let limit = limit.map(|limit| libc::timespec {
        tv_sec: libc::time_t::try_from(limit.as_secs()).unwrap_or(libc::time_t::MAX),
        tv_nsec: libc::c_long::from(limit.subsec_nanos().cast_signed()),
    });
    let limit = limit.as_ref().map_or(ptr::null(), ptr::from_ref);
    let mut mask = full_set();
    // SAFETY: `mask` is a valid set; `fds` holds one entry, and a negative descriptor is skipped;
    // `limit` is null or points to a value that lives until the end of this function.
    let ready = unsafe {
        libc::sigdelset(&raw mut mask, libc::SIGCHLD);
        libc::ppoll(fds.as_mut_ptr(), 1, limit, &raw const mask)
    };
    ready > 0 && fds[0].revents != 0
}

fn set_handler(signal: libc::c_int, handler: libc::sighandler_t) -> io::Result<()> {
    // SAFETY: an all-zero `sigaction` is valid (no flags, empty mask); the handler is one of the
    // two constants or the empty function above.
    let done = unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = handler;
        action.sa_flags = libc::SA_NOCLDSTOP;
        libc::sigaction(signal, &raw const action, ptr::null_mut())
    };
    if done == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}

fn set_mask(set: &libc::sigset_t) {
    // SAFETY: `set` is initialised; this thread's mask is the only thing that changes.
    unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, ptr::from_ref(set), ptr::null_mut()) };
}

fn full_set() -> libc::sigset_t {
    let mut set = empty_set();
    // SAFETY: fills the set in place.
    unsafe { libc::sigfillset(&raw mut set) };
    set
}

fn empty_set() -> libc::sigset_t {
    // SAFETY: a signal set is a plain array of integers, and all zero is the empty one.
    unsafe { std::mem::zeroed() }
}
