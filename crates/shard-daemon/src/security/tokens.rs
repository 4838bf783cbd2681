//! Setup tokens: the one-time secret in the URL that `shard daemon` prints.

use std::collections::VecDeque;

use super::secret::{Secret, SecretDigest};

/// How long a token works.
pub(crate) const SETUP_TOKEN_TTL_MS: u64 = 10 * 60_000;

/// Tokens that may be out at once. Each stands for a URL that somebody has before their eyes, so
/// a few are enough; asking for more makes the oldest worthless.
pub(super) const MAX_SETUP_TOKENS: usize = 16;

struct Outstanding {
    digest: SecretDigest,
    expires_at: u64,
}

/// The tokens that have been given out and not been used. They live in memory only: a restart
/// ends them all.
#[derive(Default)]
pub(super) struct SetupTokens {
    outstanding: VecDeque<Outstanding>,
}

impl SetupTokens {
    /// Makes a token; says until when it works.
    pub(super) fn issue(&mut self, now: u64) -> (Secret, u64) {
        self.prune(now);
        if self.outstanding.len() >= MAX_SETUP_TOKENS {
            self.outstanding.pop_front();
        }
        let token = Secret::generate();
        let expires_at = now + SETUP_TOKEN_TTL_MS;
        self.outstanding.push_back(Outstanding {
            digest: token.digest(),
            expires_at,
        });
        (token, expires_at)
    }

    /// Uses a token up; whether it was one.
    pub(super) fn redeem(&mut self, presented: &str, now: u64) -> bool {
        self.prune(now);
        let digest = SecretDigest::of(presented);
        let Some(index) = self
            .outstanding
            .iter()
            .position(|t| t.digest.matches(&digest))
        else {
            return false;
        };
        self.outstanding.remove(index);
        true
    }

    fn prune(&mut self, now: u64) {
        self.outstanding.retain(|t| now < t.expires_at);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_works_once_and_for_ten_minutes() {
        let mut tokens = SetupTokens::default();
        let (token, expires_at) = tokens.issue(5);
        assert_eq!(expires_at, 5 + 600_000);
        assert!(!tokens.redeem("wrong", 5));
        assert!(tokens.redeem(token.expose(), expires_at - 1));
        assert!(!tokens.redeem(token.expose(), expires_at - 1), "used");
        let (late, expires_at) = tokens.issue(5);
        assert!(!tokens.redeem(late.expose(), expires_at), "expired");
    }

    #[test]
    fn the_oldest_token_goes_when_too_many_are_out() {
        let mut tokens = SetupTokens::default();
        let (first, _) = tokens.issue(0);
        let (second, _) = tokens.issue(1);
        for n in 2..=MAX_SETUP_TOKENS {
            tokens.issue(n as u64);
        }
        assert!(!tokens.redeem(first.expose(), 100));
        assert!(tokens.redeem(second.expose(), 100));
    }
}
