//! Skills that were loaded in a session. Each is kept as a checkpoint with its whole text, so that
//! it can be shown again once the result that brought it has left the window.

use serde_json::{Map, Value};
use shard_contracts::Artifact;

/// The `artifactKind` of a skill that was loaded.
pub(crate) const KIND: &str = "skill_activation";

/// How much of the system prompt skills that left the window may take, in bytes.
const SHOWN_BYTES: usize = 160 * 1024;

/// How much text is held in memory, in bytes: what has no chance to be shown any more is let go.
const HELD_BYTES: usize = 1024 * 1024;

/// A skill that was loaded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Activation {
    /// The skill.
    pub(crate) name: String,
    /// The call that loaded it.
    pub(crate) tool_call_id: String,
    /// What the model was given.
    pub(crate) text: String,
}

impl Activation {
    /// What a tool keeps of loading a skill.
    pub(crate) fn artifact(name: &str, folder: &str, text: &str) -> Artifact {
        let details = [("name", name), ("folder", folder), ("text", text)];
        let details = details.map(|(key, value)| (key.to_owned(), value.into()));
        Artifact {
            kind: KIND.to_owned(),
            details: Map::from_iter(details),
        }
    }

    fn read(details: &Map<String, Value>) -> Option<Self> {
        let text = |key: &str| details.get(key)?.as_str().map(str::to_owned);
        Some(Self {
            name: text("name")?,
            tool_call_id: text("toolCallId")?,
            text: text("text")?,
        })
    }
}

/// The skills of one session, the latest last, each once.
#[derive(Debug, Default)]
pub(crate) struct Activations(Vec<Activation>);

impl Activations {
    /// Takes up a checkpoint; false if it is of another kind.
    pub(crate) fn take_up(&mut self, details: &Map<String, Value>) -> bool {
        if details.get("artifactKind").and_then(Value::as_str) != Some(KIND) {
            return false;
        }
        if let Some(activation) = Activation::read(details) {
            self.0.retain(|earlier| earlier.name != activation.name);
            self.0.push(activation);
            let mut held = 0;
            let oldest = self.0.iter().rposition(|activation| {
                held += activation.text.len();
                held > HELD_BYTES
            });
            self.0.drain(..oldest.map_or(0, |at| at + 1));
        }
        true
    }

    /// The skills, the latest last.
    pub(crate) fn all(&self) -> &[Activation] {
        &self.0
    }
}

/// The part of the system prompt with the skills whose result is no longer in the window, the
/// latest first: each whole or not at all. Empty if there is none.
///
/// `activations` has the latest last; `still_in_window` says of a call whether its result is.
pub(crate) fn activated_section(
    activations: &[Activation],
    still_in_window: impl Fn(&str) -> bool,
) -> String {
    let mut section = String::new();
    for activation in activations.iter().rev() {
        let there = still_in_window(&activation.tool_call_id);
        if there || section.len() + activation.text.len() + HEADING.len() + 2 > SHOWN_BYTES {
            continue;
        }
        if section.is_empty() {
            section.push_str(HEADING);
        }
        section.push('\n');
        section.push_str(&activation.text);
        section.push('\n');
    }
    section
}

const HEADING: &str =
    "\n## Activated Skills\n\nThese were loaded earlier in this session and hold on.\n";

#[cfg(test)]
mod tests {
    use super::*;

    fn loaded(name: &str, call: &str, text: &str) -> Map<String, Value> {
        let mut details = Activation::artifact(name, "/s", text).details;
        details.insert("artifactKind".to_owned(), KIND.into());
        details.insert("toolCallId".to_owned(), call.into());
        details
    }

    fn all(rows: &[(&str, &str, &str)]) -> Activations {
        let mut activations = Activations::default();
        for (name, call, text) in rows {
            assert!(activations.take_up(&loaded(name, call, text)));
        }
        activations
    }

    #[test]
    fn what_has_left_the_window_is_shown_newest_first_and_each_skill_once() {
        let activations = all(&[
            ("a", "c1", "old a"),
            ("b", "c2", "the b"),
            ("c", "c3", "the c"),
            ("a", "c4", "new a"),
        ]);
        let shown = activated_section(activations.all(), |call| call == "c3");
        assert_eq!(shown, format!("{HEADING}\nnew a\n\nthe b\n"));
        assert_eq!(activated_section(activations.all(), |_| true), "");
    }

    #[test]
    fn no_skill_is_shown_in_part() {
        let (long, longer) = ("x".repeat(100 * 1024), "y".repeat(70 * 1024));
        let activations = all(&[("a", "1", "short"), ("b", "2", &longer), ("c", "3", &long)]);
        let shown = activated_section(activations.all(), |_| false);
        assert!(shown.contains(&long) && shown.ends_with("\nshort\n"));
        assert!(!shown.contains('y') && shown.len() <= SHOWN_BYTES);
    }

    #[test]
    fn memory_has_a_bound_and_the_latest_stay() {
        let text = "x".repeat(128 * 1024);
        let names: Vec<_> = (0..40).map(|number| format!("s{number}")).collect();
        let rows: Vec<_> = names
            .iter()
            .map(|name| (&**name, &**name, &*text))
            .collect();
        let activations = all(&rows);
        let kept: Vec<_> = activations.all().iter().map(|kept| &*kept.name).collect();
        assert_eq!(kept, &names[32..]);
    }

    #[test]
    fn another_kind_and_a_row_without_a_text_are_passed_over() {
        let mut activations = Activations::default();
        let mut details = loaded("a", "c", "text");
        details.insert("text".to_owned(), 7.into());
        assert!(activations.take_up(&details));
        details.insert("artifactKind".to_owned(), "plan".into());
        assert!(!activations.take_up(&details));
        assert_eq!(activations.all(), []);
    }
}
