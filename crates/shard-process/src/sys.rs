//! The system calls that need `unsafe`, and nothing else.
//!
//! Everything here that runs after a fork is async-signal-safe: the forked process has one
//! thread, a copy of the heap in whatever state the other threads left it, and possibly locks
//! that nobody will ever release. So: no allocation, no locks, no panics.
#![expect(
    unsafe_code,
    reason = "forking, signal dispositions and closing inherited descriptors have no safe wrapper"
)]

use std::ffi::CString;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::ptr;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

/// A program in the form the kernel takes it, made before the fork, when memory may be allocated.
#[derive(Debug)]
pub(crate) struct Program {
    /// Where it may be, in this order.
    candidates: Vec<CString>,
    argv: Pointers,
    env: Pointers,
}

/// Strings, and the list of their addresses that ends with a null.
#[derive(Debug)]
struct Pointers {
    list: Vec<*const libc::c_char>,
    _strings: Vec<CString>,
}

// SAFETY: the pointers lead to strings of the same value, which nobody changes.
unsafe impl Send for Pointers {}
// SAFETY: as above.
unsafe impl Sync for Pointers {}

impl Program {
    pub(crate) fn new(candidates: Vec<CString>, argv: Vec<CString>, env: Vec<CString>) -> Self {
        Self {
            candidates,
            argv: Pointers::new(argv),
            env: Pointers::new(env),
        }
    }

    /// Returns only if none of the candidates can be executed: with the error that says most.
    fn execute(&self) -> io::Error {
        let mut error = libc::ENOENT;
        for path in &self.candidates {
            // SAFETY: both lists end with a null and lead to strings that do.
            unsafe {
                libc::execve(
                    path.as_ptr(),
                    self.argv.list.as_ptr(),
                    self.env.list.as_ptr(),
                )
            };
            match io::Error::last_os_error().raw_os_error() {
                Some(libc::ENOENT | libc::ENOTDIR) | None => {}
                // There may be another one further on.
                Some(libc::EACCES) => error = libc::EACCES,
                Some(other) => return io::Error::from_raw_os_error(other),
            }
        }
        io::Error::from_raw_os_error(error)
    }
}

impl Pointers {
    fn new(strings: Vec<CString>) -> Self {
        let ends = [ptr::null()];
        let list = strings
            .iter()
            .map(|text| text.as_ptr())
            .chain(ends)
            .collect();
        Self {
            list,
            _strings: strings,
        }
    }
}

/// What the child of [`start_child`] works on, in memory that it shares with its parent.
struct Start<'a, P> {
    program: &'a Program,
    prepare: P,
    error: Option<io::Error>,
}

/// Forks a child that runs `prepare` and then `program`; returns once it executes it, or with
/// the reason why it doesn't.
///
/// Only for a process with a single thread. The child borrows this process's memory until then,
/// so that nothing has to be copied for it.
pub(crate) fn start_child<P>(program: &Program, prepare: P) -> io::Result<libc::pid_t>
where
    P: Fn() -> io::Result<()>,
{
    extern "C" fn run<P: Fn() -> io::Result<()>>(start: *mut libc::c_void) -> libc::c_int {
        // SAFETY: the parent passes a `Start<P>` of its own and sleeps while this runs.
        let start = unsafe { &mut *start.cast::<Start<'_, P>>() };
        start.error = Some(match (start.prepare)() {
            Ok(()) => start.program.execute(),
            Err(error) => error,
        });
        127
    }
    let mut stack = Stack([const { MaybeUninit::uninit() }; STACK]);
    let mut start = Start {
        program,
        prepare,
        error: None,
    };
    // SAFETY: the child gets a stack of its own, which grows down from the aligned end given.
    // CLONE_VFORK keeps this process from going on, and with it `stack` and `start` alive, until
    // the child has left this memory by executing or exiting.
    let child = unsafe {
        let top = stack.0.as_mut_ptr().add(STACK).cast();
        let flags = libc::CLONE_VM | libc::CLONE_VFORK | libc::SIGCHLD;
        libc::clone(run::<P>, top, flags, (&raw mut start).cast())
    };
    if child < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: `start` is initialised; the child may have written to it meanwhile.
    match unsafe { (&raw mut start.error).read_volatile() } {
        Some(error) => {
            // SAFETY: waits for the child, which has no other way than to exit.
            unsafe { libc::waitpid(child, ptr::null_mut(), 0) };
            Err(error)
        }
        None => Ok(child),
    }
}

/// Plenty for a few system calls.
const STACK: usize = 64 * 1024;

#[repr(align(16))]
struct Stack([MaybeUninit<u8>; STACK]);

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

/// Closes every descriptor above 2 except these, some of which may be the same.
pub(crate) fn close_all_but(mut kept: [RawFd; 3]) {
    kept.sort_unstable();
    let mut first = 3;
    for kept in kept {
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

/// The version of Landlock's interface.
pub(crate) fn landlock_version() -> io::Result<libc::c_int> {
    const VERSION: libc::c_uint = 1;
    // SAFETY: with this flag the kernel reads nothing; the other two must be zero.
    let version = unsafe {
        libc::syscall(
            libc::SYS_landlock_create_ruleset,
            ptr::null::<u8>(),
            0,
            VERSION,
        )
    };
    if version < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(libc::c_int::try_from(version).unwrap_or(libc::c_int::MAX))
}

/// Puts this process into the domain that a ruleset describes; it needs `no_new_privs`.
pub(crate) fn enter_domain(ruleset: RawFd) -> io::Result<()> {
    // SAFETY: changes the rights of this thread, which is all that this process has.
    let done = unsafe { libc::syscall(libc::SYS_landlock_restrict_self, ruleset, 0) };
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

/// The option that gives a descriptor for the process that connected; the same on every platform
/// that Linux 6.5 runs on but a few that are not supported here.
const SO_PEERPIDFD: libc::c_int = 77;

/// A descriptor of the process at the other end of a unix socket, as it was when it connected.
pub(crate) fn peer_pidfd(socket: BorrowedFd<'_>) -> io::Result<OwnedFd> {
    let mut raw: libc::c_int = -1;
    let mut length = libc::socklen_t::try_from(size_of::<libc::c_int>()).unwrap_or_default();
    // SAFETY: the value is as long as the length says, and the kernel writes at most that much.
    let done = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            SO_PEERPIDFD,
            (&raw mut raw).cast(),
            &raw mut length,
        )
    };
    if done != 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the call made this descriptor for us, and nobody else knows of it.
    Ok(unsafe { OwnedFd::from_raw_fd(raw) })
}
