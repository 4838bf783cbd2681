//! The daemon: supervises one agent process for each Agent, and lets any number of clients talk to
//! them (floor L4).
//!
//! Identity is durable, processes are replaceable: an Agent is a manifest and a session on disk,
//! and a Runtime is whichever process serves it just now. Nothing here runs a model, a tool or a
//! permission rule; that is what the process does.
//!
//! | module | owns |
//! |---|---|
//! | `daemon` | the whole: starts, listens, ends; `listeners` are its own or a service manager's |
//! | `settings` | what it was told; `reload` follows the configuration |
//! | `registry` | which agents exist; `manifest` is their record on disk, `stored` reads them all, `migration` those of older installations |
//! | `agent` | one actor for each agent: clients on one side, its process on the other |
//! | `runtime` | one process, from its start to the end of everything below it |
//! | `client` | one actor for each connection, whatever carries it; `unix` accepts local ones |
//! | `workspaces` | managed worktrees; `git` is the one place that runs git |
//! | `orchestrator` | commands to the daemon itself |
//! | `security`, `http` | who may talk to the daemon over the network, and how |
//! | `metrics` | what is counted |
//! | `home`, `state_file` | the daemon's own files, and how all state is written |

mod agent;
mod client;
mod daemon;
mod digest;
mod git;
mod home;
mod http;
mod keys;
mod listeners;
mod manifest;
mod metrics;
mod migration;
mod orchestrator;
mod registry;
mod reload;
mod runtime;
mod security;
mod settings;
mod state_file;
mod stored;
mod unix;
mod workspaces;

pub use daemon::{Control, Running, start};
pub use home::{DaemonFile, StartError};
pub use listeners::Inherited;
pub use manifest::{MadeBy, Managed, Manifest, ManifestError};
pub use orchestrator::usage_rows;
pub use security::access::{AccessError, Proxy, Upstream, WebAccess, WebOptions};
pub use security::public_host::PublicHost;
pub use settings::Settings;
pub use stored::Stored;
