//! The stream of events that an agent makes.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use shard_types::event::AgentEvent;

/// Hears every event of an agent, in order. A transport is one of these.
pub trait EventSubscriber: Send + Sync {
    /// Takes one event. It must not block: a slow consumer keeps a bounded queue of its own.
    fn event(&self, event: &AgentEvent);

    /// Resolves once the subscriber has room. A turn waits for this between pieces of a stream, so
    /// that a reader who is slow slows the model down instead of filling memory.
    fn ready(&self) -> BoxFuture<'_, ()> {
        Box::pin(std::future::ready(()))
    }
}

/// Carries events from the session to whoever listens.
pub trait EventBus: Send + Sync {
    /// Gives an event to every subscriber before it returns. What is published is on disk already,
    /// where it is something that is kept.
    fn publish(&self, event: &AgentEvent);

    /// Adds a subscriber, which hears every later event.
    fn subscribe(&self, subscriber: Arc<dyn EventSubscriber>);

    /// Resolves once every subscriber has room.
    fn ready(&self) -> BoxFuture<'_, ()>;
}
