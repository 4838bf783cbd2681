//! Making a long conversation short without a model.

use std::path::Path;
use std::sync::Arc;

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
    /// For each block the index of the entry that it comes from: absolute within the session, and
    /// the same for ever. Empty when nobody knows; summaries then name no entries.
    pub origins: &'a [u64],
    /// The folder that the session works in. Paths below it are told relative to it.
    pub cwd: Option<&'a Path>,
    /// How long the summary may be, in bytes, where that is less than the compactor's own bound.
    pub max_summary_bytes: Option<usize>,
}

impl ExtractorContext<'_> {
    /// The index of the entry that the block at this position comes from, if it is known.
    #[must_use]
    pub fn origin(&self, block: usize) -> Option<u64> {
        self.origins.get(block).copied()
    }
}

/// What becomes of a section's earlier lines in the next summary.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Carry {
    /// They stay as they are, and new ones come after them. The oldest are folded into a count
    /// when the section outgrows its bound.
    #[default]
    Append,
    /// A line speaks for what stands before its first `: `. A newer line about the same thing
    /// takes the place of the older one.
    Update,
    /// Only what the newest blocks say counts.
    Rebuild,
}

/// Takes one kind of fact out of a conversation. A pure function: the same blocks give the same
/// lines.
pub trait Extractor: Send + Sync {
    /// The heading that its lines stand under.
    fn section(&self) -> &str;

    /// What becomes of the lines of earlier summaries.
    fn carry(&self) -> Carry {
        Carry::default()
    }

    /// The lines, most telling first where the section is rebuilt, else oldest first.
    fn extract(&self, blocks: &[NormalizedBlock], context: &ExtractorContext<'_>) -> Vec<String>;
}

/// Why there is no summary.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("cannot summarize: {0}; the conversation stays as it is")]
pub struct CompactError(pub String);

/// Decides when to compact, and writes the summary.
pub trait Compactor: Send + Sync {
    /// Its name, as it is stored with each summary.
    fn name(&self) -> &str;

    /// Whether the window is full enough to compact between two turns.
    fn should_compact(&self, size: ContextSize) -> bool;

    /// The summary that stands for `blocks`, and for what `context.previous_summary` stood for,
    /// from now on. A pure function of its arguments. `extractors` are all that are registered,
    /// the built-in ones included.
    ///
    /// # Errors
    /// When nothing can be said of the blocks; the conversation then stays as it is.
    fn summarize(
        &self,
        blocks: &[NormalizedBlock],
        extractors: &[Arc<dyn Extractor>],
        context: &ExtractorContext<'_>,
    ) -> Result<String, CompactError>;
}
