//! Where the keys of providers come from.

use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::pin::pin;
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use shard_config::{ProviderConfig, resolve_key};
use tokio::process::Command;

use crate::provider::KeySource;

/// How long a command that prints a key may take. It may ask a person to unlock something.
const COMMAND_TIMEOUT: Duration = Duration::from_secs(60);

/// The key of a provider, looked up when it is first needed: starting an agent neither reads
/// files nor runs commands for it.
pub(crate) fn source(
    config: &ProviderConfig,
    home: Option<PathBuf>,
    environment: Arc<[(OsString, OsString)]>,
) -> KeySource {
    if origin(config).is_none() {
        return KeySource::None;
    }
    let config = config.clone();
    KeySource::Lazy(Arc::new(move || {
        let (config, home, environment) = (config.clone(), home.clone(), Arc::clone(&environment));
        Box::pin(async move {
            let printed = match &config.api_key_command {
                Some(command) => Some(run(command).await),
                None => None,
            };
            let variable = |name: &str| {
                let found = environment.iter().find(|(known, _)| known == name);
                found.and_then(|(_, value)| value.to_str().map(str::to_owned))
            };
            let run = |_: &str| match &printed {
                Some(Ok(printed)) => Ok(printed.clone()),
                Some(Err(error)) => Err(io::Error::new(error.kind(), error.to_string())),
                None => Err(io::Error::other("not run")),
            };
            match resolve_key(&config, home.as_deref(), variable, run) {
                Ok(Some(key)) => Ok(key),
                Ok(None) => Err("none is configured".to_owned()),
                Err(error) => Err(error.to_string()),
            }
        })
    }))
}

/// What a person should look at when a key is refused.
pub(crate) fn origin(config: &ProviderConfig) -> Option<String> {
    if let Some(variable) = &config.api_key_env {
        return Some(format!("the variable {variable}"));
    }
    if let Some(file) = &config.api_key_file {
        return Some(format!("the file {file}"));
    }
    if config.api_key_command.is_some() {
        return Some("the command of `api_key_command`".to_owned());
    }
    config
        .api_key
        .as_ref()
        .map(|_| "`api_key` in the configuration".to_owned())
}

async fn run(command: &str) -> io::Result<String> {
    let mut shell = Command::new("sh");
    shell
        .arg("-c")
        .arg(command)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .kill_on_drop(true);
    let child = shell.spawn()?;
    let id = child.id();
    let mut waiting = pin!(child.wait_with_output());
    // Dropped before the child is, by an abort too.
    let mut tree = Tree(id);
    let output = tokio::time::timeout(COMMAND_TIMEOUT, &mut waiting)
        .await
        .map_err(|_| io::Error::new(io::ErrorKind::TimedOut, "it took too long"))??;
    tree.0 = None;
    if !output.status.success() {
        return Err(io::Error::other("it failed"));
    }
    String::from_utf8(output.stdout).map_err(|_| io::Error::other("it printed no text"))
}

/// A shell and what it has started, ended with this. It keeps its terminal and its rights, as it may
/// ask a person, so no reaper looks after it.
struct Tree(Option<u32>);

impl Drop for Tree {
    fn drop(&mut self) {
        if let Some(shell) = self.0 {
            shard_process::end_tree(shell);
        }
    }
}
