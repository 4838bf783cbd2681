//! One request key is carried out by one command at a time; a second one waits for the first.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::OwnedMutexGuard;

/// The keys that are under way.
#[derive(Debug, Default)]
pub(crate) struct Keys(Mutex<HashMap<String, Arc<tokio::sync::Mutex<()>>>>);

/// Held while a command with the key is carried out.
#[derive(Debug)]
pub(crate) struct Alone<'a> {
    keys: &'a Keys,
    key: String,
    guard: Option<OwnedMutexGuard<()>>,
}

impl Keys {
    /// Waits until no other command with this key is under way.
    pub(crate) async fn lock(&self, key: &str) -> Alone<'_> {
        let lock = {
            let mut keys = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            Arc::clone(keys.entry(key.to_owned()).or_default())
        };
        Alone {
            keys: self,
            key: key.to_owned(),
            guard: Some(lock.lock_owned().await),
        }
    }
}

impl Drop for Alone<'_> {
    fn drop(&mut self) {
        drop(self.guard.take());
        let mut keys = self.keys.0.lock().unwrap_or_else(PoisonError::into_inner);
        // The map's own reference is the last one when nobody waits.
        if keys
            .get(&self.key)
            .is_some_and(|lock| Arc::strong_count(lock) == 1)
        {
            keys.remove(&self.key);
        }
    }
}
