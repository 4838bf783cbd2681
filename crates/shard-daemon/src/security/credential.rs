//! Credentials at rest: argon2 hashes.
//!
//! The secrets are random, so a fast hash would do against guessing; the slow one is for whoever
//! reads the store and hopes that the generator was weak.

use argon2::Argon2;
use argon2::password_hash::phc::PasswordHash;
use argon2::password_hash::{PasswordHasher, PasswordVerifier};

/// Hashes a credential. Costly: never on a thread of the async runtime.
pub(super) fn hash(credential: &str) -> Option<String> {
    let hash: PasswordHash = Argon2::default()
        .hash_password(credential.as_bytes())
        .ok()?;
    Some(hash.to_string())
}

/// Whether `presented` is the credential that `hash` was made of. Costly too. The comparison of
/// the outputs takes the same time wherever they differ.
pub(super) fn verify(presented: &str, hash: &str) -> bool {
    PasswordHash::new(hash).is_ok_and(|hash| {
        Argon2::default()
            .verify_password(presented.as_bytes(), &hash)
            .is_ok()
    })
}

/// Whether a text has the form of a hash.
pub(super) fn is_hash(text: &str) -> bool {
    PasswordHash::new(text).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_credential_itself_fits_its_hash() {
        let stored = hash("right").unwrap();
        assert!(is_hash(&stored) && stored.starts_with("$argon2id$"));
        assert_ne!(hash("right").unwrap(), stored, "salted");
        assert!(verify("right", &stored));
        assert!(!verify("wrong", &stored));
        assert!(!verify("right", "not a hash"));
        assert!(!is_hash("not a hash"));
    }
}
