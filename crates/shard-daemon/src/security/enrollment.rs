//! Live enrollment: a browser shows a code, the person approves it in a terminal, the browser
//! claims its credentials with a nonce that was never on a screen.

use rand::RngExt;

use super::secret::{Secret, SecretDigest};

/// How long a code can be approved and claimed.
pub(crate) const ENROLLMENT_TTL_MS: u64 = 5 * 60_000;

/// Enrollments that may wait at once. At ten a minute for five minutes more can't come together.
pub(super) const MAX_PENDING: usize = 64;

/// Characters of a code: no two look alike in any font (no `0 O 1 I L 5 S 2 Z 8 B U V`), and
/// without vowels no code is a word.
const CODE_ALPHABET: &[u8] = b"34679CDFGHJKMNPQRTWXY";
const CODE_LEN: usize = 8;

/// What a browser that asks to be let in gets.
#[derive(Debug, Clone)]
pub(crate) struct Started {
    /// To be shown, and typed after `shard auth approve`.
    pub(crate) code: String,
    /// To be kept, and presented at `claim`.
    pub(crate) nonce: Secret,
    /// Milliseconds since the epoch.
    pub(crate) expires_at: u64,
}

/// An enrollment that has neither been claimed nor expired.
#[derive(Debug)]
pub(super) struct Pending {
    pub(super) code: String,
    nonce: SecretDigest,
    pub(super) created_at: u64,
    pub(super) expires_at: u64,
    pub(super) approved: bool,
}

/// How a nonce stands.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Claim {
    /// Nobody has approved its code so far.
    Waiting,
    /// Its code was approved; it is used up with this answer.
    Approved,
    /// There is no such enrollment, or no longer.
    Unknown,
}

/// All that wait. They live in memory only: a restart ends them.
#[derive(Debug, Default)]
pub(super) struct PendingEnrollments {
    pending: Vec<Pending>,
}

impl PendingEnrollments {
    /// Begins one; `None` when too many wait.
    pub(super) fn start(&mut self, now: u64) -> Option<Started> {
        self.prune(now);
        if self.pending.len() >= MAX_PENDING {
            return None;
        }
        let code = self.fresh_code();
        let nonce = Secret::generate();
        let expires_at = now + ENROLLMENT_TTL_MS;
        self.pending.push(Pending {
            code: code.clone(),
            nonce: nonce.digest(),
            created_at: now,
            expires_at,
            approved: false,
        });
        Some(Started {
            code,
            nonce,
            expires_at,
        })
    }

    /// Lets the browser in that shows `code`; whether there is one. Again is fine.
    pub(super) fn approve(&mut self, code: &str, now: u64) -> bool {
        self.prune(now);
        let typed = as_typed(code);
        let found = self.pending.iter_mut().find(|p| p.code == typed);
        found.map(|pending| pending.approved = true).is_some()
    }

    /// Looks a nonce up, and uses it up when its code was approved.
    pub(super) fn claim(&mut self, nonce: &str, now: u64) -> Claim {
        self.prune(now);
        let digest = SecretDigest::of(nonce);
        match self.pending.iter().position(|p| p.nonce.matches(&digest)) {
            None => Claim::Unknown,
            Some(index) if self.pending[index].approved => {
                self.pending.remove(index);
                Claim::Approved
            }
            Some(_) => Claim::Waiting,
        }
    }

    /// Those whose codes wait for a person.
    pub(super) fn waiting(&mut self, now: u64) -> impl Iterator<Item = &Pending> {
        self.prune(now);
        self.pending.iter().filter(|p| !p.approved)
    }

    fn prune(&mut self, now: u64) {
        self.pending.retain(|p| now < p.expires_at);
    }

    fn fresh_code(&self) -> String {
        let mut random = rand::rng();
        loop {
            let mut pick =
                || char::from(CODE_ALPHABET[random.random_range(0..CODE_ALPHABET.len())]);
            let code: String = (0..CODE_LEN).map(|_| pick()).collect();
            if self.pending.iter().all(|p| p.code != code) {
                return code;
            }
        }
    }
}

/// A code as people type it: in any case, with spaces or dashes between groups.
fn as_typed(code: &str) -> String {
    let letters = code.chars().filter(|c| !c.is_whitespace() && *c != '-');
    letters
        .take(CODE_LEN + 1)
        .map(|c| c.to_ascii_uppercase())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_is_readable_and_may_be_typed_in_groups_and_lower_case() {
        let mut all = PendingEnrollments::default();
        let started = all.start(0).unwrap();
        assert_eq!(started.code.len(), 8);
        assert!(started.code.bytes().all(|b| CODE_ALPHABET.contains(&b)));
        let lower = started.code.to_lowercase();
        assert!(!all.approve(&lower[..7], 0), "a part of the code");
        assert!(!all.approve(&format!("{lower}x"), 0), "more than the code");
        assert!(all.approve(&format!(" {}-{} ", &lower[..4], &lower[4..]), 0));
        assert!(
            all.approve(&started.code, 0),
            "a second time changes nothing"
        );
    }

    #[test]
    fn a_claim_waits_for_approval_and_works_once() {
        let mut all = PendingEnrollments::default();
        let started = all.start(0).unwrap();
        let nonce = started.nonce.expose();
        assert_eq!(all.claim(nonce, 1), Claim::Waiting);
        assert_eq!(
            all.claim(&started.code, 1),
            Claim::Unknown,
            "the code is no nonce"
        );
        assert!(all.approve(&started.code, 2));
        assert_eq!(all.waiting(2).count(), 0);
        assert_eq!(all.claim(nonce, 3), Claim::Approved);
        assert_eq!(all.claim(nonce, 3), Claim::Unknown);
    }

    #[test]
    fn an_enrollment_ends_after_five_minutes_approved_or_not() {
        let mut all = PendingEnrollments::default();
        let (one, two) = (all.start(0).unwrap(), all.start(0).unwrap());
        assert!(all.approve(&one.code, 299_999));
        assert_eq!(all.claim(one.nonce.expose(), 300_000), Claim::Unknown);
        assert!(!all.approve(&two.code, 300_000));
    }

    #[test]
    fn no_more_than_a_bounded_number_wait() {
        let mut all = PendingEnrollments::default();
        for _ in 0..MAX_PENDING {
            assert!(all.start(0).is_some());
        }
        assert!(all.start(1).is_none());
        assert!(all.start(ENROLLMENT_TTL_MS).is_some(), "they expire");
    }
}
