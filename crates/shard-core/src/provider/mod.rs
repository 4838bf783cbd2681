//! Placeholder.
pub struct RetryPolicy;
impl Default for RetryPolicy {
    fn default() -> Self {
        Self
    }
}
impl RetryPolicy {
    pub fn delay(
        &self,
        _a: u32,
        _e: &shard_contracts::ProviderError,
    ) -> Option<std::time::Duration> {
        None
    }
}
