//! The extension host: who registered what, and what becomes of extensions that fail.

use std::panic::panic_any;
use std::sync::{Arc, Mutex};

use shard_contracts::{
    BoxFuture, CompactError, Compactor, ContextSize, Dialog, Disposer, Extension, ExtensionApi,
    ExtensionError, Extractor, ExtractorContext, PermissionGate, Provider, Tool, Ui,
};
use shard_core::bus::Bus;
use shard_core::host::{Diagnostic, ExtensionHost, Snapshot};
use shard_types::NormalizedBlock;
use shard_types::event::UiValue;
use tokio::sync::mpsc;

use crate::provider::ScriptedProvider;
use crate::tools::{Deed, FakeMode, FakeTool, ScriptedGate};

struct NoUi;

impl Ui for NoUi {
    fn ask(&self, _: Dialog) -> BoxFuture<'static, Option<UiValue>> {
        Box::pin(std::future::ready(None))
    }
}

/// What comes of an installation, and of its disposer.
#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    Good,
    Fails,
    Panics,
    Hangs,
    DisposerPanics,
    DisposerHangs,
}

/// Registers modes of these names, waiting before each.
struct Modes {
    id: &'static str,
    modes: &'static [&'static str],
    end: End,
    disposed: Arc<Mutex<Vec<&'static str>>>,
}

impl Extension for Modes {
    fn id(&self) -> &str {
        self.id
    }

    fn install<'a>(
        &'a self,
        api: &'a mut dyn ExtensionApi,
    ) -> BoxFuture<'a, Result<Option<Disposer>, ExtensionError>> {
        Box::pin(async move {
            for name in self.modes {
                tokio::task::yield_now().await;
                api.register_mode(Arc::new(FakeMode(name)));
            }
            match self.end {
                End::Fails => return Err(ExtensionError("no luck".to_owned())),
                End::Panics => panic_any("a bug"),
                End::Hangs => std::future::pending().await,
                End::Good | End::DisposerPanics | End::DisposerHangs => {}
            }
            let (id, end, disposed) = (self.id, self.end, Arc::clone(&self.disposed));
            let dispose: Disposer = Box::new(move || {
                Box::pin(async move {
                    tokio::task::yield_now().await;
                    match end {
                        End::DisposerPanics => panic_any("a bug"),
                        End::DisposerHangs => std::future::pending().await,
                        _ => {}
                    }
                    disposed.lock().unwrap().push(id);
                })
            });
            Ok(Some(dispose))
        })
    }
}

fn host() -> ExtensionHost {
    ExtensionHost::new(Arc::new(Bus::default()), Arc::new(NoUi))
}

/// Installs these, one after the other; gives who was disposed of, in its order.
async fn installed(
    host: &mut ExtensionHost,
    extensions: &[(&'static str, &'static [&'static str], End)],
) -> Arc<Mutex<Vec<&'static str>>> {
    let disposed = Arc::new(Mutex::new(Vec::new()));
    for &(id, modes, end) in extensions {
        let extension = Modes {
            id,
            modes,
            end,
            disposed: Arc::clone(&disposed),
        };
        host.install(&extension).await;
    }
    disposed
}

fn note(extension: &str, message: &str) -> Diagnostic {
    Diagnostic {
        extension: extension.to_owned(),
        message: message.to_owned(),
    }
}

fn modes(host: &ExtensionHost) -> Vec<String> {
    let snapshot = host.snapshot();
    let names = snapshot.modes.iter().map(|mode| mode.name().to_owned());
    names.collect()
}

#[tokio::test]
async fn everything_is_put_down_to_its_extension() {
    let mut host = host();
    let extensions = [
        ("first", &["a", "b"][..], End::Good),
        ("broken", &["c", "a"], End::Fails),
        ("last", &["d", "c"], End::Good),
    ];
    let disposed = installed(&mut host, &extensions).await;
    assert_eq!(
        host.diagnostics(),
        [
            note("broken", "mode a replaces the one of first"),
            note("broken", "not installed: no luck"),
            note("last", "mode c replaces the one of broken"),
        ]
    );
    assert_eq!(
        modes(&host),
        ["a", "b", "c", "d"],
        "a replacement keeps the place"
    );
    host.shut_down().await;
    host.shut_down().await;
    assert_eq!(*disposed.lock().unwrap(), ["last", "first"]);
}

#[tokio::test(start_paused = true)]
async fn whatever_an_extension_does_the_others_are_installed_and_disposed_of() {
    let mut host = host();
    let extensions = [
        ("first", &["a"][..], End::Good),
        ("buggy", &["b"], End::Panics),
        ("slow", &["c"], End::Hangs),
        ("messy", &[], End::DisposerPanics),
        ("stuck", &[], End::DisposerHangs),
        ("last", &["d"], End::Good),
    ];
    let disposed = installed(&mut host, &extensions).await;
    assert_eq!(modes(&host), ["a", "b", "c", "d"]);
    host.shut_down().await;
    assert_eq!(
        host.diagnostics(),
        [
            note("buggy", "not installed: it panicked, which is a bug in it"),
            note("slow", "not installed: it took longer than 10 s"),
            note("stuck", "not cleaned up: it took longer than 1 s"),
            note("messy", "not cleaned up: it panicked, which is a bug in it"),
        ]
    );
    assert_eq!(*disposed.lock().unwrap(), ["last", "first"]);
}

/// Registers one of each kind.
struct OneOfEach {
    id: &'static str,
    tool: Arc<dyn Tool>,
    provider: Arc<dyn Provider>,
    extractor: Arc<dyn Extractor>,
    gate: Arc<dyn PermissionGate>,
    compactor: Arc<dyn Compactor>,
}

impl OneOfEach {
    fn new(id: &'static str) -> Self {
        let (held, calls) = (mpsc::channel(1).0, mpsc::channel(1).0);
        Self {
            id,
            tool: Arc::new(FakeTool {
                name: "echo",
                deed: Deed::Echo,
                held,
                ran: Arc::default(),
            }),
            provider: Arc::new(ScriptedProvider {
                name: "one",
                models: Vec::new(),
                calls,
            }),
            extractor: Arc::new(Nothing),
            gate: Arc::new(ScriptedGate::default()),
            compactor: Arc::new(Nothing),
        }
    }
}

/// Extracts nothing and compacts nothing.
struct Nothing;

impl Extractor for Nothing {
    fn section(&self) -> &'static str {
        "Nothing"
    }

    fn extract(&self, _: &[NormalizedBlock], _: &ExtractorContext<'_>) -> Vec<String> {
        Vec::new()
    }
}

impl Compactor for Nothing {
    fn name(&self) -> &'static str {
        "nothing"
    }

    fn should_compact(&self, _: ContextSize) -> bool {
        false
    }

    fn summarize(
        &self,
        _: &[NormalizedBlock],
        _: &[Arc<dyn Extractor>],
        _: &ExtractorContext<'_>,
    ) -> Result<String, CompactError> {
        Err(CompactError("nothing to say".to_owned()))
    }
}

impl Extension for OneOfEach {
    fn id(&self) -> &str {
        self.id
    }

    fn install<'a>(
        &'a self,
        api: &'a mut dyn ExtensionApi,
    ) -> BoxFuture<'a, Result<Option<Disposer>, ExtensionError>> {
        api.register_tool(Arc::clone(&self.tool));
        api.register_provider(Arc::clone(&self.provider));
        api.register_extractor(Arc::clone(&self.extractor));
        api.register_gate(Arc::clone(&self.gate));
        api.register_compactor(Arc::clone(&self.compactor));
        Box::pin(std::future::ready(Ok(None)))
    }
}

#[tokio::test]
async fn of_each_kind_the_last_one_of_a_name_counts_and_that_is_told() {
    let mut host = host();
    let last = OneOfEach::new("last");
    host.install(&OneOfEach::new("first")).await;
    host.install(&last).await;
    let told: Vec<_> = host.diagnostics().iter().map(|it| &*it.message).collect();
    assert_eq!(
        told,
        [
            "tool echo",
            "provider one",
            "extractor Nothing",
            "gate",
            "compactor"
        ]
        .map(|what| format!("{what} replaces the one of first"))
    );
    let Snapshot {
        tools,
        providers,
        extractors,
        gate,
        compactor,
        ..
    } = host.snapshot();
    let counts = [tools.len(), providers.len(), extractors.len()];
    assert_eq!(counts, [1, 1, 1]);
    assert!(Arc::ptr_eq(&tools[0], &last.tool));
    assert!(Arc::ptr_eq(&providers[0], &last.provider));
    assert!(Arc::ptr_eq(&extractors[0], &last.extractor));
    assert!(Arc::ptr_eq(&gate.unwrap(), &last.gate));
    assert!(Arc::ptr_eq(&compactor.unwrap(), &last.compactor));
}
