//! The plan of a session: written in one turn, kept as a checkpoint, shown in later ones.

use serde_json::{Map, Value};
use shard_contracts::{Artifact, Artifacts};
use shard_types::{ContentBlock, Message};

use super::section;

/// The `artifactKind` of a plan.
const KIND: &str = "plan";

/// The heading that a plan stands under.
pub(super) const HEADING: &str = "Implementation Plan";

/// How much of a plan every request carries, in bytes. A longer one is a document, and the model
/// can look for the rest.
const SHOWN_BYTES: usize = 16 * 1024;

/// The plan that a message holds: its text, and the message's id.
pub(super) fn found(message: &Message) -> Option<Artifact> {
    let texts = message.content.iter().filter_map(|block| match block {
        ContentBlock::Text { text } => Some(text.as_str()),
        _ => None,
    });
    let text = texts.collect::<Vec<_>>().join("\n\n");
    let plan = section::find(&text, HEADING)?;
    Some(Artifact {
        kind: KIND.to_owned(),
        details: Map::from_iter([
            ("text".to_owned(), plan.into()),
            ("messageId".to_owned(), message.id.to_string().into()),
        ]),
    })
}

/// The latest plan as a part of the system prompt.
pub(super) fn shown(kept: &Artifacts) -> Option<String> {
    let plan = kept.latest(KIND)?.get("text").and_then(Value::as_str)?;
    let plan = plan.trim();
    if plan.is_empty() {
        return None;
    }
    let mut end = plan.floor_char_boundary(SHOWN_BYTES);
    let mut note = String::new();
    if end < plan.len() {
        end = plan[..end].rfind('\n').unwrap_or(end);
        note = format!(
            "\n\n(The plan is cut here, {} bytes of {}; ask for the rest if you need it.)",
            end,
            plan.len()
        );
    }
    let plan = &plan[..end];
    Some(format!(
        "## Active Plan\n\nThis plan was made earlier in this session. Follow it where it still fits what the person \
asks; what they say now comes first.\n\n{plan}{note}"
    ))
}
