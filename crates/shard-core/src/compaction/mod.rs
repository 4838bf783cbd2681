//! Making a long conversation short by fixed rules.
//!
//! Pure functions: no file, no clock, no chance, no model. The same conversation gives the same
//! summary, byte by byte, and takes time in proportion to its length.
//!
//! [`cut`] says where a window may be cut, [`normalize`] flattens what is before the cut,
//! [`default_extractors`] take out what is worth knowing, and [`DefaultCompactor`] writes it down.
//! Where nothing can be cut, [`oversized`] and [`shorten`] make room. Entries themselves are never
//! changed: what is left out of a window stays in the session, and a summary names the indices
//! under which `recall` has it.
//!
//! A summary goes from what stays to what changes, so that the next one begins with the same
//! bytes. [`document`] has its form, [`sections`] its bounds.

mod catalog;
mod commits;
mod cut;
mod diagnostics;
mod document;
mod excerpt;
mod files;
mod goal;
mod normalize;
mod outstanding;
mod oversized;
mod preferences;
mod sections;
mod shell_changes;
mod signatures;
mod size;
mod transcript;
mod turns;

use std::sync::Arc;

use shard_contracts::{CompactError, Compactor, ContextSize, Extractor, ExtractorContext};
use shard_types::NormalizedBlock;

pub use self::cut::cut;
pub use self::normalize::{Blocks, normalize};
pub use self::oversized::{oversized, shorten};
pub use self::size::{estimate, estimate_content, estimate_text};

/// The compactor that every agent has.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DefaultCompactor {
    /// The part of the window that is kept free, between 0 and 1: beyond that it is time to
    /// compact.
    pub reserve_ratio: f64,
}

impl Compactor for DefaultCompactor {
    fn name(&self) -> &'static str {
        "default"
    }

    #[expect(
        clippy::cast_precision_loss,
        reason = "windows are far smaller than 2^52 tokens"
    )]
    fn should_compact(&self, size: ContextSize) -> bool {
        let full = size.window as f64 * (1.0 - self.reserve_ratio.clamp(0.0, 1.0));
        size.window > 0 && size.used as f64 > full
    }

    fn summarize(
        &self,
        blocks: &[NormalizedBlock],
        extractors: &[Arc<dyn Extractor>],
        context: &ExtractorContext<'_>,
    ) -> Result<String, CompactError> {
        if blocks.is_empty() {
            let nothing = "there is nothing before the place where the window can be cut";
            return Err(CompactError(nothing.to_owned()));
        }
        let limit = context.max_summary_bytes.unwrap_or(sections::LONGEST);
        let limit = limit.clamp(sections::SHORTEST, sections::LONGEST);
        let sections = sections::build_sections(blocks, extractors, context, limit);
        Ok(format_summary(&sections, blocks, context, limit))
    }
}

/// The sections, then what is newest in the room that they leave.
fn format_summary(
    sections: &[document::Section],
    blocks: &[NormalizedBlock],
    context: &ExtractorContext<'_>,
    limit: usize,
) -> String {
    let request = transcript::last_request(blocks, context, limit);
    let so_far = document::render(sections, std::slice::from_ref(&request)).len();
    let room = limit.saturating_sub(so_far);
    let transcript = transcript::transcript(blocks, context, room);
    document::render(sections, &[request, transcript])
}

/// The extractors that every agent has, in the order of their sections.
#[must_use]
pub fn default_extractors() -> Vec<Arc<dyn Extractor>> {
    vec![
        Arc::new(goal::SessionGoal),
        Arc::new(preferences::UserPreferences),
        Arc::new(files::FilesAndChanges),
        Arc::new(commits::Commits),
        Arc::new(catalog::TypeCatalog),
        Arc::new(outstanding::OutstandingContext),
        Arc::new(turns::EarlierTurns),
    ]
}
