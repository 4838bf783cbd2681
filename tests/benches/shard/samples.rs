//! Measured times, and what is said of them.

use std::time::Duration;

/// Times of one thing that was done many times.
#[derive(Debug, Default)]
pub(crate) struct Samples(Vec<Duration>);

impl Samples {
    pub(crate) fn push(&mut self, time: Duration) {
        let place = self.0.partition_point(|other| *other <= time);
        self.0.insert(place, time);
    }

    /// Takes in what was measured elsewhere.
    pub(crate) fn merge(&mut self, other: Self) {
        self.0.extend(other.0);
        self.0.sort_unstable();
    }

    pub(crate) fn median(&self) -> Duration {
        self.share(1, 2)
    }

    /// Nine in ten were not slower.
    pub(crate) fn p90(&self) -> Duration {
        self.share(9, 10)
    }

    /// Ninety-nine in a hundred were not slower.
    pub(crate) fn p99(&self) -> Duration {
        self.share(99, 100)
    }

    /// The time that this share of all was not slower than; zero when there is none.
    fn share(&self, part: usize, whole: usize) -> Duration {
        let rank = (self.0.len() * part).div_ceil(whole).max(1);
        self.0.get(rank - 1).copied().unwrap_or_default()
    }
}
