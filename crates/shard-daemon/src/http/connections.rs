//! How many connections are open at once, and which of them gives way to a new one.
//!
//! A connection without a request under way is worth little to whoever holds it, since browsers open
//! another one when they need it; so a program that opens many and says nothing keeps nobody out.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// How long what is left of an answer may take on a connection that gives way.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// Bounds on what is open at once.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bounds {
    /// Connections in all. A browser opens six for one address.
    pub(super) all: usize,
    /// Connections of one address of a network.
    pub(super) of_one_address: usize,
}

/// All connections of the listener. Sockets that were handed over are not among them: their owners
/// are enrolled, and bounded by that.
#[derive(Debug)]
pub(super) struct Connections {
    bounds: Bounds,
    state: Mutex<State>,
    /// Something ended, or nothing is under way on it any more.
    changed: Notify,
}

#[derive(Debug, Default)]
struct State {
    next: u64,
    open: BTreeMap<u64, Entry>,
}

#[derive(Debug)]
struct Entry {
    address: Option<IpAddr>,
    /// Since when no request is under way.
    idle_since: Option<Instant>,
    /// Cancelled when it is to give way.
    giving_way: CancellationToken,
}

/// One connection, counted until this is dropped.
#[derive(Debug)]
pub(super) struct Open {
    number: u64,
    /// Cancelled when it is to give way.
    giving_way: CancellationToken,
    /// A request came on it, so that some of an answer may still be on its way.
    was_used: AtomicBool,
    connections: Arc<Connections>,
}

/// A request is under way until this is dropped.
#[derive(Debug)]
pub(super) struct Busy(Arc<Open>);

impl Connections {
    pub(super) fn new(bounds: Bounds) -> Arc<Self> {
        Arc::new(Self {
            bounds,
            state: Mutex::default(),
            changed: Notify::new(),
        })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes room for one more, waiting until there is some. `address` is whose it is, unless many
    /// people share that address; `None` comes back when that one has too many that are in use.
    pub(super) async fn admit(self: &Arc<Self>, address: Option<IpAddr>) -> Option<Open> {
        let address = address.map(network);
        // One gives way to one, however often it is looked until its place is free.
        let mut one_gives_way = false;
        loop {
            let changed = self.changed.notified();
            {
                let mut state = self.state();
                let of_address = |entry: &Entry| address.is_some() && entry.address == address;
                if state.count(of_address) >= self.bounds.of_one_address
                    && !state.drop_oldest_idle(of_address)
                {
                    return None;
                }
                if state.open.len() < self.bounds.all {
                    return Some(state.add(address, self));
                }
                one_gives_way = one_gives_way || state.drop_oldest_idle(|_| true);
            }
            changed.await;
        }
    }

    #[cfg(test)]
    fn count(&self) -> usize {
        self.state().open.len()
    }
}

impl State {
    /// Those that are not giving way already.
    fn count(&self, of: impl Fn(&Entry) -> bool) -> usize {
        let staying = |it: &&Entry| of(it) && !it.giving_way.is_cancelled();
        self.open.values().filter(staying).count()
    }

    /// Tells the one to end that was idle for longest; whether there is one.
    fn drop_oldest_idle(&self, of: impl Fn(&Entry) -> bool) -> bool {
        let staying = |it: &&Entry| of(it) && !it.giving_way.is_cancelled();
        let idle = self.open.values().filter(staying);
        let idle = idle.filter_map(|entry| Some((entry.idle_since?, entry)));
        let oldest = idle.min_by_key(|(since, _)| *since);
        oldest.map(|(_, entry)| entry.giving_way.cancel()).is_some()
    }

    fn add(&mut self, address: Option<IpAddr>, connections: &Arc<Connections>) -> Open {
        let number = self.next;
        self.next += 1;
        let giving_way = CancellationToken::new();
        let entry = Entry {
            address,
            idle_since: Some(Instant::now()),
            giving_way: giving_way.clone(),
        };
        self.open.insert(number, entry);
        Open {
            number,
            giving_way,
            was_used: AtomicBool::new(false),
            connections: Arc::clone(connections),
        }
    }
}

impl Open {
    /// Resolves when it is to give way, with how long it may take to do so.
    pub(super) async fn gives_way(&self) -> Duration {
        self.giving_way.cancelled().await;
        match self.was_used.load(Ordering::Relaxed) {
            true => LAST_WORDS,
            false => Duration::ZERO,
        }
    }

    /// A request is under way.
    pub(super) fn busy(self: &Arc<Self>) -> Busy {
        self.was_used.store(true, Ordering::Relaxed);
        self.set_idle(None);
        Busy(Arc::clone(self))
    }

    fn set_idle(&self, since: Option<Instant>) {
        if let Some(entry) = self.connections.state().open.get_mut(&self.number) {
            entry.idle_since = since;
        }
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.set_idle(Some(Instant::now()));
        self.0.connections.changed.notify_one();
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        self.connections.state().open.remove(&self.number);
        self.connections.changed.notify_one();
    }
}

/// Of IPv6 the part that is given to one site, in which everybody has more addresses than there are
/// connections.
fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => {
            let site = address.to_bits() & (u128::MAX << 64);
            IpAddr::V6(Ipv6Addr::from_bits(site))
        }
        v4 => v4,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(text: &str) -> Option<IpAddr> {
        Some(text.parse().unwrap())
    }

    #[tokio::test]
    async fn one_address_has_its_share_and_its_own_idle_ones_give_way_first() {
        let connections = Connections::new(Bounds {
            all: 10,
            of_one_address: 2,
        });
        let one = connections.admit(address("10.0.0.1")).await.unwrap();
        let two = Arc::new(connections.admit(address("10.0.0.1")).await.unwrap());
        let other = connections.admit(address("10.0.0.2")).await.unwrap();
        let three = Arc::new(connections.admit(address("10.0.0.1")).await.unwrap());
        assert!(one.giving_way.is_cancelled() && !two.giving_way.is_cancelled());
        let _busy = (two.busy(), three.busy());
        assert!(
            connections
                .admit(address("::ffff:10.0.0.1"))
                .await
                .is_none()
        );
        assert!(connections.admit(None).await.is_some(), "shared addresses");
        assert!(!other.giving_way.is_cancelled());
        let _a = connections.admit(address("2001:db8::1")).await.unwrap();
        let _b = connections.admit(address("2001:db8::2")).await.unwrap();
        let c = connections.admit(address("2001:db8::3")).await.unwrap();
        assert!(_a.giving_way.is_cancelled() && !c.giving_way.is_cancelled());
        drop(one);
        assert_eq!(connections.count(), 6);
    }
}
