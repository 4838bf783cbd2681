//! Random secrets, and the digests that stand for them in memory.

use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use rand::Rng;
use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq;

/// How much randomness a secret holds: enough that guessing is no way in, throttle or not.
const SECRET_BYTES: usize = 32;

/// Longest secret that is looked at. Ours have 43 characters; the rest is room for an id.
pub(super) const MAX_PRESENTED_LEN: usize = 256;

/// A secret on its way to the one who is to keep it. Debug output and logs never show it.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Secret(String);

impl Secret {
    /// Makes one: 32 random bytes as base64url.
    #[must_use]
    pub(crate) fn generate() -> Self {
        let mut bytes = [0_u8; SECRET_BYTES];
        rand::rng().fill_bytes(&mut bytes);
        Self(URL_SAFE_NO_PAD.encode(bytes))
    }

    /// What somebody presents: from here on it is handled as the secret that it may be.
    #[must_use]
    pub(crate) fn presented(text: &str) -> Self {
        Self(text.to_owned())
    }

    /// The text itself: for an answer to the one who keeps it, for nothing else.
    #[must_use]
    pub(crate) fn expose(&self) -> &str {
        &self.0
    }

    /// What stands for it in memory.
    #[must_use]
    pub(crate) fn digest(&self) -> SecretDigest {
        SecretDigest::of(&self.0)
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

/// What stands for a secret in memory. A fast hash is enough there: the secrets are random, and
/// digests are never written down.
#[derive(Clone, Copy)]
pub(crate) struct SecretDigest([u8; 32]);

impl SecretDigest {
    /// The digest of what somebody presents.
    #[must_use]
    pub(crate) fn of(presented: &str) -> Self {
        Self(Sha256::digest(presented.as_bytes()).into())
    }

    /// Whether both stand for the same secret, in a time that does not tell how far they agree.
    #[must_use]
    pub(crate) fn matches(&self, other: &Self) -> bool {
        self.0.ct_eq(&other.0).into()
    }
}

impl fmt::Debug for SecretDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SecretDigest(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_long_url_safe_never_the_same_and_never_shown() {
        let (one, two) = (Secret::generate(), Secret::generate());
        assert_eq!(one.expose().len(), 43);
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        assert!(one.expose().chars().all(plain));
        assert_ne!(one.expose(), two.expose());
        assert_eq!(
            format!("{one:?} {:?}", one.digest()),
            "Secret(…) SecretDigest(…)"
        );
        assert!(one.digest().matches(&SecretDigest::of(one.expose())));
        assert!(!one.digest().matches(&two.digest()));
    }
}
