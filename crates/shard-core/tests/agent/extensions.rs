//! The extension host: who registered what, and what becomes of extensions that fail.

use std::sync::{Arc, Mutex};

use shard_contracts::{BoxFuture, Dialog, Disposer, Extension, ExtensionApi, ExtensionError, Ui};
use shard_core::bus::Bus;
use shard_core::host::{Diagnostic, ExtensionHost};
use shard_types::event::UiValue;

use crate::tools::FakeMode;

struct NoUi;

impl Ui for NoUi {
    fn ask(&self, _: Dialog) -> BoxFuture<'static, Option<UiValue>> {
        Box::pin(std::future::ready(None))
    }
}

/// Registers modes of these names, waiting before each.
struct Modes {
    id: &'static str,
    modes: &'static [&'static str],
    fails: bool,
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
            if self.fails {
                return Err(ExtensionError("no luck".to_owned()));
            }
            let (id, disposed) = (self.id, Arc::clone(&self.disposed));
            let dispose: Disposer = Box::new(move || {
                Box::pin(async move {
                    tokio::task::yield_now().await;
                    disposed.lock().unwrap().push(id);
                })
            });
            Ok(Some(dispose))
        })
    }
}

#[tokio::test]
async fn everything_is_put_down_to_its_extension() {
    let disposed = Arc::new(Mutex::new(Vec::new()));
    let mut host = ExtensionHost::new(Arc::new(Bus::default()), Arc::new(NoUi));
    for (id, modes, fails) in [
        ("first", &["a", "b"][..], false),
        ("broken", &["c", "a"], true),
        ("last", &["d", "c"], false),
    ] {
        let extension = Modes {
            id,
            modes,
            fails,
            disposed: Arc::clone(&disposed),
        };
        host.install(&extension).await;
    }
    let note = |extension: &str, message: &str| Diagnostic {
        extension: extension.to_owned(),
        message: message.to_owned(),
    };
    assert_eq!(
        host.diagnostics(),
        [
            note("broken", "mode a replaces the one of first"),
            note("broken", "not installed: no luck"),
            note("last", "mode c replaces the one of broken"),
        ]
    );
    let snapshot = host.snapshot();
    let modes: Vec<_> = snapshot.modes.iter().map(|mode| mode.name()).collect();
    assert_eq!(modes, ["a", "b", "c", "d"], "a replacement keeps the place");
    host.shut_down().await;
    host.shut_down().await;
    assert_eq!(*disposed.lock().unwrap(), ["last", "first"]);
}
