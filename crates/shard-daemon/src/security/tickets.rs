//! Tickets: what a page shows when it opens its WebSocket.

use std::collections::{HashMap, VecDeque};

use shard_types::PrincipalId;

use super::secret::{Secret, SecretDigest};

/// How long a ticket works.
pub(crate) const TICKET_TTL_MS: u64 = 30_000;

/// Tickets that one browser may have out: one for each of its tabs that reconnect at once. Then
/// the oldest goes.
pub(super) const MAX_TICKETS_PER_PRINCIPAL: usize = 16;

#[derive(Debug)]
struct Ticket {
    digest: SecretDigest,
    /// The digest of the cookie that it was made for.
    session: SecretDigest,
    origin: String,
    expires_at: u64,
}

/// The tickets that have been given out and not been shown again. They live in memory only.
#[derive(Debug, Default)]
pub(super) struct Tickets {
    by_principal: HashMap<PrincipalId, VecDeque<Ticket>>,
}

impl Tickets {
    /// Makes a ticket for one principal, session (its cookie) and origin.
    pub(super) fn issue(
        &mut self,
        principal: &PrincipalId,
        session: SecretDigest,
        origin: &str,
        now: u64,
    ) -> (Secret, u64) {
        self.prune(now);
        let held = self.by_principal.entry(principal.clone()).or_default();
        if held.len() >= MAX_TICKETS_PER_PRINCIPAL {
            held.pop_front();
        }
        let ticket = Secret::generate();
        let expires_at = now + TICKET_TTL_MS;
        held.push_back(Ticket {
            digest: ticket.digest(),
            session,
            origin: origin.to_owned(),
            expires_at,
        });
        (ticket, expires_at)
    }

    /// Uses a ticket up and says whose it was, if cookie and origin are those it was made for.
    ///
    /// It is consumed by being shown, whether or not the rest fits: a ticket that turns up in a
    /// strange place has leaked, and its owner gets another one with one request.
    pub(super) fn redeem(
        &mut self,
        presented: &str,
        session: SecretDigest,
        origin: &str,
        now: u64,
    ) -> Option<PrincipalId> {
        self.prune(now);
        let digest = SecretDigest::of(presented);
        let (principal, ticket) = self.by_principal.iter_mut().find_map(|(principal, held)| {
            let index = held.iter().position(|t| t.digest.matches(&digest))?;
            Some((principal.clone(), held.remove(index)?))
        })?;
        let fits = ticket.session.matches(&session) && ticket.origin == origin;
        fits.then_some(principal)
    }

    /// Ends all tickets of one principal.
    pub(super) fn forget(&mut self, principal: &PrincipalId) {
        self.by_principal.remove(principal);
    }

    fn prune(&mut self, now: u64) {
        self.by_principal.retain(|_, held| {
            held.retain(|t| now < t.expires_at);
            !held.is_empty()
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ORIGIN: &str = "http://127.0.0.1:7411";

    fn session(cookie: &str) -> SecretDigest {
        SecretDigest::of(cookie)
    }

    #[test]
    fn a_ticket_works_once_for_its_session_and_origin_within_thirty_seconds() {
        let mut tickets = Tickets::default();
        let owner = PrincipalId::generate();
        let issue = |tickets: &mut Tickets| tickets.issue(&owner, session("a"), ORIGIN, 0).0;
        let cases = [
            ("right", "a", ORIGIN, 29_999, true),
            ("expired", "a", ORIGIN, 30_000, false),
            ("another session's cookie", "b", ORIGIN, 1, false),
            ("another origin", "a", "http://127.0.0.1:7412", 1, false),
        ];
        for (case, cookie, origin, at, good) in cases {
            let ticket = issue(&mut tickets);
            let redeemed = tickets.redeem(ticket.expose(), session(cookie), origin, at);
            assert_eq!(redeemed, good.then(|| owner.clone()), "{case}");
            let again = tickets.redeem(ticket.expose(), session("a"), ORIGIN, at);
            assert_eq!(again, None, "{case}: consumed by being shown");
        }
        assert_eq!(tickets.redeem("", session("a"), ORIGIN, 0), None);
    }

    #[test]
    fn a_principal_holds_a_bounded_number_and_loses_them_together() {
        let mut tickets = Tickets::default();
        let (one, two) = (PrincipalId::generate(), PrincipalId::generate());
        let other = tickets.issue(&two, session("b"), ORIGIN, 0).0;
        let mut held: Vec<_> = (0..=MAX_TICKETS_PER_PRINCIPAL)
            .map(|_| tickets.issue(&one, session("a"), ORIGIN, 0).0)
            .collect();
        assert_eq!(
            tickets.redeem(held[0].expose(), session("a"), ORIGIN, 1),
            None,
            "the oldest"
        );
        let last = held.pop().unwrap();
        assert_eq!(
            tickets.redeem(last.expose(), session("a"), ORIGIN, 1),
            Some(one.clone())
        );
        tickets.forget(&one);
        assert_eq!(
            tickets.redeem(held[5].expose(), session("a"), ORIGIN, 1),
            None
        );
        assert_eq!(
            tickets.redeem(other.expose(), session("b"), ORIGIN, 1),
            Some(two)
        );
    }
}
