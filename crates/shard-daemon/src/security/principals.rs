//! The enrolled browsers in memory.

use std::collections::BTreeMap;

use shard_protocol::PrincipalInfo;
use shard_types::PrincipalId;

use super::cookie::SESSION_TTL_MS;
use super::secret::SecretDigest;
use super::store::StoredPrincipal;

/// Browsers that may be enrolled at once. One more puts out the one that was not seen for longest.
pub(super) const MAX_PRINCIPALS: usize = 100;

/// Longest user agent that is kept, in characters.
const MAX_USER_AGENT: usize = 200;

/// How much later than stored somebody must be seen for it to be worth a write.
const LAST_SEEN_STEP_MS: u64 = 60_000;

/// Which of the two things that a browser has to show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Credential {
    Cookie,
    ClientSecret,
}

/// What is known of a credential before anything costly.
pub(super) enum Known {
    /// There is no such browser.
    Nobody,
    /// It was verified since the start: comparing digests is enough, for a wrong one too.
    Digest(SecretDigest),
    /// It was not: this is its hash.
    Hash(String),
}

struct Principal {
    stored: StoredPrincipal,
    /// `last_seen_at` as the file has it.
    saved_last_seen_at: u64,
    /// Digests of verified credentials, so that each is verified once for each start. They go with
    /// the principal, so nothing else has to bound or drop them.
    cookie: Option<SecretDigest>,
    client_secret: Option<SecretDigest>,
}

impl Principal {
    fn verified(&mut self, which: Credential) -> &mut Option<SecretDigest> {
        match which {
            Credential::Cookie => &mut self.cookie,
            Credential::ClientSecret => &mut self.client_secret,
        }
    }

    fn is_expired(&self, now: u64) -> bool {
        now.saturating_sub(self.stored.last_seen_at) >= SESSION_TTL_MS
    }
}

/// All enrolled browsers, by id.
#[derive(Default)]
pub(super) struct Principals {
    by_id: BTreeMap<PrincipalId, Principal>,
}

impl Principals {
    pub(super) fn load(stored: Vec<StoredPrincipal>) -> Self {
        let principal = |stored: StoredPrincipal| Principal {
            saved_last_seen_at: stored.last_seen_at,
            stored,
            cookie: None,
            client_secret: None,
        };
        let by_id = stored
            .into_iter()
            .map(|s| (s.principal_id.clone(), principal(s)))
            .collect();
        Self { by_id }
    }

    pub(super) fn snapshot(&mut self) -> Vec<StoredPrincipal> {
        let stored = self.by_id.values_mut().map(|principal| {
            principal.saved_last_seen_at = principal.stored.last_seen_at;
            principal.stored.clone()
        });
        stored.collect()
    }

    /// Takes one in whose credentials are at hand; says who had to go for it.
    pub(super) fn insert(
        &mut self,
        stored: StoredPrincipal,
        cookie: SecretDigest,
        client_secret: SecretDigest,
    ) -> Vec<PrincipalId> {
        let now = stored.created_at;
        let mut gone: Vec<_> = self
            .by_id
            .iter()
            .filter(|(_, p)| p.is_expired(now))
            .map(|(id, _)| id.clone())
            .collect();
        if self.by_id.len() - gone.len() >= MAX_PRINCIPALS {
            let kept = self.by_id.values().filter(|p| !p.is_expired(now));
            let longest = kept.min_by_key(|p| p.stored.last_seen_at);
            gone.extend(longest.map(|p| p.stored.principal_id.clone()));
        }
        gone.iter().for_each(|id| _ = self.by_id.remove(id));
        let principal = Principal {
            saved_last_seen_at: stored.last_seen_at,
            cookie: Some(cookie),
            client_secret: Some(client_secret),
            stored,
        };
        self.by_id
            .insert(principal.stored.principal_id.clone(), principal);
        gone
    }

    pub(super) fn remove(&mut self, id: &PrincipalId) -> bool {
        self.by_id.remove(id).is_some()
    }

    pub(super) fn contains(&self, id: &PrincipalId, now: u64) -> bool {
        self.by_id.get(id).is_some_and(|p| !p.is_expired(now))
    }

    pub(super) fn known(&mut self, id: &PrincipalId, which: Credential, now: u64) -> Known {
        let found = self.by_id.get_mut(id).filter(|p| !p.is_expired(now));
        let Some(principal) = found else {
            return Known::Nobody;
        };
        if let Some(digest) = principal.verified(which) {
            return Known::Digest(*digest);
        }
        Known::Hash(match which {
            Credential::Cookie => principal.stored.cookie_hash.clone(),
            Credential::ClientSecret => principal.stored.client_secret_hash.clone(),
        })
    }

    /// Remembers that this digest stands for the right credential; whether the browser is still in.
    pub(super) fn remember(
        &mut self,
        id: &PrincipalId,
        which: Credential,
        digest: SecretDigest,
    ) -> bool {
        let Some(principal) = self.by_id.get_mut(id) else {
            return false;
        };
        *principal.verified(which) = Some(digest);
        true
    }

    /// Notes that one was seen; whether that is worth writing down.
    pub(super) fn seen(&mut self, id: &PrincipalId, now: u64) -> bool {
        let Some(principal) = self.by_id.get_mut(id) else {
            return false;
        };
        principal.stored.last_seen_at = principal.stored.last_seen_at.max(now);
        now.saturating_sub(principal.saved_last_seen_at) >= LAST_SEEN_STEP_MS
    }

    pub(super) fn list(&self, now: u64) -> Vec<PrincipalInfo> {
        let infos = self
            .by_id
            .values()
            .filter(|p| !p.is_expired(now))
            .map(|p| PrincipalInfo {
                principal_id: p.stored.principal_id.clone(),
                created_at: p.stored.created_at,
                last_seen_at: p.stored.last_seen_at,
                user_agent: p.stored.user_agent.clone(),
            });
        infos.collect()
    }
}

/// What a browser calls itself, fit for a terminal: bounded, without anything that moves the
/// cursor or turns the reading direction.
pub(super) fn plain_user_agent(raw: &str) -> Option<String> {
    let turns = |c: char| matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{61c}' | '\u{feff}');
    let plain = raw.chars().filter(|&c| !c.is_control() && !turns(c));
    let text: String = plain.take(MAX_USER_AGENT).collect();
    let text = text.trim();
    (!text.is_empty()).then(|| text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::security::secret::Secret;

    fn stored(at: u64) -> StoredPrincipal {
        StoredPrincipal {
            principal_id: PrincipalId::generate(),
            created_at: at,
            last_seen_at: at,
            user_agent: None,
            cookie_hash: String::new(),
            client_secret_hash: String::new(),
        }
    }

    fn insert(all: &mut Principals, stored: StoredPrincipal) -> Vec<PrincipalId> {
        let digest = Secret::generate().digest();
        all.insert(stored, digest, digest)
    }

    #[test]
    fn one_too_many_puts_out_the_one_not_seen_for_longest() {
        let mut all = Principals::default();
        let first = stored(1);
        let id = first.principal_id.clone();
        insert(&mut all, first);
        for n in 1..MAX_PRINCIPALS {
            assert_eq!(insert(&mut all, stored(10 + n as u64)), []);
        }
        let second = all.list(200)[1].principal_id.clone();
        all.seen(&id, 500);
        assert_eq!(
            insert(&mut all, stored(600)),
            [second],
            "not the first: it was seen since"
        );
        assert_eq!(all.list(600).len(), MAX_PRINCIPALS);
    }

    #[test]
    fn who_does_not_show_up_for_ninety_days_is_out() {
        let mut all = Principals::default();
        let one = stored(0);
        let id = one.principal_id.clone();
        insert(&mut all, one);
        assert!(all.contains(&id, SESSION_TTL_MS - 1));
        assert!(!all.contains(&id, SESSION_TTL_MS));
        assert!(matches!(
            all.known(&id, Credential::Cookie, SESSION_TTL_MS),
            Known::Nobody
        ));
        assert_eq!(all.list(SESSION_TTL_MS), []);
        assert_eq!(insert(&mut all, stored(SESSION_TTL_MS)), [id]);
    }

    #[test]
    fn being_seen_is_written_down_at_most_once_a_minute() {
        let mut all = Principals::default();
        let one = stored(0);
        let id = one.principal_id.clone();
        insert(&mut all, one);
        assert!(!all.seen(&id, 59_999));
        assert!(all.seen(&id, 60_000));
        all.snapshot();
        assert!(!all.seen(&id, 60_001));
        assert!(!all.seen(&PrincipalId::generate(), 60_000));
    }

    #[test]
    fn a_user_agent_can_play_no_tricks_on_a_terminal() {
        assert_eq!(
            plain_user_agent("Fire\u{1b}[2Jfox\r\n\u{202e}/1").as_deref(),
            Some("Fire[2Jfox/1")
        );
        assert_eq!(plain_user_agent(" \t\u{7f}"), None);
        assert_eq!(
            plain_user_agent(&"é".repeat(999)).map(|s| s.chars().count()),
            Some(200)
        );
    }
}
