//! What is wrong with a file, and where.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// A place in a file, counted from 1, in characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Position {
    /// The line.
    pub line: usize,
    /// The character in the line.
    pub column: usize,
}

impl Position {
    /// The position of a byte of `text`; past the end, that of the end.
    pub(crate) fn of(text: &str, offset: usize) -> Self {
        let before = &text[..text.floor_char_boundary(offset)];
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        Self {
            line: before.matches('\n').count() + 1,
            column: before[line_start..].chars().count() + 1,
        }
    }
}

/// One thing to mend, as one line: `file:line:column: key: what to do`.
///
/// Never holds a value from the file, since any value may be a secret in the wrong place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnostic {
    /// The file.
    pub file: PathBuf,
    /// Where in it.
    pub position: Position,
    /// The key's path, such as `providers.local.base_url`; empty for the file as a whole.
    pub key: String,
    /// What is wrong and what to do about it.
    pub message: String,
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Position { line, column } = self.position;
        write!(f, "{}:{line}:{column}: ", self.file.display())?;
        if !self.key.is_empty() {
            write!(f, "{}: ", self.key)?;
        }
        f.write_str(&self.message)
    }
}

/// Why a file could not be read or written. Each is one line.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The file holds mistakes: at least one.
    #[error("{}", first_of(.0))]
    Invalid(Vec<Diagnostic>),
    /// The file exists but cannot be read.
    #[error("{}: cannot be read: {source}", .path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The file cannot be written; what was there is untouched.
    #[error("{}: cannot be written: {source}", .path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// There is a file already where a fresh one was to be made.
    #[error("{}: exists already; edit it, or move it away first", .0.display())]
    Exists(PathBuf),
}

impl ConfigError {
    /// All mistakes that were found, for a listing; empty for failures of the file system.
    #[must_use]
    pub fn diagnostics(&self) -> &[Diagnostic] {
        match self {
            Self::Invalid(all) => all,
            Self::Read { .. } | Self::Write { .. } | Self::Exists(_) => &[],
        }
    }

    pub(crate) fn read(path: &Path, source: io::Error) -> Self {
        let path = path.to_owned();
        Self::Read { path, source }
    }

    pub(crate) fn write(path: &Path, source: io::Error) -> Self {
        let path = path.to_owned();
        Self::Write { path, source }
    }
}

impl From<Diagnostic> for ConfigError {
    fn from(only: Diagnostic) -> Self {
        Self::Invalid(vec![only])
    }
}

fn first_of(all: &[Diagnostic]) -> String {
    match all {
        [] => "the configuration is invalid".to_owned(),
        [only] => only.to_string(),
        [first, rest @ ..] => format!("{first} (and {} more)", rest.len()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_count_characters_and_survive_any_offset() {
        let text = "a\nüx\n";
        let at = |offset| {
            let Position { line, column } = Position::of(text, offset);
            (line, column)
        };
        assert_eq!(at(0), (1, 1));
        assert_eq!(at(2), (2, 1));
        assert_eq!(at(3), (2, 1), "inside a character");
        assert_eq!(at(4), (2, 2));
        assert_eq!(at(99), (3, 1));
    }
}
