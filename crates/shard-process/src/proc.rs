//! Reading `/proc`: who is whose child, and what a process is.
//!
//! The functions that list children also run in a reaper, so they neither allocate nor panic.
//! What they say is already history when it is read: callers look again until nothing is left.

use std::ffi::CStr;
use std::fmt::{self, Write};
use std::fs;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};

use rustix::fs::{Mode, OFlags, RawDir};
use rustix::io::Errno;
use rustix::process::Pid;

/// How many processes [`descendants`] names at most.
const MAX_NAMED: usize = 16;

/// How many characters of a command line are shown.
const MAX_SHOWN: usize = 120;

/// A process that still runs below a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftBehind {
    /// Its process id.
    pub pid: u32,
    /// Its command line, shortened and on one line.
    pub command: String,
}

/// Whether children can be listed at all, which needs `/proc` and a kernel that offers it.
pub(crate) fn children_are_listed() -> bool {
    open(c"/proc/thread-self/children").is_ok()
}

/// Visits the children of the calling thread.
pub(crate) fn each_child_of_this_thread(visit: &mut dyn FnMut(Pid)) {
    if let Ok(file) = open(c"/proc/thread-self/children") {
        each_number(file, visit);
    }
}

/// Visits the children of all threads of a process.
pub(crate) fn each_child(parent: Pid, visit: &mut dyn FnMut(Pid)) {
    let parent = parent.as_raw_nonzero();
    let mut path = Path::default();
    if write!(path, "/proc/{parent}/task").is_err() {
        return;
    }
    let Ok(tasks) = open(path.as_c_str()) else {
        return;
    };
    let mut space = [MaybeUninit::uninit(); 1024];
    let mut entries = RawDir::new(tasks, &mut space);
    while let Some(Ok(entry)) = entries.next() {
        let name = entry.file_name().to_bytes();
        let Some(thread) = number(name) else { continue };
        let mut path = Path::default();
        if write!(path, "/proc/{parent}/task/{thread}/children").is_err() {
            continue;
        }
        if let Ok(file) = open(path.as_c_str()) {
            each_number(file, visit);
        }
    }
}

/// The number of the process that a descriptor holds; `None` if it has none in this namespace.
///
/// # Errors
/// When the process is gone, or the kernel does not say.
pub(crate) fn pid_of(pidfd: &OwnedFd) -> io::Result<Option<Pid>> {
    let info = fs::read_to_string(format!("/proc/self/fdinfo/{}", pidfd.as_raw_fd()))?;
    let number = info.lines().find_map(|line| line.strip_prefix("Pid:"));
    match number.and_then(|number| number.trim().parse::<i32>().ok()) {
        Some(0) => Ok(None),
        Some(number) if number > 0 => Ok(Pid::from_raw(number)),
        _ => Err(io::Error::from(io::ErrorKind::NotFound)),
    }
}

/// Names the living processes below `root`, those nearest to it first, up to a bound.
pub(crate) fn descendants(root: Pid) -> Vec<LeftBehind> {
    let mut found = Vec::new();
    let mut layer = vec![root];
    while !layer.is_empty() && found.len() < MAX_NAMED {
        let mut below = Vec::new();
        for parent in layer {
            each_child(parent, &mut |pid| below.push(pid));
        }
        let living = below
            .iter()
            .filter_map(|pid| Process::read(*pid))
            .filter(|it| !it.is_zombie);
        found.extend(living.map(|it| it.describe()).take(MAX_NAMED - found.len()));
        layer = below;
    }
    found
}

/// What `/proc` says about one process.
pub(crate) struct Process {
    pub(crate) pid: Pid,
    pub(crate) name: String,
    pub(crate) is_zombie: bool,
    pub(crate) parent: i32,
    pub(crate) session: i32,
}

impl Process {
    pub(crate) fn read(pid: Pid) -> Option<Self> {
        let stat = fs::read(format!("/proc/{}/stat", pid.as_raw_nonzero())).ok()?;
        let stat = String::from_utf8_lossy(&stat);
        // The name may itself hold parentheses and blanks: it ends at the last parenthesis.
        let (head, tail) = stat.rsplit_once(')')?;
        let (_, name) = head.split_once('(')?;
        let mut fields = tail.split_ascii_whitespace();
        let state = fields.next()?;
        let parent = fields.next()?.parse().ok()?;
        let session = fields.nth(1)?.parse().ok()?;
        let is_zombie = matches!(state, "Z" | "X");
        Some(Self {
            pid,
            name: name.to_owned(),
            is_zombie,
            parent,
            session,
        })
    }

    /// Whether the process can never gain rights by executing a program.
    pub(crate) fn has_no_new_privs(&self) -> bool {
        let status = fs::read(format!("/proc/{}/status", self.pid.as_raw_nonzero()));
        let status = status.unwrap_or_default();
        String::from_utf8_lossy(&status)
            .lines()
            .filter_map(|line| line.strip_prefix("NoNewPrivs:"))
            .any(|value| value.trim() == "1")
    }

    fn describe(&self) -> LeftBehind {
        let pid = self.pid.as_raw_nonzero();
        let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let line = String::from_utf8_lossy(&line);
        let line = line.trim_end_matches('\0');
        let line = if line.is_empty() { &self.name } else { line };
        let mut command: String = line
            .chars()
            .take(MAX_SHOWN)
            .map(|c| if c.is_control() { ' ' } else { c })
            .collect();
        if line.chars().nth(MAX_SHOWN).is_some() {
            command.push('…');
        }
        LeftBehind {
            pid: pid.get().unsigned_abs(),
            command,
        }
    }
}

fn open(path: &CStr) -> rustix::io::Result<OwnedFd> {
    rustix::fs::open(path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())
}

/// Visits the numbers of a file that lists them with blanks between.
fn each_number(file: impl AsFd, visit: &mut dyn FnMut(Pid)) {
    let mut chunk = [0_u8; 512];
    let mut current: i32 = 0;
    loop {
        let read = match rustix::io::read(&file, &mut chunk) {
            Ok(0) => break,
            Ok(read) => read,
            Err(Errno::INTR) => continue,
            Err(_) => break,
        };
        for byte in chunk.iter().take(read) {
            if byte.is_ascii_digit() {
                current = current
                    .wrapping_mul(10)
                    .wrapping_add(i32::from(byte - b'0'));
            } else if let Some(pid) = Pid::from_raw(std::mem::take(&mut current)) {
                visit(pid);
            }
        }
    }
    if let Some(pid) = Pid::from_raw(current) {
        visit(pid);
    }
}

fn number(digits: &[u8]) -> Option<i32> {
    std::str::from_utf8(digits).ok()?.parse().ok()
}

/// A path of a few numbers and fixed words, built without allocating.
struct Path {
    bytes: [u8; 64],
    length: usize,
}

impl Default for Path {
    fn default() -> Self {
        Self {
            bytes: [0; 64],
            length: 0,
        }
    }
}

impl Path {
    fn as_c_str(&self) -> &CStr {
        CStr::from_bytes_until_nul(&self.bytes).unwrap_or(c"")
    }
}

impl Write for Path {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let end = self.length.saturating_add(text.len());
        // The last byte stays zero: it ends the string.
        if end >= self.bytes.len() {
            return Err(fmt::Error);
        }
        let room = self.bytes.get_mut(self.length..end).ok_or(fmt::Error)?;
        room.copy_from_slice(text.as_bytes());
        self.length = end;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_across_the_border_of_a_chunk() {
        let pids: Vec<i32> = (1..400).map(|n| n * 97).collect();
        let text: Vec<String> = pids.iter().map(i32::to_string).collect();
        let mut file = tempfile::tempfile().unwrap();
        std::io::Write::write_all(&mut file, text.join(" ").as_bytes()).unwrap();
        rustix::fs::seek(&file, rustix::fs::SeekFrom::Start(0)).unwrap();
        let mut seen = Vec::new();
        each_number(&file, &mut |pid| seen.push(pid.as_raw_nonzero().get()));
        assert_eq!(seen, pids);
    }

    #[test]
    fn a_path_that_does_not_fit_is_refused() {
        let mut path = Path::default();
        assert!(write!(path, "{}", "x".repeat(63)).is_ok());
        assert_eq!(path.as_c_str().to_bytes().len(), 63);
        assert!(write!(path, "x").is_err());
    }
}
