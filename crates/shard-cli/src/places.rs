//! Where things are: the one place that reads the environment and the home folder.

use std::ffi::OsString;
use std::path::PathBuf;

use anyhow::Context;

/// The folders and files of this user.
pub(crate) struct Places {
    pub(crate) state_home: PathBuf,
    pub(crate) config: PathBuf,
    pub(crate) home: Option<PathBuf>,
    /// For what lasts as long as the user's session.
    pub(crate) runtime_dir: Option<PathBuf>,
    pub(crate) current_dir: PathBuf,
    pub(crate) environment: Vec<(OsString, OsString)>,
}

impl Places {
    /// Reads them off the environment.
    ///
    /// # Errors
    /// When neither the variables nor the system say where the home folder is, or the current
    /// folder is gone.
    pub(crate) fn find() -> anyhow::Result<Self> {
        let variable = |name: &str| {
            std::env::var_os(name)
                .filter(|value| !value.is_empty())
                .map(PathBuf::from)
        };
        let home = dirs::home_dir();
        let below_home = |path: &str, name: &str| {
            home.as_ref().map(|home| home.join(path)).with_context(|| {
                format!("there is no home folder to keep things in; set HOME, or {name}")
            })
        };
        let current_dir = std::env::current_dir()
            .context("the current folder is gone; change into another one")?;
        let state_home = match variable("SHARD_HOME") {
            Some(home) => current_dir.join(home),
            None => below_home(".shard", "SHARD_HOME")?,
        };
        // As the convention has it, a relative path counts as not set.
        let config_home = match variable("XDG_CONFIG_HOME").filter(|path| path.is_absolute()) {
            Some(home) => home,
            None => below_home(".config", "XDG_CONFIG_HOME")?,
        };
        let config = config_home.join("shard/config.json");
        Ok(Self {
            state_home,
            config,
            home,
            runtime_dir: variable("XDG_RUNTIME_DIR").filter(|path| path.is_absolute()),
            current_dir,
            environment: std::env::vars_os().collect(),
        })
    }
}
