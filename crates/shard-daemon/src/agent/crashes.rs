//! How often an agent's processes failed in a row, and when the next may be started.
//!
//! A process that cannot come up fails each time somebody wants it, and clients come back by
//! themselves. So after a few failures there are pauses between starts, each twice as long as the
//! one before. Whatever shows that the agent works again, or that a person looks after it, ends
//! them.

use std::time::Duration;

use tokio::time::Instant;

/// Failures in a row after which there are pauses.
const PATIENCE: u32 = 3;

/// The first pause.
const FIRST_PAUSE: Duration = Duration::from_secs(1);

/// No pause is longer.
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

/// A process that ends by itself so soon after it was ready has failed.
const EARLY: Duration = Duration::from_secs(10);

/// One that ran for so long was none of the failures.
const LONG: Duration = Duration::from_secs(60);

/// The failures of one agent's processes.
#[derive(Debug, Default)]
pub(super) struct Crashes {
    in_a_row: u32,
    /// No process is started before.
    pause_until: Option<Instant>,
    /// Why the latest one failed.
    reason: String,
    now: Stage,
}

/// How far the process that runs just now has come.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Stage {
    #[default]
    Starting,
    Ready(Instant),
    /// It finished a turn.
    Worked,
}

/// A start that has to wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Pause<'a> {
    /// How often it failed in a row.
    pub(super) failures: u32,
    /// How long until it may be tried again.
    pub(super) left: Duration,
    /// Why it failed the last time.
    pub(super) reason: &'a str,
}

impl Crashes {
    /// A process is started.
    pub(super) fn started(&mut self) {
        self.now = Stage::Starting;
    }

    /// It takes commands.
    pub(super) fn ready(&mut self, now: Instant) {
        self.now = Stage::Ready(now);
    }

    /// It finished a turn.
    pub(super) fn worked(&mut self) {
        self.forgive();
        self.now = Stage::Worked;
    }

    /// It ended because it was to.
    pub(super) fn stopped(&mut self, now: Instant) {
        if self.ran(now) >= LONG {
            self.forgive();
        }
    }

    /// It ended although nobody wanted that.
    pub(super) fn failed(&mut self, now: Instant, reason: String) {
        let ran = self.ran(now);
        let counts = match self.now {
            Stage::Starting => true,
            Stage::Ready(_) => ran < EARLY,
            Stage::Worked => false,
        };
        if counts {
            self.in_a_row = self.in_a_row.saturating_add(1);
            self.pause_until = self.pause().map(|pause| now + pause);
            self.reason = reason;
        } else if ran >= LONG {
            self.forgive();
        }
    }

    /// Begins anew: the agent works, or a person looks after it.
    pub(super) fn forgive(&mut self) {
        self.in_a_row = 0;
        self.pause_until = None;
        self.reason.clear();
    }

    /// What stands in the way of a start, if anything does.
    pub(super) fn in_the_way(&self, now: Instant) -> Option<Pause<'_>> {
        let left = self.pause_until?.saturating_duration_since(now);
        (!left.is_zero()).then_some(Pause {
            failures: self.in_a_row,
            left,
            reason: &self.reason,
        })
    }

    /// For how long it has been ready.
    fn ran(&self, now: Instant) -> Duration {
        match self.now {
            Stage::Ready(since) => now.saturating_duration_since(since),
            Stage::Starting | Stage::Worked => Duration::ZERO,
        }
    }

    /// The pause after so many failures.
    fn pause(&self) -> Option<Duration> {
        let doublings = self.in_a_row.checked_sub(PATIENCE)?;
        let factor = 2_u32.checked_pow(doublings).unwrap_or(u32::MAX);
        Some(FIRST_PAUSE.saturating_mul(factor).min(LONGEST_PAUSE))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What becomes of one process.
    #[derive(Debug, Clone, Copy)]
    enum Run {
        /// It does not become ready.
        Dud,
        /// It is ready, and ends by itself after so many seconds.
        Dies(u64),
        /// The same after a finished turn.
        Works(u64),
        /// It is ready, and is stopped after so many seconds.
        Stops(u64),
    }
    use Run::{Dies, Dud, Stops, Works};

    fn run(crashes: &mut Crashes, run: Run, now: &mut Instant) {
        crashes.started();
        if !matches!(run, Dud) {
            crashes.ready(*now);
        }
        if matches!(run, Works(_)) {
            crashes.worked();
        }
        if let Dies(seconds) | Works(seconds) | Stops(seconds) = run {
            *now += Duration::from_secs(seconds);
        }
        match run {
            Stops(_) => crashes.stopped(*now),
            _ => crashes.failed(*now, "why".to_owned()),
        }
    }

    #[test]
    fn pauses_come_after_three_failures_and_grow() {
        let (mut crashes, mut now) = (Crashes::default(), Instant::now());
        let mut pauses = Vec::new();
        for _ in 0..12 {
            run(&mut crashes, Dud, &mut now);
            let left = crashes.in_the_way(now).map(|pause| pause.left);
            pauses.push(left.unwrap_or_default().as_secs());
            now += left.unwrap_or_default();
            assert_eq!(crashes.in_the_way(now), None, "it is over when it is over");
        }
        assert_eq!(pauses, [0, 0, 1, 2, 4, 8, 16, 32, 60, 60, 60, 60]);
        let almost = now - Duration::from_millis(1);
        let wanted = Pause {
            failures: 12,
            left: Duration::from_millis(1),
            reason: "why",
        };
        assert_eq!(crashes.in_the_way(almost), Some(wanted));
    }

    #[test]
    fn what_shows_that_it_works_ends_them() {
        for (runs, pause) in [
            (&[Dud, Dud, Dud][..], 1),
            (&[Dud, Dies(0), Dies(9)], 1),
            (&[Dud, Dud, Dies(10)], 0),
            // Neither a failure nor a proof that it works.
            (&[Dud, Dud, Dies(10), Dud], 1),
            (&[Dud, Dud, Stops(1), Dud], 1),
            (&[Dud, Dud, Dies(59), Dud], 1),
            (&[Dud, Dud, Dies(60), Dud], 0),
            (&[Dud, Dud, Stops(60), Dud], 0),
            (&[Dud, Dud, Works(1), Dud], 0),
            (&[Dud, Dud, Works(1), Dud, Dud], 0),
            (&[Dud, Dud, Works(1), Dud, Dud, Dud], 1),
            (&[Works(1), Works(1), Works(1), Works(1)], 0),
            (&[Stops(0), Stops(0), Stops(0), Stops(0)], 0),
        ] {
            let (mut crashes, mut now) = (Crashes::default(), Instant::now());
            for one in runs {
                run(&mut crashes, *one, &mut now);
            }
            let left = crashes.in_the_way(now).map(|pause| pause.left.as_secs());
            assert_eq!(left.unwrap_or_default(), pause, "{runs:?}");
            crashes.forgive();
            assert_eq!(crashes.in_the_way(now), None, "{runs:?}");
        }
    }
}
