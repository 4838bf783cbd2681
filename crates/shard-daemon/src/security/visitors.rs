//! Letting browsers in: with a setup token, or with a code that the person approves.

use shard_protocol::{Enrollments, PendingEnrollment, SetupToken};
use shard_types::PrincipalId;

use super::enrollment::{Claim, Started};
use super::principals::plain_user_agent;
use super::secret::{MAX_PRESENTED_LEN, Secret};
use super::store::StoredPrincipal;
use super::throttle::{MINUTE_MS, RetryAfter};
use super::{Security, SecurityError, State, cookie, credential};

/// What a browser gets when it is let in.
#[derive(Debug)]
pub(crate) struct Enrolled {
    /// Who it is from now on.
    #[cfg_attr(
        not(test),
        expect(dead_code, reason = "a browser is told by its cookie")
    )]
    pub(crate) principal_id: PrincipalId,
    /// For its cookie.
    pub(crate) cookie: Secret,
    /// For the page's own storage.
    pub(crate) client_secret: Secret,
    /// Those that are out now to make room: their sockets are to be closed.
    pub(crate) put_out: Vec<PrincipalId>,
}

/// What became of a claim.
#[derive(Debug)]
pub(crate) enum Claimed {
    /// The code has not been approved so far.
    Pending,
    /// The browser is in; this answer comes once.
    Enrolled(Enrolled),
    /// The nonce is unknown, used or expired.
    Gone,
}

impl Security {
    /// Makes a setup token and the address that takes it.
    #[must_use]
    pub(crate) fn setup_token(&self) -> SetupToken {
        let now = self.now();
        let (token, expires_at) = self.state().tokens.issue(now);
        let origin = self.policy().own_origin();
        SetupToken {
            url: format!("{origin}/#setup={}", token.expose()),
            token: token.expose().to_owned(),
            expires_at,
        }
    }

    /// Lets the browser in that shows a setup token.
    ///
    /// # Errors
    /// After ten wrong tokens or nonces within a minute every one is refused as throttled, the
    /// right one too: otherwise guessing would go on unhindered, told by the answer. A right token
    /// is not used up by that and works again when the state has ended, at most a minute later.
    pub(crate) async fn redeem_token(
        &self,
        token: &str,
        user_agent: Option<&str>,
    ) -> Result<Enrolled, SecurityError> {
        let now = self.now();
        {
            let mut state = self.state();
            state.wrong.check(now).map_err(SecurityError::Throttled)?;
            if token.len() > MAX_PRESENTED_LEN || !state.tokens.redeem(token, now) {
                state.wrong.count(now);
                return Err(SecurityError::Refused);
            }
        }
        self.enroll(user_agent).await
    }

    /// Begins an enrollment: a code to show, a nonce to keep.
    ///
    /// # Errors
    /// More than ten within a minute are throttled.
    pub(crate) fn start_enrollment(&self) -> Result<Started, SecurityError> {
        let now = self.now();
        let mut state = self.state();
        let State {
            starts,
            enrollments,
            ..
        } = &mut *state;
        starts.check(now).map_err(SecurityError::Throttled)?;
        let full = SecurityError::Throttled(RetryAfter { ms: MINUTE_MS });
        let started = enrollments.start(now).ok_or(full)?;
        starts.count(now);
        Ok(started)
    }

    /// Lets the browser in that shows this code; whether there is one.
    #[must_use]
    pub(crate) fn approve(&self, code: &str) -> bool {
        let now = self.now();
        self.state().enrollments.approve(code, now)
    }

    /// Answers a browser that waits for approval, and lets it in once it has it.
    ///
    /// # Errors
    /// Throttled like [`Security::redeem_token`], by the same count.
    pub(crate) async fn claim(
        &self,
        nonce: &str,
        user_agent: Option<&str>,
    ) -> Result<Claimed, SecurityError> {
        let now = self.now();
        {
            let mut state = self.state();
            state.wrong.check(now).map_err(SecurityError::Throttled)?;
            let claim = match nonce.len() {
                ..=MAX_PRESENTED_LEN => state.enrollments.claim(nonce, now),
                _ => Claim::Unknown,
            };
            match claim {
                Claim::Waiting => return Ok(Claimed::Pending),
                Claim::Unknown => {
                    state.wrong.count(now);
                    return Ok(Claimed::Gone);
                }
                Claim::Approved => {}
            }
        }
        self.enroll(user_agent).await.map(Claimed::Enrolled)
    }

    /// Who waits and who is in.
    #[must_use]
    pub(crate) fn list(&self) -> Enrollments {
        let now = self.now();
        let mut state = self.state();
        let pending = state.enrollments.waiting(now).map(|p| PendingEnrollment {
            code: p.code.clone(),
            created_at: p.created_at,
            expires_at: p.expires_at,
        });
        Enrollments {
            pending: pending.collect(),
            principals: state.principals.list(now),
        }
    }

    async fn enroll(&self, user_agent: Option<&str>) -> Result<Enrolled, SecurityError> {
        let principal_id = PrincipalId::generate();
        let cookie = cookie::compose(&principal_id, &Secret::generate());
        let client_secret = Secret::generate();
        let hashes = {
            let (cookie, client_secret) = (cookie.clone(), client_secret.clone());
            let hash = move || {
                let cookie_hash = credential::hash(cookie.expose())?;
                Some((cookie_hash, credential::hash(client_secret.expose())?))
            };
            self.costly(hash).await?
        };
        let (cookie_hash, client_secret_hash) = hashes.ok_or(SecurityError::Interrupted)?;
        let now = self.now();
        let stored = StoredPrincipal {
            principal_id: principal_id.clone(),
            created_at: now,
            last_seen_at: now,
            user_agent: user_agent.and_then(plain_user_agent),
            cookie_hash,
            client_secret_hash,
        };
        let put_out = self.take_in(stored, &cookie, &client_secret);
        if let Err(error) = self.save().await {
            // Better no browser than one that is out again after the next start.
            self.state().principals.remove(&principal_id);
            return Err(error);
        }
        tracing::info!(principal = %principal_id, "a browser was enrolled");
        Ok(Enrolled {
            principal_id,
            cookie,
            client_secret,
            put_out,
        })
    }

    fn take_in(
        &self,
        stored: StoredPrincipal,
        cookie: &Secret,
        client_secret: &Secret,
    ) -> Vec<PrincipalId> {
        let (cookie, client_secret) = (cookie.digest(), client_secret.digest());
        let mut state = self.state();
        let put_out = state.principals.insert(stored, cookie, client_secret);
        put_out.iter().for_each(|id| state.tickets.forget(id));
        put_out
    }
}
