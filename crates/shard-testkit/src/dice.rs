//! Chance from a seed, so that a failure can be had again.

/// A row of numbers that a seed determines. Good enough to choose, and for nothing else.
#[derive(Debug, Clone)]
pub struct Dice(u64);

impl Dice {
    /// From the seed in this variable of the environment, else from the clock. Prints it, for
    /// whoever reads why a test failed.
    #[must_use]
    #[expect(
        clippy::print_stdout,
        reason = "a test's output is shown when it fails"
    )]
    pub fn from_env(variable: &str) -> Self {
        let given = std::env::var(variable).ok();
        let given = given.and_then(|seed| seed.parse().ok());
        let seed = given.unwrap_or_else(shard_types::time::now_ms);
        println!("{variable}={seed}");
        Self(seed)
    }

    /// A number below `end`, which is not 0.
    pub fn below(&mut self, end: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % end
    }

    /// One of these; none of nothing.
    pub fn pick<T: Copy>(&mut self, of: &[T]) -> Option<T> {
        let count = u64::try_from(of.len()).ok().filter(|count| *count > 0)?;
        let at = usize::try_from(self.below(count)).ok()?;
        of.get(at).copied()
    }
}
