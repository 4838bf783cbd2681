//! The models that an agent can use.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use shard_contracts::Provider;
use shard_types::{Cost, ModelDescriptor, ModelSpec, Usage};

/// How long a provider may take to list its models.
const LIST_DEADLINE: Duration = Duration::from_secs(5);

/// A model together with the provider that serves it.
#[derive(Clone)]
pub struct Selection {
    /// The provider.
    pub provider: Arc<dyn Provider>,
    /// The model.
    pub spec: ModelSpec,
}

impl Selection {
    /// `provider/model`.
    #[must_use]
    pub fn id(&self) -> String {
        format!("{}/{}", self.provider.name(), self.spec.id)
    }

    /// The model as clients see it.
    #[must_use]
    pub fn descriptor(&self) -> ModelDescriptor {
        ModelDescriptor {
            id: self.id(),
            provider: self.provider.name().to_owned(),
            model: self.spec.id.clone(),
            context_window: self.spec.context_window,
        }
    }

    /// A call's usage with the model's name and price.
    #[must_use]
    pub fn priced(&self, usage: Usage) -> Usage {
        Usage {
            cost: self.spec.cost.map(|cost| price(cost, &usage)),
            model: Some(self.id()),
            ..usage
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "no call has 2^52 tokens")]
fn price(cost: Cost, usage: &Usage) -> f64 {
    let part = |tokens: u64, dollars: f64| tokens as f64 * dollars / 1e6;
    part(usage.input, cost.input)
        + part(usage.output, cost.output)
        + part(usage.cache_read.unwrap_or(0), cost.cache_read)
        + part(usage.cache_write.unwrap_or(0), cost.cache_write)
}

/// Why there is no such model.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CatalogError {
    /// The id has no slash.
    #[error("{0:?} is no model; write provider/model, such as {1}")]
    NoProvider(String, String),
    /// The provider is not configured.
    #[error("there is no provider {provider:?} for the model {model}; configured are: {known}")]
    UnknownProvider {
        /// The provider that was asked for.
        provider: String,
        /// The model that was asked for.
        model: String,
        /// Those that there are.
        known: String,
    },
    /// The provider does not have the model.
    #[error("the provider {provider} has no model {model:?}; it has: {known}")]
    UnknownModel {
        /// The provider.
        provider: String,
        /// The model that was asked for.
        model: String,
        /// Those that there are.
        known: String,
    },
    /// No provider says which models it has.
    #[error(
        "no provider names its models ({0}); write `model` into the configuration, or use --model"
    )]
    Empty(String),
}

/// All providers with their models.
#[derive(Clone)]
pub struct Catalog {
    providers: Vec<Arc<dyn Provider>>,
}

impl Catalog {
    /// A catalog of these providers.
    #[must_use]
    pub fn new(providers: Vec<Arc<dyn Provider>>) -> Self {
        Self { providers }
    }

    /// Finds `provider/model`. A provider that cannot list its models now is believed to have it:
    /// the first call will tell.
    ///
    /// # Errors
    /// When there is no such provider, or it is known not to have the model.
    pub async fn find(&self, id: &str) -> Result<Selection, CatalogError> {
        let (provider, model) = id.split_once('/').ok_or_else(|| {
            let example = self
                .providers
                .first()
                .map_or("anthropic", |provider| provider.name());
            CatalogError::NoProvider(id.to_owned(), format!("{example}/{id}"))
        })?;
        let found = self.providers.iter().find(|known| known.name() == provider);
        let provider = found
            .cloned()
            .ok_or_else(|| CatalogError::UnknownProvider {
                provider: provider.to_owned(),
                model: id.to_owned(),
                known: self
                    .providers
                    .iter()
                    .map(|known| known.name())
                    .collect::<Vec<_>>()
                    .join(", "),
            })?;
        let specs = specs(&*provider).await;
        let spec = match (specs.iter().find(|spec| spec.id == model), specs.is_empty()) {
            (Some(spec), _) => spec.clone(),
            (None, true) => ModelSpec {
                id: model.to_owned(),
                ..ModelSpec::default()
            },
            (None, false) => {
                return Err(CatalogError::UnknownModel {
                    provider: provider.name().to_owned(),
                    model: model.to_owned(),
                    known: specs
                        .iter()
                        .take(20)
                        .map(|spec| spec.id.as_str())
                        .collect::<Vec<_>>()
                        .join(", "),
                });
            }
        };
        Ok(Selection { provider, spec })
    }

    /// The first model of the first provider that has one.
    ///
    /// # Errors
    /// [`CatalogError::Empty`], with what each provider said.
    pub async fn first(&self) -> Result<Selection, CatalogError> {
        let mut said = Vec::new();
        for provider in &self.providers {
            match ask(&**provider).await.map(|specs| specs.into_iter().next()) {
                Ok(Some(spec)) => {
                    return Ok(Selection {
                        provider: Arc::clone(provider),
                        spec,
                    });
                }
                Ok(None) => said.push(format!("{}: an empty list", provider.name())),
                Err(error) => said.push(format!("{}: {error}", provider.name())),
            }
        }
        Err(CatalogError::Empty(said.join("; ")))
    }

    /// Every model of every provider. A provider that does not answer in time is left out.
    pub async fn list(&self) -> Vec<ModelDescriptor> {
        let each = self.providers.iter().map(|provider| async move {
            let specs = specs(&**provider).await;
            let select = |spec| {
                Selection {
                    provider: Arc::clone(provider),
                    spec,
                }
                .descriptor()
            };
            specs.into_iter().map(select).collect::<Vec<_>>()
        });
        join_all(each).await.concat()
    }
}

async fn specs(provider: &dyn Provider) -> Vec<ModelSpec> {
    ask(provider).await.unwrap_or_else(|error| {
        tracing::warn!(provider = provider.name(), %error, "cannot list models");
        Vec::new()
    })
}

async fn ask(provider: &dyn Provider) -> Result<Vec<ModelSpec>, String> {
    match tokio::time::timeout(LIST_DEADLINE, provider.models()).await {
        Ok(Ok(specs)) => Ok(specs),
        Ok(Err(error)) => Err(error.to_string()),
        Err(_) => Err(format!("no answer within {} s", LIST_DEADLINE.as_secs())),
    }
}
