//! The processes of this machine, and polling for what nothing tells us.

use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

/// The processes whose working directory, command line or environment names something under
/// `root`. The test's own process and those that only wait to be reaped are left out.
///
/// A process that hides its memory shows its command line alone. Linux only: elsewhere none.
#[must_use]
pub fn processes_under(root: &Path) -> Vec<u32> {
    let Ok(entries) = std::fs::read_dir("/proc") else {
        return Vec::new();
    };
    let pids = entries
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let ours = pids.filter(|pid| *pid != std::process::id() && alive(*pid) && names(*pid, root));
    let mut ours: Vec<u32> = ours.collect();
    ours.sort_unstable();
    ours
}

fn names(pid: u32, root: &Path) -> bool {
    let place = Path::new("/proc").join(pid.to_string());
    let cwd = std::fs::read_link(place.join("cwd"));
    let mentions = |file: &str| {
        let root = root.as_os_str().as_bytes();
        let bytes = std::fs::read(place.join(file)).unwrap_or_default();
        bytes.windows(root.len()).any(|part| part == root)
    };
    cwd.is_ok_and(|cwd| cwd.starts_with(root)) || mentions("cmdline") || mentions("environ")
}

/// Whether a process runs: it exists and is no zombie.
#[must_use]
pub fn alive(pid: u32) -> bool {
    living_parent(pid).is_some()
}

/// The parent of a process that runs.
fn living_parent(pid: u32) -> Option<u32> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name of the program stands in parentheses and may hold anything.
    let mut fields = stat.rsplit_once(") ")?.1.split(' ');
    let state = fields.next()?;
    let parent = fields.next()?.parse().ok()?;
    (!matches!(state, "Z" | "X")).then_some(parent)
}

/// The processes that run below a process, however deep. Linux only: elsewhere none.
#[must_use]
pub fn descendants(pid: u32) -> Vec<u32> {
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let parents: Vec<_> = pids
        .filter_map(|pid| Some((pid, living_parent(pid)?)))
        .collect();
    let mut found = vec![pid];
    let mut next = 0;
    while let Some(&above) = found.get(next) {
        let below = parents.iter().filter(|(_, parent)| *parent == above);
        found.extend(below.map(|(pid, _)| pid));
        next += 1;
    }
    found.split_off(1)
}

/// The arguments of a process, separated by spaces.
pub(crate) fn command_line(pid: u32) -> String {
    let bytes = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    String::from_utf8_lossy(&bytes).replace('\0', " ")
}

/// Looks every 10 ms until the condition holds, and fails the test with the sentence when it does
/// not in time. For files and processes, where nothing tells us; otherwise wait for the event.
pub async fn until(what: &str, deadline: Duration, mut condition: impl FnMut() -> bool) {
    let end = Instant::now() + deadline;
    while !condition() {
        assert!(Instant::now() < end, "waited {deadline:?} until {what}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// Sends a signal; a process that is gone takes none.
pub fn signal(pid: u32, signal: Signal) {
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw);
    if let Some(pid) = pid {
        let _already_over = kill_process(pid, signal);
    }
}
