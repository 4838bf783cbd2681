//! The providers of a configuration.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;

use shard_config::{Config, ProviderConfig, ProviderKind, expand_home};
use shard_contracts::Provider;

use super::{ProviderSettings, build};
use crate::keys;

/// What providers are made of beside their configuration.
#[derive(Clone)]
pub(crate) struct Surroundings {
    /// What `~/` stands for.
    pub(crate) home: Option<PathBuf>,
    pub(crate) environment: Arc<[(OsString, OsString)]>,
    /// The model that was asked for, over what the configuration says.
    pub(crate) model: Option<String>,
}

/// Makes them, in the order of their names; the demo where there is none, or it was asked for.
pub(crate) fn configured(config: &Config, around: &Surroundings) -> Vec<Arc<dyn Provider>> {
    let home = &around.home;
    let settings = |(name, config): (&String, &ProviderConfig)| ProviderSettings {
        headers: config
            .headers
            .iter()
            .map(|(name, value)| (name.clone(), value.expose().to_owned()))
            .collect(),
        key: keys::source(config, home.clone(), Arc::clone(&around.environment)),
        key_origin: keys::origin(config),
        models: config.models.clone().unwrap_or_default(),
        ca_file: config
            .ca_file
            .as_deref()
            .and_then(|path| expand_home(path, home.as_deref())),
        api: config.api.unwrap_or_default(),
        reasoning_replay: config.reasoning_replay,
        ..ProviderSettings::new(
            name,
            config.kind,
            config.effective_base_url().unwrap_or_default(),
        )
    };
    let configured = config.providers.iter().map(settings);
    // It is no model, so it is offered only where it is all there is, or was asked for.
    let named = around.model.as_ref().or(config.model.as_ref());
    let demo = config.providers.is_empty() || named.is_some_and(|model| model.starts_with("demo/"));
    let demo = demo.then(|| ProviderSettings::new("demo", ProviderKind::Demo, ""));
    configured.chain(demo).map(build).collect()
}
