//! The rules together, through the public face, with a clock that the test sets.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};

use tempfile::TempDir;

use super::*;

mod enrolling;
mod sessions;

const ORIGIN: &str = "http://127.0.0.1:7411";
const START: u64 = 1_700_000_000_000;

struct World {
    home: TempDir,
    now: Arc<AtomicU64>,
    security: Security,
}

impl World {
    fn new() -> Self {
        let home = tempfile::tempdir().unwrap();
        let now = Arc::new(AtomicU64::new(START));
        let security = open(&home, &now);
        Self {
            home,
            now,
            security,
        }
    }

    fn path(&self) -> PathBuf {
        self.home.path().join("security-v1.json")
    }

    fn advance(&self, ms: u64) {
        self.now.fetch_add(ms, Ordering::Relaxed);
    }

    fn restart(&mut self) {
        self.security = open(&self.home, &self.now);
    }

    async fn enroll(&self) -> Enrolled {
        let token = self.security.setup_token().token;
        self.security
            .redeem_token(&token, Some("Test/1"))
            .await
            .unwrap()
    }

    async fn ticket(&self, browser: &Enrolled) -> Result<String, SecurityError> {
        let (cookie, secret) = (browser.cookie.expose(), browser.client_secret.expose());
        let issued = self.security.bootstrap(cookie, secret, ORIGIN).await?;
        Ok(issued.ticket.expose().to_owned())
    }
}

impl Security {
    fn verifications(&self) -> u64 {
        self.inner.verifications.load(Ordering::Relaxed)
    }
}

fn open(home: &TempDir, now: &Arc<AtomicU64>) -> Security {
    let now = Arc::clone(now);
    let clock = Clock::from_fn(move || now.load(Ordering::Relaxed));
    let access = access::WebAccess::new(access::WebOptions::default()).unwrap();
    let policy = Policy::new(&access, ([127, 0, 0, 1], 7411).into());
    Security::open(&home.path().join("security-v1.json"), policy, clock).unwrap()
}

fn is_refused<T>(result: &Result<T, SecurityError>) -> bool {
    matches!(result, Err(SecurityError::Refused))
}

fn is_throttled<T>(result: &Result<T, SecurityError>) -> bool {
    matches!(result, Err(SecurityError::Throttled(_)))
}
