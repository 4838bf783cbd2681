//! Making a long conversation short without a model.

use shard_types::NormalizedBlock;

use crate::CodeIntelligence;

/// How full the context window is, in tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ContextSize {
    /// Tokens in use.
    pub used: u64,
    /// Tokens that fit.
    pub window: u64,
}

/// What an extractor may look at beside the blocks.
#[derive(Clone, Copy, Default)]
pub struct ExtractorContext<'a> {
    /// Real signatures instead of guessed ones. The only coupling between summaries and code
    /// intelligence.
    pub code_index: Option<&'a dyn CodeIntelligence>,
    /// The summary that the new one continues.
    pub previous_summary: Option<&'a str>,
    /// The number of the compaction, from 0.
    pub compaction_index: u64,
}

/// Takes one kind of fact out of a conversation. A pure function: the same blocks give the same
/// lines.
pub trait Extractor: Send + Sync {
    /// The heading that its lines stand under.
    fn section(&self) -> &str;

    /// The lines.
    fn extract(&self, blocks: &[NormalizedBlock], context: &ExtractorContext<'_>) -> Vec<String>;
}

/// Why there is no summary.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("cannot summarize: {0}")]
pub struct CompactError(pub String);

/// Decides when to compact, and writes the summary.
pub trait Compactor: Send + Sync {
    /// Its name, as it is stored with each summary.
    fn name(&self) -> &str;

    /// Whether the window is full enough to compact between two turns.
    fn should_compact(&self, size: ContextSize) -> bool;

    /// The summary that stands for `blocks` from now on. A pure function.
    ///
    /// # Errors
    /// When nothing can be said of the blocks; the conversation then stays as it is.
    fn summarize(
        &self,
        blocks: &[NormalizedBlock],
        context: &ExtractorContext<'_>,
    ) -> Result<String, CompactError>;
}
