//! A bound on how often something may happen within a sliding minute.

use std::collections::VecDeque;

/// The window that every limit of this module is about.
pub(super) const MINUTE_MS: u64 = 60_000;

/// Refused for now: try again after this long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RetryAfter {
    /// Milliseconds until one more is let through.
    pub(crate) ms: u64,
}

/// Counts events of the last minute. What happens while it is full is not counted: the state ends
/// a minute after the oldest event that led to it, however often somebody knocks meanwhile.
#[derive(Debug)]
pub(super) struct Throttle {
    limit: usize,
    at: VecDeque<u64>,
}

impl Throttle {
    pub(super) fn per_minute(limit: usize) -> Self {
        Self {
            limit,
            at: VecDeque::with_capacity(limit),
        }
    }

    /// Whether there is room for one more.
    pub(super) fn check(&mut self, now: u64) -> Result<(), RetryAfter> {
        // An event in the future means that the clock was set back: better forgotten than kept
        // until the clock has caught up.
        self.at.retain(|&at| at <= now && now - at < MINUTE_MS);
        match self.at.front() {
            Some(&oldest) if self.at.len() >= self.limit => Err(RetryAfter {
                ms: MINUTE_MS - (now - oldest),
            }),
            _ => Ok(()),
        }
    }

    /// Counts one. Callers check first, so that the queue never outgrows its limit by more than
    /// what was under way at once.
    pub(super) fn count(&mut self, now: u64) {
        if self.at.len() < self.limit {
            self.at.push_back(now);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ten_fit_into_a_minute_and_the_state_ends_with_the_oldest() {
        let mut throttle = Throttle::per_minute(10);
        for n in 0..10 {
            assert_eq!(throttle.check(1_000 + n), Ok(()), "{n}");
            throttle.count(1_000 + n);
        }
        assert_eq!(throttle.check(2_000), Err(RetryAfter { ms: 59_000 }));
        throttle.count(2_000);
        assert_eq!(throttle.check(60_999), Err(RetryAfter { ms: 1 }));
        assert_eq!(
            throttle.check(61_000),
            Ok(()),
            "knocking did not prolong it"
        );
        throttle.count(61_000);
        assert_eq!(throttle.check(61_000), Err(RetryAfter { ms: 1 }));
    }

    #[test]
    fn a_clock_that_is_set_back_does_not_lock_anybody_out() {
        let mut throttle = Throttle::per_minute(1);
        throttle.count(10_000_000);
        assert!(throttle.check(10_000_000).is_err());
        assert_eq!(throttle.check(5_000), Ok(()));
    }
}
