//! Tokens and money.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Tokens that provider calls took, and what they cost.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Usage {
    /// Tokens read and not served from a cache.
    pub input: u64,
    /// Tokens written.
    pub output: u64,
    /// Tokens served from the provider's cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_read: Option<u64>,
    /// Tokens put into the provider's cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_write: Option<u64>,
    /// US dollars, where the catalog knows the model's prices.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<f64>,
    /// How full the context window is after the call, in tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context_tokens: Option<u64>,
    /// The model's id, `provider/model`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
}

impl Usage {
    /// Adds another call to a sum. `context_tokens` and `model` are those of the latest call. Counts
    /// are what servers claim, so a sum that is too large stays at the largest number.
    pub fn add(&mut self, call: &Usage) {
        fn sum<T: Copy>(a: Option<T>, b: Option<T>, add: impl Fn(T, T) -> T) -> Option<T> {
            match (a, b) {
                (Some(a), Some(b)) => Some(add(a, b)),
                (a, b) => a.or(b),
            }
        }
        self.input = self.input.saturating_add(call.input);
        self.output = self.output.saturating_add(call.output);
        self.cache_read = sum(self.cache_read, call.cache_read, u64::saturating_add);
        self.cache_write = sum(self.cache_write, call.cache_write, u64::saturating_add);
        self.cost = sum(self.cost, call.cost, |a, b| a + b);
        self.context_tokens = call.context_tokens.or(self.context_tokens);
        self.model = call.model.clone().or_else(|| self.model.take());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sum_adds_tokens_and_keeps_the_latest_context() {
        let mut sum = Usage::default();
        sum.add(&Usage {
            input: 3,
            output: 1,
            cost: Some(0.5),
            context_tokens: Some(4),
            ..Usage::default()
        });
        sum.add(&Usage {
            input: 5,
            output: 2,
            cache_read: Some(7),
            context_tokens: Some(14),
            ..Usage::default()
        });
        let want = Usage {
            input: 8,
            output: 3,
            cache_read: Some(7),
            cost: Some(0.5),
            context_tokens: Some(14),
            ..Usage::default()
        };
        assert_eq!(sum, want);
    }

    #[test]
    fn claims_without_measure_are_no_sum_too_large() {
        let most = Usage {
            input: u64::MAX,
            cache_read: Some(u64::MAX),
            ..Usage::default()
        };
        let mut sum = most.clone();
        sum.add(&most);
        assert_eq!(sum, most);
    }
}
