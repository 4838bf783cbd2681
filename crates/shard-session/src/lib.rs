//! The session file: an append-only record of one conversation (floor L1).
//!
//! Owns the file format's rules: one entry a line, one writer at a time, nothing rewritten.
//! Agents write through [`SessionFile`]; anybody may read through [`load`]. What the entries mean
//! to a model is not its business. Beside it lies what a person allowed for good ([`read_grants`]), and
//! for all sessions of an installation there is a log of what provider calls took ([`UsageLog`]).
//!
//! Durability: [`SessionFile::append`] returns once the row is handed to the kernel, so that it
//! survives the death of the process; [`Syncer::sync`] makes it survive the machine's.

mod error;
mod file;
mod fork;
mod grants;
mod header;
mod index;
mod lines;
mod load;
mod locate;
mod page;
mod reader;
pub mod recall;
mod regular;
mod row;
mod summary;
mod usage;

pub use error::SessionError;
pub use file::{SessionFile, Syncer};
pub use fork::{Forked, fork, forked_by};
pub use grants::{
    CommandSignature, Covers, MAX_GRANTS, Operand, StoredGrant, grants_beside, read_grants,
    revoke_grant, set_grants_aside, write_grants,
};
pub use header::Header;
pub use index::Index;
pub use load::{Damage, Loaded, check, load};
pub use locate::{FORKS, SessionRef, by_id, family, latest};
pub use page::Page;
pub use reader::Reader;
pub use summary::{Summary, summarize};
pub use usage::{UsageError, UsageLog, UsageRecord, UsageSum, sum_usage};
