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

    pub(crate) fn median(&self) -> Duration {
        self.share(1, 2)
    }

    /// Nine in ten were not slower.
    pub(crate) fn p90(&self) -> Duration {
        self.share(9, 10)
    }

    /// The time that this share of all was not slower than; zero when there is none.
    fn share(&self, part: usize, whole: usize) -> Duration {
        let rank = (self.0.len() * part).div_ceil(whole).max(1);
        self.0.get(rank - 1).copied().unwrap_or_default()
    }
}
