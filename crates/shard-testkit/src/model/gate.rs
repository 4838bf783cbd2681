//! A gate: the point where a reply waits for the test.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;

/// Holds replies back until the test lets them go. Clones are the same gate.
#[derive(Debug, Clone, Default)]
pub struct Gate(Arc<watch::Sender<State>>);

#[derive(Debug, Default)]
struct State {
    open: bool,
    arrivals: usize,
}

impl Gate {
    /// How long [`Gate::reached`] waits.
    const DEADLINE: Duration = Duration::from_secs(10);

    /// Makes a closed gate.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Lets everything through, from now on.
    pub fn open(&self) {
        self.0.send_modify(|state| state.open = true);
    }

    /// Waits until a reply stands at the gate, or has passed it. Fails the test after 10 s.
    pub async fn reached(&self) {
        self.reached_times(1).await;
    }

    /// Waits until that many replies have come to the gate. Fails the test after 10 s.
    pub async fn reached_times(&self, count: usize) {
        let mut state = self.0.subscribe();
        let arrived = state.wait_for(|state| state.arrivals >= count);
        let came = tokio::time::timeout(Self::DEADLINE, arrived).await.is_ok();
        assert!(
            came,
            "waited {:?} for reply {count} to reach the gate; {} came",
            Self::DEADLINE,
            self.0.borrow().arrivals
        );
    }

    /// Counts the caller in and waits for the gate to open.
    pub(super) async fn pass(&self) {
        let mut state = self.0.subscribe();
        self.0.send_modify(|state| state.arrivals += 1);
        // The sender lives in `self`, so that waiting can only end with an open gate.
        let _open = state.wait_for(|state| state.open).await;
    }
}
