//! The Messages API.

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

/// Marks the signature of a thinking block whose text the provider keeps to itself. Signatures
/// are base64, which has no colon.
const REDACTED: &str = "redacted:";

/// A server that speaks the Messages API.
pub(super) struct Anthropic {
    link: Arc<Link>,
    listed: OnceCell<Vec<ModelSpec>>,
}

impl Anthropic {
    pub(super) fn new(link: Link) -> Self {
        Self {
            link: Arc::new(link),
            listed: OnceCell::new(),
        }
    }
}

impl Provider for Anthropic {
    fn name(&self) -> &str {
        &self.link.settings.name
    }

    fn models(&self) -> BoxFuture<'_, Result<Vec<ModelSpec>, ProviderError>> {
        // Without a limit the list comes in pages of twenty.
        self.link
            .models(&self.listed, "v1/models?limit=1000")
            .boxed()
    }

    fn stream(
        &self,
        request: ProviderRequest,
    ) -> BoxStream<'static, Result<ProviderEvent, ProviderError>> {
        let call = Call {
            path: "v1/messages",
            body: request::body(&request, &self.link.settings.name),
            decoder: Decoder::new(CallIds::of(&request.messages)),
            model: request.model.id,
        };
        run(Arc::clone(&self.link), call)
    }
}
