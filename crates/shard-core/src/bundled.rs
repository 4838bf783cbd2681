//! The extensions that every agent has: what is built in comes in the same way as what is not.

use std::sync::Arc;

use shard_contracts::{
    BoxFuture, Disposer, EventSubscriber, Extension, ExtensionApi, ExtensionError, PermissionGate,
    Provider, Tool,
};
use shard_session::UsageLog;
use shard_types::event::AgentEvent;

use crate::compaction::{DefaultCompactor, default_extractors};
use crate::knowledge::Knowledge;
use crate::modes;
use crate::tools::LoadSkill;

type Installed<'a> = BoxFuture<'a, Result<Option<Disposer>, ExtensionError>>;

fn installed() -> Installed<'static> {
    Box::pin(std::future::ready(Ok(None)))
}

/// The built-in tools, in the order in which a model is told of them.
pub(crate) struct Tools(pub(crate) Vec<Arc<dyn Tool>>);

impl Extension for Tools {
    fn id(&self) -> &'static str {
        "tools"
    }

    fn install<'a>(&'a self, api: &'a mut dyn ExtensionApi) -> Installed<'a> {
        self.0
            .iter()
            .for_each(|tool| api.register_tool(Arc::clone(tool)));
        installed()
    }
}

/// The tool that loads skills.
pub(crate) struct Skills(pub(crate) Arc<Knowledge>);

impl Extension for Skills {
    fn id(&self) -> &'static str {
        "skills"
    }

    fn install<'a>(&'a self, api: &'a mut dyn ExtensionApi) -> Installed<'a> {
        api.register_tool(Arc::new(LoadSkill::new(Arc::clone(&self.0))));
        installed()
    }
}

/// The built-in modes. The first is the default.
pub(crate) struct Modes;

impl Extension for Modes {
    fn id(&self) -> &'static str {
        "modes"
    }

    fn install<'a>(&'a self, api: &'a mut dyn ExtensionApi) -> Installed<'a> {
        modes::builtin()
            .into_iter()
            .for_each(|mode| api.register_mode(mode));
        installed()
    }
}

/// The permission gate.
pub(crate) struct Gatekeeper(pub(crate) Arc<dyn PermissionGate>);

impl Extension for Gatekeeper {
    fn id(&self) -> &'static str {
        "gate"
    }

    fn install<'a>(&'a self, api: &'a mut dyn ExtensionApi) -> Installed<'a> {
        api.register_gate(Arc::clone(&self.0));
        installed()
    }
}

/// The compactor and what it takes out of a conversation.
pub(crate) struct Compaction(pub(crate) DefaultCompactor);

impl Extension for Compaction {
    fn id(&self) -> &'static str {
        "compaction"
    }

    fn install<'a>(&'a self, api: &'a mut dyn ExtensionApi) -> Installed<'a> {
        api.register_compactor(Arc::new(self.0));
        default_extractors()
            .into_iter()
            .for_each(|extractor| api.register_extractor(extractor));
        installed()
    }
}

/// The configured providers, or the demo where there is none.
pub(crate) struct Providers(pub(crate) Vec<Arc<dyn Provider>>);

impl Extension for Providers {
    fn id(&self) -> &'static str {
        "providers"
    }

    fn install<'a>(&'a self, api: &'a mut dyn ExtensionApi) -> Installed<'a> {
        self.0
            .iter()
            .for_each(|provider| api.register_provider(Arc::clone(provider)));
        installed()
    }
}

/// Writes down what provider calls take.
pub(crate) struct UsageKeeper(pub(crate) Arc<UsageLog>);

impl Extension for UsageKeeper {
    fn id(&self) -> &'static str {
        "usage"
    }

    fn install<'a>(&'a self, api: &'a mut dyn ExtensionApi) -> Installed<'a> {
        api.on(Arc::new(Keeping(Arc::clone(&self.0))));
        installed()
    }
}

struct Keeping(Arc<UsageLog>);

impl EventSubscriber for Keeping {
    fn event(&self, event: &AgentEvent) {
        if let AgentEvent::Usage(usage) = event
            && let Err(error) = self.0.append(usage)
        {
            tracing::warn!(%error, "what a provider call took cannot be written down");
        }
    }
}
