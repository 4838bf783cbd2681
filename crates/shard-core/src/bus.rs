//! The event bus of one agent.

use std::sync::{Arc, PoisonError, RwLock};

use shard_contracts::{BoxFuture, EventBus, EventSubscriber};
use shard_types::event::AgentEvent;

/// Gives each event to every subscriber, in the order of their subscription.
///
/// The lock is held only to look at the list: subscribing is rare, and a subscriber may publish.
#[derive(Default)]
pub struct Bus {
    subscribers: RwLock<Arc<[Arc<dyn EventSubscriber>]>>,
}

impl Bus {
    fn list(&self) -> Arc<[Arc<dyn EventSubscriber>]> {
        Arc::clone(
            &self
                .subscribers
                .read()
                .unwrap_or_else(PoisonError::into_inner),
        )
    }
}

impl EventBus for Bus {
    fn publish(&self, event: &AgentEvent) {
        for subscriber in self.list().iter() {
            subscriber.event(event);
        }
    }

    fn subscribe(&self, subscriber: Arc<dyn EventSubscriber>) {
        let mut subscribers = self
            .subscribers
            .write()
            .unwrap_or_else(PoisonError::into_inner);
        *subscribers = subscribers.iter().cloned().chain([subscriber]).collect();
    }

    fn ready(&self) -> BoxFuture<'_, ()> {
        let list = self.list();
        Box::pin(async move {
            for subscriber in list.iter() {
                subscriber.ready().await;
            }
        })
    }
}
