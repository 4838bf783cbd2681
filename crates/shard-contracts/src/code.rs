//! Understanding of source code. Optional: the core works without any.

use std::path::{Path, PathBuf};

use futures_util::future::BoxFuture;
use serde::{Deserialize, Serialize};

/// One definition in a source file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Symbol {
    /// Its name.
    pub name: String,
    /// What it is: `function`, `struct`, `class` and so on.
    pub kind: String,
    /// Its declaration on one line.
    pub signature: String,
    /// The file.
    pub path: PathBuf,
    /// First line, from 1.
    pub start_line: u32,
    /// Last line, from 1.
    pub end_line: u32,
    /// What is defined inside it.
    pub children: Vec<Symbol>,
}

/// Why a question about code has no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CodeError {
    /// The language, or the file, is not one that the provider reads.
    #[error("{path}: {reason}")]
    Unsupported {
        /// The file.
        path: PathBuf,
        /// Why.
        reason: String,
    },
    /// The provider failed.
    #[error("{0}")]
    Failed(String),
}

/// Answers questions about source code.
pub trait CodeIntelligence: Send + Sync {
    /// The definitions of one file, nested as they stand there.
    fn outline<'a>(&'a self, path: &'a Path) -> BoxFuture<'a, Result<Vec<Symbol>, CodeError>>;

    /// Definitions by name, in one file or everywhere.
    fn symbol<'a>(
        &'a self,
        name: &'a str,
        path: Option<&'a Path>,
    ) -> BoxFuture<'a, Result<Vec<Symbol>, CodeError>>;

    /// One-line signatures of the given files, for a summary. Pure: it reads what is indexed.
    fn signatures(&self, paths: &[PathBuf]) -> Vec<String>;

    /// A file changed: what is known of it is void.
    fn invalidate(&self, path: &Path);
}
