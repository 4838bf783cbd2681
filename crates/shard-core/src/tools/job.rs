//! File work off the async threads, and results as outputs.

use std::sync::Arc;

use shard_contracts::{ToolContext, ToolOutput};

/// A refusal or failure is an output too: the model reads it and goes on.
pub(crate) fn answer(result: Result<ToolOutput, String>, context: &ToolContext) -> ToolOutput {
    let max = context.max_output_bytes;
    result.unwrap_or_else(|message| ToolOutput::error(super::visible::bounded(message, max)))
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
