//! What a daemon is told at its start, and what of it may change while it runs.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use shard_config::Config;
use shard_types::HeadlessPolicy;

use crate::security::access::WebAccess;

/// No agent is idle, and no question open, for longer than this.
const AGES: u64 = 10 * 365 * 24 * 3600;

/// What holds for as long as the daemon lives.
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
    /// How browsers reach it.
    pub web: WebAccess,
    /// Origins that the command line allows, whatever the configuration says.
    pub allowed_origins: Vec<String>,
    /// The port of the listener, over what the configuration says; 0 takes any free one.
    pub port: Option<u16>,
    /// Whether what a project brings counts for agents: its allow rules, instructions,
    /// skills and definitions.
    pub trust_project: bool,
    /// How many seconds an idle agent keeps its process, over what the configuration says.
    pub idle_timeout_secs: Option<u64>,
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

/// What follows the configuration while the daemon runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Tuning {
    /// Web origins that may talk to the daemon, with those of the command line.
    pub(crate) allowed_origins: Vec<String>,
    /// How long an idle agent keeps its process.
    pub(crate) idle_timeout: Duration,
    /// How long a question waits once nobody is there to answer it.
    pub(crate) ask_timeout: Duration,
    /// What happens to questions when nobody is there, for agents that are made from now on and
    /// not told otherwise.
    pub(crate) headless_policy: HeadlessPolicy,
    /// How many bytes may wait for one slow client before it is cut off, for connections that are
    /// made from now on.
    pub(crate) client_queue_bytes: usize,
}

impl Tuning {
    /// As the configuration has it, but for what the command line says.
    pub(crate) fn of(settings: &Settings, config: &Config) -> Self {
        let daemon = &config.daemon;
        let idle = settings
            .idle_timeout_secs
            .unwrap_or(daemon.idle_timeout_secs);
        Self {
            allowed_origins: [&*settings.allowed_origins, &*daemon.allowed_origins].concat(),
            idle_timeout: Duration::from_secs(idle.min(AGES)),
            ask_timeout: Duration::from_secs(config.permissions.ask_timeout_secs.min(AGES)),
            headless_policy: config.permissions.headless_policy,
            client_queue_bytes: usize::try_from(daemon.client_queue_bytes).unwrap_or(usize::MAX),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::security::access::WebOptions;

    #[test]
    fn the_configuration_counts_but_for_what_the_command_line_says() {
        let mut config = Config::default();
        config.daemon.idle_timeout_secs = 7;
        config.daemon.client_queue_bytes = 4096;
        config.daemon.allowed_origins = vec!["http://a.example".to_owned()];
        config.permissions.ask_timeout_secs = u64::MAX;
        config.permissions.headless_policy = HeadlessPolicy::Queue;
        let mut settings = Settings {
            state_home: "/state".into(),
            config_path: "/config.json".into(),
            home: None,
            runtime_dir: None,
            environment: Vec::new(),
            web: WebAccess::new(WebOptions::default()).unwrap(),
            allowed_origins: vec!["http://b.example".to_owned()],
            port: None,
            trust_project: false,
            idle_timeout_secs: None,
        };
        let tuning = Tuning::of(&settings, &config);
        let wanted = Tuning {
            allowed_origins: vec!["http://b.example".to_owned(), "http://a.example".to_owned()],
            idle_timeout: Duration::from_secs(7),
            ask_timeout: Duration::from_secs(AGES),
            headless_policy: HeadlessPolicy::Queue,
            client_queue_bytes: 4096,
        };
        assert_eq!(tuning, wanted);
        settings.idle_timeout_secs = Some(9);
        let tuning = Tuning::of(&settings, &config);
        let idle_timeout = Duration::from_secs(9);
        assert_eq!(
            tuning,
            Tuning {
                idle_timeout,
                ..wanted
            }
        );
    }
}
