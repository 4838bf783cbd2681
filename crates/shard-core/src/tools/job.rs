//! File work off the async threads, and results as outputs.

use std::sync::Arc;

use shard_contracts::{ToolContext, ToolOutput};
use shard_types::ToolResultContent;

use super::visible;

/// A refusal or failure is an output too: the model reads it and goes on. Tools leave room for
/// their notes; what makes a result too long all the same, such as the name of a file, is cut.
pub(crate) fn answer(result: Result<ToolOutput, String>, context: &ToolContext) -> ToolOutput {
    let max = context.max_output_bytes;
    match result {
        // A message may quote the request.
        Err(message) => {
            let message = visible::controls(&message).into_owned();
            ToolOutput::error(visible::bounded(message, max))
        }
        Ok(mut output) => {
            if let ToolResultContent::Text { text } = &mut output.content {
                *text = visible::bounded(std::mem::take(text), max);
            }
            output
        }
    }
}

/// Runs `work` to its end, also when the turn is aborted meanwhile: whoever changes a file must
/// say whether it did.
pub(crate) async fn changing<T: Send + Sync + 'static>(
    tool: &Arc<T>,
    context: &ToolContext,
    work: impl FnOnce(&T, &ToolContext) -> Result<ToolOutput, String> + Send + 'static,
) -> ToolOutput {
    let (tool, inner) = (Arc::clone(tool), context.clone());
    let done = tokio::task::spawn_blocking(move || work(&tool, &inner)).await;
    answer(done.unwrap_or_else(|_| Err(BROKE.to_owned())), context)
}

/// Runs `work` and stops waiting for it when the turn is aborted. `work` looks at the token too;
/// a system call that hangs must not hold up the abort.
pub(crate) async fn reading(
    context: &ToolContext,
    work: impl FnOnce(&ToolContext) -> Result<ToolOutput, String> + Send + 'static,
) -> ToolOutput {
    let inner = context.clone();
    let task = tokio::task::spawn_blocking(move || work(&inner));
    let done = tokio::select! {
        biased;
        () = context.cancel.cancelled() => Err(ABORTED.to_owned()),
        done = task => done.unwrap_or_else(|_| Err(BROKE.to_owned())),
    };
    answer(done, context)
}

/// What a call says when its turn was aborted.
pub(crate) const ABORTED: &str = "aborted before it was done";

const BROKE: &str = "the tool broke off because of a bug in it; try another way";
