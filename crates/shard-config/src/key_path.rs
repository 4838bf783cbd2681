//! The way to a value inside a file.

use std::fmt;

use serde_path_to_error::{Path, Segment};

/// Longer keys are cut in messages: nobody needs more to find the place.
const SHOWN_KEY_CHARS: usize = 60;

/// The way to a value: keys and indices from the root.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct KeyPath(Vec<Step>);

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Step {
    Key(String),
    Index(usize),
}

impl KeyPath {
    pub(crate) fn new(keys: &[&str]) -> Self {
        Self(keys.iter().map(|&key| Step::Key(key.to_owned())).collect())
    }

    #[must_use]
    pub(crate) fn key(&self, key: &str) -> Self {
        self.then(Step::Key(key.to_owned()))
    }

    #[must_use]
    pub(crate) fn index(&self, index: usize) -> Self {
        self.then(Step::Index(index))
    }

    pub(crate) fn steps(&self) -> &[Step] {
        &self.0
    }

    fn then(&self, step: Step) -> Self {
        let mut longer = self.clone();
        longer.0.push(step);
        longer
    }
}

impl From<&Path> for KeyPath {
    fn from(path: &Path) -> Self {
        let step = |segment: &Segment| match segment {
            Segment::Map { key } => Some(Step::Key(key.clone())),
            Segment::Seq { index } => Some(Step::Index(*index)),
            Segment::Enum { .. } | Segment::Unknown => None,
        };
        Self(path.iter().map_while(step).collect())
    }
}

impl fmt::Display for KeyPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, step) in self.0.iter().enumerate() {
            match step {
                Step::Index(index) => write!(f, "[{index}]")?,
                Step::Key(key) => {
                    let dot = if place == 0 { "" } else { "." };
                    write!(f, "{dot}{}", shown_key(key))?;
                }
            }
        }
        Ok(())
    }
}

/// A key as it stands in a path: quoted when it could be mistaken for something else.
fn shown_key(key: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_-$".contains(c);
    if !key.is_empty() && key.len() <= SHOWN_KEY_CHARS && key.chars().all(plain) {
        key.to_owned()
    } else {
        quoted(key)
    }
}

/// A key in quotes, on one line and of bounded length.
pub(crate) fn quoted(key: &str) -> String {
    let short: String = key.chars().take(SHOWN_KEY_CHARS).collect();
    let cut = if short.len() < key.len() { "…" } else { "" };
    format!("\"{}{cut}\"", short.escape_debug())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_read_like_code_and_stay_on_one_line() {
        let path = KeyPath::new(&["providers", "a.b\n"])
            .key("models")
            .index(2)
            .key("id");
        assert_eq!(path.to_string(), r#"providers."a.b\n".models[2].id"#);
        assert_eq!(KeyPath::default().to_string(), "");
    }
}
