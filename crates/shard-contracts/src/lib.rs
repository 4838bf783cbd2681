//! The seams of Shard: what the core calls, and what anything else may plug in (floor L1).
//!
//! Whatever a user might want to replace stands behind one of these traits, and there is one
//! way to put an implementation there: [`ExtensionApi`]. The traits hold behaviour; what goes
//! through them is plain data from `shard-types`.

mod bus;
mod code;
mod compactor;
mod extension;
mod gate;
mod mode;
mod provider;
mod tool;
mod ui;

pub use bus::{EventBus, EventSubscriber};
pub use code::{CodeError, CodeIntelligence, Symbol};
pub use compactor::{Carry, CompactError, Compactor, ContextSize, Extractor, ExtractorContext};
pub use extension::{Disposer, Extension, ExtensionApi, ExtensionError};
pub use futures_util::future::BoxFuture;
pub use futures_util::stream::BoxStream;
pub use gate::{Ask, CallFacts, Decision, GateError, PathFact, PermissionGate};
pub use mode::{Artifact, Artifacts, Mode, Vote};
pub use provider::{
    Provider, ProviderError, ProviderErrorKind, ProviderEvent, ProviderRequest, StopReason,
    ToolDeclaration,
};
pub use tool::{Access, Progress, Tool, ToolContext, ToolOutput};
pub use ui::{Dialog, Ui};
