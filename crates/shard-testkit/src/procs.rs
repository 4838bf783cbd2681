//! The processes of this machine, and polling for what nothing tells us.

use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::time::{Duration, Instant};

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
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    // The name of the program stands in parentheses and may hold anything.
    let state = stat
        .rsplit_once(") ")
        .and_then(|(_, rest)| rest.chars().next());
    state.is_some_and(|state| !matches!(state, 'Z' | 'X'))
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
