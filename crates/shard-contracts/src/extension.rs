//! The one way in for every capability, built in or not.

use std::sync::Arc;

use futures_util::future::BoxFuture;

use crate::{
    CodeIntelligence, Compactor, EventSubscriber, Extractor, Mode, PermissionGate, Provider, Tool,
    Ui,
};

/// Why an extension could not be installed. The others are installed all the same.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ExtensionError(pub String);

/// What an extension wants done when the host shuts down.
pub type Disposer = Box<dyn FnOnce() -> BoxFuture<'static, ()> + Send>;

/// A bundle of capabilities.
pub trait Extension: Send + Sync {
    /// Its name; registrations are attributed to it.
    fn id(&self) -> &str;

    /// Registers what the extension brings. It may wait in between.
    fn install<'a>(
        &'a self,
        api: &'a mut dyn ExtensionApi,
    ) -> BoxFuture<'a, Result<Option<Disposer>, ExtensionError>>;
}

/// What an extension can do to the core; there is no other way in. Registering under a name that
/// is taken replaces the earlier registration, and the host keeps a note of it.
pub trait ExtensionApi: Send {
    /// Hears every event.
    fn on(&mut self, subscriber: Arc<dyn EventSubscriber>);
    /// Adds a tool.
    fn register_tool(&mut self, tool: Arc<dyn Tool>);
    /// Adds a mode.
    fn register_mode(&mut self, mode: Arc<dyn Mode>);
    /// Sets the permission gate.
    fn register_gate(&mut self, gate: Arc<dyn PermissionGate>);
    /// Sets the compactor.
    fn register_compactor(&mut self, compactor: Arc<dyn Compactor>);
    /// Adds an extractor.
    fn register_extractor(&mut self, extractor: Arc<dyn Extractor>);
    /// Sets the code intelligence.
    fn register_code_intelligence(&mut self, code: Arc<dyn CodeIntelligence>);
    /// Adds a provider.
    fn register_provider(&mut self, provider: Arc<dyn Provider>);
    /// Dialogs with whoever is attached.
    fn ui(&self) -> Arc<dyn Ui>;
}
