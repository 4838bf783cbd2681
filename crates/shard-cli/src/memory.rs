//! What this process takes of the machine, read by itself: others may not look.

/// Proportional set size in KiB, where the system tells.
pub(crate) fn pss_kb() -> Option<u64> {
    let rollup = std::fs::read_to_string("/proc/self/smaps_rollup").ok()?;
    let line = rollup.lines().find_map(|line| line.strip_prefix("Pss:"))?;
    line.trim().strip_suffix("kB")?.trim().parse().ok()
}
