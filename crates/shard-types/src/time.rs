//! The wall clock, read in one place.

/// Milliseconds since the Unix epoch, as every time on the wire and on disk is given.
#[must_use]
#[expect(
    clippy::disallowed_methods,
    reason = "this is the one place that reads the wall clock"
)]
pub fn now_ms() -> u64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    // A clock before 1970 is a broken machine; zero keeps it going and stands out.
    since.map_or(0, |d| u64::try_from(d.as_millis()).unwrap_or(u64::MAX))
}
