//! The extension host: the one place where capabilities come in.
//!
//! Owns what is registered, and by whom. Registering under a taken name replaces the earlier
//! registration and leaves a note; an extension that fails, panics or never gets done is noted and the
//! others stand. The session works from a [`Snapshot`] and knows nothing of extensions.

use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use shard_contracts::{
    CodeIntelligence, Compactor, Disposer, EventBus, EventSubscriber, Extension, ExtensionApi,
    Extractor, Mode, PermissionGate, Provider, Tool, Ui,
};

use crate::bus::Bus;

/// How long an extension may take to install itself. What it has to wait for longer, it can register
/// as something that waits.
const INSTALL_WITHIN: Duration = Duration::from_secs(10);

/// How long one may take to clean up, so that the process ends in time.
const DISPOSE_WITHIN: Duration = Duration::from_secs(1);

/// Something worth knowing about a registration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnostic {
    /// The extension that it is about.
    pub extension: String,
    /// What happened.
    pub message: String,
}

/// Everything that is registered.
#[derive(Clone, Default)]
pub struct Snapshot {
    /// Tools, in the order of their registration.
    pub tools: Vec<Arc<dyn Tool>>,
    /// Modes, likewise. The first is the default.
    pub modes: Vec<Arc<dyn Mode>>,
    /// Providers, likewise.
    pub providers: Vec<Arc<dyn Provider>>,
    /// Extractors, likewise.
    pub extractors: Vec<Arc<dyn Extractor>>,
    /// The permission gate.
    pub gate: Option<Arc<dyn PermissionGate>>,
    /// The compactor.
    pub compactor: Option<Arc<dyn Compactor>>,
    /// The code intelligence.
    pub code: Option<Arc<dyn CodeIntelligence>>,
}

impl Snapshot {
    /// The tool of this name.
    #[must_use]
    pub fn tool(&self, name: &str) -> Option<&Arc<dyn Tool>> {
        self.tools.iter().find(|tool| tool.name() == name)
    }

    /// The mode of this name.
    #[must_use]
    pub fn mode(&self, name: &str) -> Option<&Arc<dyn Mode>> {
        self.modes.iter().find(|mode| mode.name() == name)
    }
}

/// Installs extensions and keeps what they register.
pub struct ExtensionHost {
    bus: Arc<Bus>,
    ui: Arc<dyn Ui>,
    registered: Snapshot,
    /// Who registered what, by `kind name`.
    owners: Vec<(String, String)>,
    disposers: Vec<(String, Disposer)>,
    diagnostics: Vec<Diagnostic>,
}

impl ExtensionHost {
    /// A host without extensions, for a session with this bus and these dialogs.
    #[must_use]
    pub fn new(bus: Arc<Bus>, ui: Arc<dyn Ui>) -> Self {
        Self {
            bus,
            ui,
            registered: Snapshot::default(),
            owners: Vec::new(),
            disposers: Vec::new(),
            diagnostics: Vec::new(),
        }
    }

    /// Installs one extension. Everything that it registers is put down to its id, also what it
    /// registers after waiting. A failure is a diagnostic; what was registered before it stands.
    pub async fn install(&mut self, extension: &dyn Extension) {
        let id = extension.id().to_owned();
        let mut registrar = Registrar {
            host: self,
            id: &id,
        };
        let installed = guarded(INSTALL_WITHIN, || extension.install(&mut registrar)).await;
        match installed {
            Ok(Ok(Some(disposer))) => self.disposers.push((id, disposer)),
            Ok(Ok(None)) => {}
            Ok(Err(error)) => self.note(&id, format!("not installed: {error}")),
            Err(why) => self.note(&id, format!("not installed: {why}")),
        }
    }

    /// Everything that is registered now.
    #[must_use]
    pub fn snapshot(&self) -> Snapshot {
        self.registered.clone()
    }

    /// What is worth knowing about the registrations so far.
    #[must_use]
    pub fn diagnostics(&self) -> &[Diagnostic] {
        &self.diagnostics
    }

    /// Runs what extensions left to be done at the end, the last one's first.
    pub async fn shut_down(&mut self) {
        while let Some((id, disposer)) = self.disposers.pop() {
            if let Err(why) = guarded(DISPOSE_WITHIN, disposer).await {
                self.note(&id, format!("not cleaned up: {why}"));
            }
        }
    }

    fn note(&mut self, extension: &str, message: String) {
        self.diagnostics.push(Diagnostic {
            extension: extension.to_owned(),
            message,
        });
    }

    /// Writes down who owns a name now, and says so when it had another owner.
    fn claim(&mut self, extension: &str, what: String) {
        match self.owners.iter_mut().find(|(taken, _)| *taken == what) {
            Some((_, owner)) => {
                let message = format!("{what} replaces the one of {owner}");
                extension.clone_into(owner);
                self.note(extension, message);
            }
            None => self.owners.push((what, extension.to_owned())),
        }
    }
}

/// Has an extension do something, whatever it does instead.
async fn guarded<F: Future>(
    within: Duration,
    begin: impl FnOnce() -> F,
) -> Result<F::Output, String> {
    let work = AssertUnwindSafe(async move { begin().await }).catch_unwind();
    match tokio::time::timeout(within, work).await {
        Ok(Ok(done)) => Ok(done),
        Ok(Err(_)) => Err("it panicked, which is a bug in it".to_owned()),
        Err(_) => Err(format!("it took longer than {} s", within.as_secs())),
    }
}

/// The host as one extension sees it.
struct Registrar<'a> {
    host: &'a mut ExtensionHost,
    id: &'a str,
}

/// Puts `new` in the place of its namesake, else at the end.
fn put<T: ?Sized>(list: &mut Vec<Arc<T>>, new: Arc<T>, same: impl Fn(&T) -> bool) {
    match list.iter_mut().find(|old| same(old)) {
        Some(old) => *old = new,
        None => list.push(new),
    }
}

impl ExtensionApi for Registrar<'_> {
    fn on(&mut self, subscriber: Arc<dyn EventSubscriber>) {
        self.host.bus.subscribe(subscriber);
    }

    fn register_tool(&mut self, tool: Arc<dyn Tool>) {
        let name = tool.name().to_owned();
        self.host.claim(self.id, format!("tool {name}"));
        put(&mut self.host.registered.tools, tool, |old| {
            old.name() == name
        });
    }

    fn register_mode(&mut self, mode: Arc<dyn Mode>) {
        let name = mode.name().to_owned();
        self.host.claim(self.id, format!("mode {name}"));
        put(&mut self.host.registered.modes, mode, |old| {
            old.name() == name
        });
    }

    fn register_gate(&mut self, gate: Arc<dyn PermissionGate>) {
        self.host.claim(self.id, "gate".to_owned());
        self.host.registered.gate = Some(gate);
    }

    fn register_compactor(&mut self, compactor: Arc<dyn Compactor>) {
        self.host.claim(self.id, "compactor".to_owned());
        self.host.registered.compactor = Some(compactor);
    }

    fn register_extractor(&mut self, extractor: Arc<dyn Extractor>) {
        let section = extractor.section().to_owned();
        self.host.claim(self.id, format!("extractor {section}"));
        put(&mut self.host.registered.extractors, extractor, |old| {
            old.section() == section
        });
    }

    fn register_code_intelligence(&mut self, code: Arc<dyn CodeIntelligence>) {
        self.host.claim(self.id, "code intelligence".to_owned());
        self.host.registered.code = Some(code);
    }

    fn register_provider(&mut self, provider: Arc<dyn Provider>) {
        let name = provider.name().to_owned();
        self.host.claim(self.id, format!("provider {name}"));
        put(&mut self.host.registered.providers, provider, |old| {
            old.name() == name
        });
    }

    fn ui(&self) -> Arc<dyn Ui> {
        Arc::clone(&self.host.ui)
    }
}
