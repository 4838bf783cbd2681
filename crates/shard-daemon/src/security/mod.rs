//! Who may talk to the daemon over the network: setup tokens, enrollment, cookies, tickets, and
//! which hosts and origins are listened to.
//!
//! There is nothing of HTTP in here, so that every rule is a unit test; [`crate::http`] is a thin
//! layer over it. [`Security`] owns all of the state; the files beside it hold one rule each.
//!
//! Invariants: a raw credential, token, nonce or ticket is never stored, logged or shown by
//! `Debug`; secrets are compared in constant time; nothing costly is done for somebody whose
//! principal is unknown.

pub(crate) mod access;
mod clock;
pub(crate) mod cookie;
mod credential;
mod enrollment;
mod policy;
mod principals;
pub(crate) mod public_host;
mod secret;
mod sessions;
mod store;
mod throttle;
mod tickets;
mod tokens;
mod visitors;

use std::path::Path;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use thiserror::Error;
use tokio::sync::Semaphore;

pub(crate) use clock::Clock;
pub(crate) use policy::{Effective, Policy, Refusal};
pub(crate) use secret::{Secret, SecretDigest};
pub(crate) use store::StoreError;
pub(crate) use throttle::RetryAfter;
pub(crate) use visitors::{Claimed, Enrolled};

use enrollment::PendingEnrollments;
use principals::Principals;
use store::Store;
use throttle::Throttle;
use tickets::Tickets;
use tokens::SetupTokens;

/// Costly hashes that are computed at once: nobody who knocks may take more of the machine.
const MAX_COSTLY: usize = 2;

/// Enrollments that may be started in a minute.
const STARTS_PER_MINUTE: usize = 10;

/// Wrong tokens and nonces, together, in a minute.
const WRONG_PER_MINUTE: usize = 10;

/// Why something was refused or could not be done.
#[derive(Debug, Error)]
pub(crate) enum SecurityError {
    /// Too often within a minute.
    #[error("too many attempts: try again in {} s", .0.ms.div_ceil(1_000))]
    Throttled(RetryAfter),
    /// What was presented is wrong, used up or expired. There is no telling which.
    #[error("the credentials are wrong, used up or expired")]
    Refused,
    /// The store could not be written.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The work was given up, because the daemon stops or the hash function failed.
    #[error("the credentials could not be computed: try again")]
    Interrupted,
}

/// All that is decided about who is let in. Cloning gives another handle to the same state.
#[derive(Clone)]
pub(crate) struct Security {
    inner: Arc<Inner>,
}

struct Inner {
    policy: Policy,
    clock: Clock,
    store: Store,
    /// A lock, not a task: every rule is a few comparisons in memory, each call is one visit, and
    /// the guard is never held over an await, a hash or a write.
    state: Mutex<State>,
    costly: Arc<Semaphore>,
    /// How many credentials were verified the costly way since the start.
    verifications: AtomicU64,
}

struct State {
    principals: Principals,
    tokens: SetupTokens,
    enrollments: PendingEnrollments,
    tickets: Tickets,
    starts: Throttle,
    wrong: Throttle,
}

impl Security {
    /// Opens the store at `path` (`security-v1.json` in the daemon's folder), for a listener that
    /// is known by `policy`. Reads a file: not for a thread of the async runtime that is in a hurry.
    ///
    /// # Errors
    /// A store that is damaged, newer than this build, or not to be read is never replaced.
    pub(crate) fn open(path: &Path, policy: Policy, clock: Clock) -> Result<Self, StoreError> {
        let (store, stored) = Store::open(path)?;
        let state = State {
            principals: Principals::load(stored),
            tokens: SetupTokens::default(),
            enrollments: PendingEnrollments::default(),
            tickets: Tickets::default(),
            starts: Throttle::per_minute(STARTS_PER_MINUTE),
            wrong: Throttle::per_minute(WRONG_PER_MINUTE),
        };
        let inner = Inner {
            policy,
            clock,
            store,
            state: Mutex::new(state),
            costly: Arc::new(Semaphore::new(MAX_COSTLY)),
            verifications: AtomicU64::new(0),
        };
        Ok(Self {
            inner: Arc::new(inner),
        })
    }

    /// Which host and origins are listened to.
    #[must_use]
    pub(crate) fn policy(&self) -> &Policy {
        &self.inner.policy
    }

    fn now(&self) -> u64 {
        self.inner.clock.now()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.inner.state()
    }

    /// Writes the principals as they stand once the file is free.
    async fn save(&self) -> Result<(), SecurityError> {
        let inner = Arc::clone(&self.inner);
        let save = move || inner.store.save(|| inner.state().principals.snapshot());
        let saved = tokio::task::spawn_blocking(save).await;
        Ok(saved.map_err(|_| SecurityError::Interrupted)??)
    }

    /// Runs something costly off the runtime, when it is its turn.
    async fn costly<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, SecurityError> {
        let semaphore = Arc::clone(&self.inner.costly);
        let permit = semaphore
            .acquire_owned()
            .await
            .map_err(|_| SecurityError::Interrupted)?;
        let work = move || {
            // Held by the work itself: a caller that goes away does not make room for another
            // while its hash is still being computed.
            let _permit = permit;
            work()
        };
        let done = tokio::task::spawn_blocking(work).await;
        done.map_err(|_| SecurityError::Interrupted)
    }
}

impl Inner {
    fn state(&self) -> MutexGuard<'_, State> {
        // A panic under the lock is a bug of one request; the maps are whole after each statement.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests;
