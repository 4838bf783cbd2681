//! When to try a failed call again. Pure: the loop belongs to the turn.

use std::time::Duration;

use shard_contracts::ProviderError;

/// A shorter wait would only hammer the server, whatever the dice say.
const LEAST: Duration = Duration::from_millis(100);

/// How often and how patiently a call is tried.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RetryPolicy {
    /// Tries in all, the first included.
    pub tries: u32,
    /// The longest wait after the first failure; it doubles with each further one.
    pub first: Duration,
    /// The longest wait of our own choice.
    pub cap: Duration,
    /// The longest wait that a server may ask for. It is cut to this, not refused.
    pub server_cap: Duration,
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self {
            tries: 6,
            first: Duration::from_secs(1),
            cap: Duration::from_secs(60),
            server_cap: Duration::from_secs(600),
        }
    }
}

impl RetryPolicy {
    /// How long to wait after try number `attempt` (from 1) failed; `None` means give up.
    #[must_use]
    pub fn delay(&self, attempt: u32, error: &ProviderError) -> Option<Duration> {
        self.delay_with(attempt, error, rand::random())
    }

    /// The same with the dice thrown: `dice` is in `0.0..1.0`. Full jitter, so that many agents
    /// that failed together do not come back together.
    #[must_use]
    pub fn delay_with(&self, attempt: u32, error: &ProviderError, dice: f64) -> Option<Duration> {
        if attempt >= self.tries || !error.is_transient() {
            return None;
        }
        if let Some(asked) = error.retry_after {
            return Some(asked.min(self.server_cap));
        }
        let doubled = 2_u32.saturating_pow(attempt.saturating_sub(1));
        let longest = self.first.saturating_mul(doubled).min(self.cap);
        Some(longest.mul_f64(dice.clamp(0.0, 1.0)).max(LEAST))
    }
}

#[cfg(test)]
mod tests {
    use shard_contracts::ProviderErrorKind as Kind;

    use super::*;

    fn error(kind: Kind, retry_after: Option<u64>) -> ProviderError {
        ProviderError {
            retry_after: retry_after.map(Duration::from_secs),
            ..ProviderError::new(kind, "")
        }
    }

    #[test]
    fn waits_double_up_to_the_cap_and_end() {
        let busy = error(Kind::Busy, None);
        let policy = RetryPolicy::default();
        let seconds = |attempt| policy.delay_with(attempt, &busy, 1.0).map(|d| d.as_secs());
        let waits: Vec<_> = (1..=6).map(seconds).collect();
        assert_eq!(waits, [Some(1), Some(2), Some(4), Some(8), Some(16), None]);
        let patient = RetryPolicy {
            tries: 100,
            ..policy
        };
        let late = patient.delay_with(90, &busy, 1.0);
        assert_eq!(late, Some(Duration::from_secs(60)));
        assert_eq!(patient.delay_with(90, &busy, 0.0), Some(LEAST));
    }

    #[test]
    fn a_server_that_names_a_time_is_obeyed_within_reason() {
        let policy = RetryPolicy::default();
        let wait = |asked| policy.delay_with(1, &error(Kind::Busy, Some(asked)), 0.5);
        assert_eq!(wait(2), Some(Duration::from_secs(2)));
        assert_eq!(wait(100_000), Some(Duration::from_secs(600)));
    }

    #[test]
    fn what_would_fail_again_is_not_tried_again() {
        let policy = RetryPolicy::default();
        for kind in [
            Kind::Auth,
            Kind::NotFound,
            Kind::Rejected,
            Kind::ContextTooLong,
        ] {
            assert_eq!(policy.delay(1, &error(kind, Some(1))), None, "{kind:?}");
        }
        for kind in [Kind::Busy, Kind::Network, Kind::Stalled] {
            assert!(policy.delay(1, &error(kind, None)).is_some(), "{kind:?}");
        }
    }
}
