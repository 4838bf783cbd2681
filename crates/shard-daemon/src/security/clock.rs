//! Where the rules take their time from.

use std::fmt;
use std::sync::Arc;

/// Milliseconds since the epoch, whenever asked. The daemon passes the wall clock (what is stored
/// and what clients see are wall times); a test passes a clock that it sets.
#[derive(Clone)]
pub(crate) struct Clock(Arc<dyn Fn() -> u64 + Send + Sync>);

impl Clock {
    /// The machine's clock.
    #[must_use]
    pub(crate) fn wall() -> Self {
        Self(Arc::new(shard_types::time::now_ms))
    }

    /// A clock that reads whatever `read` gives.
    #[cfg(test)]
    pub(crate) fn from_fn(read: impl Fn() -> u64 + Send + Sync + 'static) -> Self {
        Self(Arc::new(read))
    }

    /// What it shows.
    #[must_use]
    pub(crate) fn now(&self) -> u64 {
        (self.0)()
    }
}

impl fmt::Debug for Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Clock")
    }
}
