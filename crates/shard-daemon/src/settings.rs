//! What a daemon is told at its start.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use shard_types::HeadlessPolicy;

/// How a daemon is to work.
#[derive(Clone)]
pub struct Settings {
    /// Where state is kept (`$SHARD_HOME`).
    pub state_home: PathBuf,
    /// The configuration's file.
    pub config_path: PathBuf,
    /// The user's home folder, which `~` stands for in paths that people type.
    pub home: Option<PathBuf>,
    /// Where a socket goes whose path under the state home would be too long; `$XDG_RUNTIME_DIR`.
    pub runtime_dir: Option<PathBuf>,
    /// The environment, of which git gets the little that it needs.
    pub environment: Vec<(OsString, OsString)>,
    /// The port on the loopback address; 0 takes any free one.
    pub port: u16,
    /// Further web origins that may talk to the daemon.
    pub allowed_origins: Vec<String>,
    /// Whether what a project brings counts for agents: its allow rules, instructions,
    /// skills and definitions.
    pub trust_project: bool,
    /// How long an idle agent keeps its process.
    pub idle_timeout: Duration,
    /// How long a question waits once nobody is there to answer it.
    pub ask_timeout: Duration,
    /// What happens to questions when nobody is there, for agents that are not told otherwise.
    pub headless_policy: HeadlessPolicy,
    /// How many bytes may wait for one slow client before it is cut off.
    pub client_queue_bytes: usize,
}

/// Without the environment, which holds keys.
impl std::fmt::Debug for Settings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Settings")
            .field("state_home", &self.state_home)
            .field("port", &self.port)
            .finish_non_exhaustive()
    }
}
