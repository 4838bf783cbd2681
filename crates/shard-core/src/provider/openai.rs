//! Chat completions, as OpenAI has them and as many other servers understand them.

mod decode;
mod request;

use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use futures_util::stream::BoxStream;
use shard_contracts::{Provider, ProviderError, ProviderEvent, ProviderRequest};
use shard_types::ModelSpec;
use tokio::sync::OnceCell;

use super::blocks::CallIds;
use super::call::{Call, run};
use super::http::Link;
pub(super) use decode::Decoder;

/// A server that speaks chat completions.
pub(super) struct OpenAi {
    link: Arc<Link>,
    listed: OnceCell<Vec<ModelSpec>>,
}

impl OpenAi {
    pub(super) fn new(link: Link) -> Self {
        Self {
            link: Arc::new(link),
            listed: OnceCell::new(),
        }
    }
}

impl Provider for OpenAi {
    fn name(&self) -> &str {
        &self.link.settings.name
    }

    fn models(&self) -> BoxFuture<'_, Result<Vec<ModelSpec>, ProviderError>> {
        self.link.models(&self.listed, "models").boxed()
    }

    fn stream(
        &self,
        request: ProviderRequest,
    ) -> BoxStream<'static, Result<ProviderEvent, ProviderError>> {
        let call = Call {
            path: "chat/completions",
            body: request::body(&request, &self.link.settings),
            decoder: Decoder::new(CallIds::of(&request.messages)),
            model: request.model.id,
        };
        run(Arc::clone(&self.link), call)
    }
}
