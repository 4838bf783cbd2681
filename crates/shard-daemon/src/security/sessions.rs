//! What an enrolled browser does: start a page, open a socket, log out; and being put out.

use std::sync::atomic::Ordering;

use shard_types::PrincipalId;

use super::principals::{Credential, Known};
use super::secret::{MAX_PRESENTED_LEN, Secret, SecretDigest};
use super::{Security, SecurityError, cookie, credential};

/// A fresh ticket.
#[derive(Debug)]
pub(crate) struct IssuedTicket {
    /// To be shown when the socket is opened.
    pub(crate) ticket: Secret,
    /// Milliseconds since the epoch.
    pub(crate) expires_at: u64,
}

/// A browser that is out from this moment on, whether or not that could be written down.
#[derive(Debug)]
pub(crate) struct Removed {
    /// Whose sockets are to be closed.
    pub(crate) principal_id: PrincipalId,
    /// An error here means that it would be in again after the next start.
    pub(crate) stored: Result<(), SecurityError>,
}

impl Security {
    /// Gives a ticket to a page that has both the cookie and the client secret, at an origin that
    /// the caller has found to be allowed.
    ///
    /// # Errors
    /// Refused unless both belong to one enrolled browser.
    pub(crate) async fn bootstrap(
        &self,
        cookie: &str,
        client_secret: &str,
        origin: &str,
    ) -> Result<IssuedTicket, SecurityError> {
        let id = self.cookie_owner(cookie).await?;
        if !self
            .proves(&id, Credential::ClientSecret, client_secret)
            .await?
        {
            return Err(SecurityError::Refused);
        }
        let now = self.now();
        let session = SecretDigest::of(cookie);
        let (ticket, expires_at, save) = {
            let mut state = self.state();
            // It may have been put out while its secret was looked at.
            if !state.principals.contains(&id, now) {
                return Err(SecurityError::Refused);
            }
            let (ticket, expires_at) = state.tickets.issue(&id, session, origin, now);
            (ticket, expires_at, state.principals.seen(&id, now))
        };
        if save && let Err(error) = self.save().await {
            // When somebody was last seen is no reason to keep them out.
            tracing::warn!(%error, "the time of a visit could not be stored");
        }
        Ok(IssuedTicket { ticket, expires_at })
    }

    /// Uses a ticket up; says whose it is, if this is the cookie of its session and the origin it
    /// was made for. A ticket is consumed by being shown, also with a wrong cookie or origin.
    #[must_use]
    pub(crate) fn redeem_ticket(
        &self,
        ticket: &str,
        cookie: &str,
        origin: &str,
    ) -> Option<PrincipalId> {
        let now = self.now();
        if ticket.len() > MAX_PRESENTED_LEN || cookie.len() > MAX_PRESENTED_LEN {
            return None;
        }
        let mut state = self.state();
        // The ticket was made for a cookie that had been verified, so its digest is proof enough.
        let owner = state
            .tickets
            .redeem(ticket, SecretDigest::of(cookie), origin, now)?;
        state.principals.contains(&owner, now).then_some(owner)
    }

    /// Whether a browser is in. Who hands a socket over asks once more after it has been
    /// registered: then a logout in between closes it, or shows here.
    #[must_use]
    pub(crate) fn is_enrolled(&self, principal: &PrincipalId) -> bool {
        let now = self.now();
        self.state().principals.contains(principal, now)
    }

    /// Ends the session of the browser that has this cookie; `None` when it is nobody's.
    ///
    /// # Errors
    /// Only when the cookie could not be checked.
    pub(crate) async fn logout(&self, cookie: &str) -> Result<Option<Removed>, SecurityError> {
        match self.cookie_owner(cookie).await {
            Ok(id) => Ok(self.revoke(&id).await),
            Err(SecurityError::Refused) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Puts a browser out: its credentials, what is cached of them, and its tickets.
    pub(crate) async fn revoke(&self, principal: &PrincipalId) -> Option<Removed> {
        {
            let mut state = self.state();
            state.tickets.forget(principal);
            if !state.principals.remove(principal) {
                return None;
            }
        }
        tracing::info!(%principal, "a browser was put out");
        Some(Removed {
            principal_id: principal.clone(),
            stored: self.save().await,
        })
    }

    async fn cookie_owner(&self, cookie: &str) -> Result<PrincipalId, SecurityError> {
        let id = cookie::claimed_principal(cookie).ok_or(SecurityError::Refused)?;
        match self.proves(&id, Credential::Cookie, cookie).await? {
            true => Ok(id),
            false => Err(SecurityError::Refused),
        }
    }

    async fn proves(
        &self,
        id: &PrincipalId,
        which: Credential,
        presented: &str,
    ) -> Result<bool, SecurityError> {
        if presented.len() > MAX_PRESENTED_LEN {
            return Ok(false);
        }
        let digest = SecretDigest::of(presented);
        match self.known(id, which) {
            Known::Nobody => return Ok(false),
            Known::Digest(right) => return Ok(right.matches(&digest)),
            Known::Hash(_) => {}
        }
        let (this, id, presented) = (self.clone(), id.clone(), presented.to_owned());
        // Asked again when it is its turn: another tab may have shown the same meanwhile.
        let verify = move || match this.known(&id, which) {
            Known::Nobody => false,
            Known::Digest(right) => right.matches(&digest),
            Known::Hash(hash) => {
                this.inner.verifications.fetch_add(1, Ordering::Relaxed);
                credential::verify(&presented, &hash)
                    && this.state().principals.remember(&id, which, digest)
            }
        };
        self.costly(verify).await
    }

    fn known(&self, id: &PrincipalId, which: Credential) -> Known {
        let now = self.now();
        self.state().principals.known(id, which, now)
    }
}
