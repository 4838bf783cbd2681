//! What people write down for Shard (floor L1): the configuration file, with errors that say where
//! and what and the few edits that programs make to it; and beside it the [`resources`] of agents.
//!
//! Reads no environment, no home directory and no clock: callers pass in paths, a lookup for
//! variables and a runner for commands. Keeps keys out of sight: [`Secret`] and what holds one
//! print `***`, and no diagnostic repeats a value from the file.
//!
//! Start at [`Config`] for the keys, at [`load`] for reading, at [`use_provider`] for writing,
//! at [`resources::Resources`] for everything that is no configuration.

mod describe;
mod diagnostic;
mod document;
mod edit;
mod endpoint;
mod key;
mod key_path;
mod known;
mod load;
mod mcp;
mod provider;
pub mod regular_file;
pub mod resources;
mod rules;
mod schema;
mod secret;
mod show;
mod splice;
mod starter;
mod store;
mod validate;

pub use diagnostic::{ConfigError, Diagnostic, Position};
pub use edit::{init, use_provider};
pub use endpoint::{Endpoint, is_origin};
pub use key::{KeyError, expand_home, resolve_key};
pub use load::{Loaded, load, parse};
pub use mcp::{McpConfig, McpServer};
pub use provider::{OpenAiApi, ProviderConfig, ProviderKind};
pub use rules::{InvalidRule, ParsedRules, RuleEntry, parse_rules};
pub use schema::{
    Compaction, Config, Daemon, Permissions, Sandbox, SandboxMode, Subagents, Tools, schema,
};
pub use secret::Secret;
pub use show::show;
pub use starter::STARTER;
