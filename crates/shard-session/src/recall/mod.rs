//! Finding what was said in a session, however long ago.
//!
//! A search is about the messages and results on the session's chain, each with its number in the
//! [`Index`](crate::Index), or for a fork behind those of its source, and answers with these numbers, best first. What an entry says is its
//! text, thoughts, calls with their arguments, and outputs ([`parts`]).
//!
//! Keywords are looked up in an inverted index beside the session, `<session>.recall`. It holds
//! nothing that the session does not: it can be deleted at any time, and whatever it does not cover,
//! all of it if it is missing, stale or damaged, is searched directly, with the same result.
//! [`bring_up_to_date`] writes it, away from whoever waits for an answer. Regular expressions are
//! always searched directly.
//!
//! | file | has |
//! |---|---|
//! | `text` | what an entry says |
//! | `words` | the words of a text |
//! | `query`, `expression` | what is searched for |
//! | `lineage` | which files are searched |
//! | `search` | looking, and ranking what was found |
//! | `inverted` | the file of the inverted index, as it is read |
//! | `build` | how it is written |

mod build;
mod expression;
mod inverted;
mod lineage;
mod query;
mod search;
mod text;
mod words;

/// The name of the tool that searches. Its calls and results are passed over: a search would find
/// itself first of all.
pub const TOOL: &str = "recall";

pub use build::bring_up_to_date;
pub use expression::Expression;
pub use query::{BadQuery, Query};
pub use search::{Found, Hit, Recall};
pub use text::{Part, parts, text};
