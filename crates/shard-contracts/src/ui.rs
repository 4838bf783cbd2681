//! Dialogs with a person.

use futures_util::future::BoxFuture;
use shard_types::event::{NotifyType, UiKind, UiValue};

/// What to ask. The fields mean what those of the `ui_request` event mean.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(missing_docs, reason = "documented at the event that carries them")]
pub struct Dialog {
    pub kind: UiKind,
    pub title: Option<String>,
    pub message: Option<String>,
    pub options: Vec<String>,
    pub multiple: bool,
    pub placeholder: Option<String>,
    pub prefill: Option<String>,
    pub notify_type: Option<NotifyType>,
}

impl Dialog {
    /// A dialog of a kind, with nothing else set.
    #[must_use]
    pub fn new(kind: UiKind) -> Self {
        Self {
            kind,
            title: None,
            message: None,
            options: Vec::new(),
            multiple: false,
            placeholder: None,
            prefill: None,
            notify_type: None,
        }
    }
}

/// Puts dialogs to whoever is attached.
pub trait Ui: Send + Sync {
    /// Asks, and waits for the first answer. `None` when nobody answered: the turn was aborted,
    /// nobody is there, or the time ran out. A notice returns `None` at once.
    fn ask(&self, dialog: Dialog) -> BoxFuture<'static, Option<UiValue>>;
}
