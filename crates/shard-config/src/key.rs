//! Finding a provider's key where the configuration says it is.

use std::io;
use std::path::{Path, PathBuf};

use crate::{ProviderConfig, Secret, store};

/// Keys are a few hundred bytes; what is longer is some other file.
const MAX_KEY_BYTES: usize = 64 << 10;

/// Why a key could not be had. No message holds a key.
#[derive(Debug, thiserror::Error)]
pub enum KeyError {
    /// The variable is not set, or empty.
    #[error(
        "the variable {0}, which api_key_env names, is not set; export it, or choose another key source"
    )]
    Unset(String),
    /// The file cannot be read.
    #[error("the key file {} cannot be read: {source}", .path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A path begins with `~/`, and it is not known where that is.
    #[error(
        "api_key_file begins with ~/, but the home directory is not known; write an absolute path"
    )]
    NoHome,
    /// The command cannot be run, or failed. The source is not part of the message, because
    /// what a failed command printed may hold the key.
    #[error("the command of api_key_command failed; run it in a terminal to see why")]
    Command {
        /// What the runner said.
        source: io::Error,
    },
    /// What was found cannot be a key.
    #[error("{0} gave no key: expected one line of text without control characters")]
    NoKey(&'static str),
}

/// Finds the key of `provider`; `None` when it is configured to have none.
///
/// `home` is what `~/` stands for, `env` looks a variable up, and `run` runs a shell command
/// and returns what it printed. Blocks on files and on `run`.
///
/// # Errors
/// A [`KeyError`] when the configured source does not give a key. There is no falling back to
/// another source: the wrong account's key would be worse than none.
pub fn resolve_key(
    provider: &ProviderConfig,
    home: Option<&Path>,
    env: impl Fn(&str) -> Option<String>,
    run: impl Fn(&str) -> io::Result<String>,
) -> Result<Option<Secret>, KeyError> {
    if let Some(variable) = &provider.api_key_env {
        let value = env(variable).filter(|value| !value.trim().is_empty());
        let value = value.ok_or_else(|| KeyError::Unset(variable.clone()))?;
        return checked(&value, "api_key_env").map(Some);
    }
    if let Some(file) = &provider.api_key_file {
        let path = expand_home(file, home).ok_or(KeyError::NoHome)?;
        return checked(&read_key(&path)?, "api_key_file").map(Some);
    }
    if let Some(command) = &provider.api_key_command {
        let printed = run(command).map_err(|source| KeyError::Command { source })?;
        return checked(&printed, "api_key_command").map(Some);
    }
    provider
        .api_key
        .as_ref()
        .map(|key| checked(key.expose(), "api_key"))
        .transpose()
}

/// Replaces a leading `~/` by the home directory; `None` when that is needed and not known.
#[must_use]
pub fn expand_home(path: &str, home: Option<&Path>) -> Option<PathBuf> {
    if path == "~" {
        return home.map(Path::to_owned);
    }
    match path.strip_prefix("~/") {
        // A second slash would make the rest absolute, and the home directory vanish.
        Some(rest) => home.map(|home| home.join(rest.trim_start_matches('/'))),
        None => Some(PathBuf::from(path)),
    }
}

fn read_key(path: &Path) -> Result<String, KeyError> {
    let failed = |source| KeyError::File {
        path: path.to_owned(),
        source,
    };
    let bytes = store::read_bounded(path, MAX_KEY_BYTES).map_err(failed)?;
    if bytes.len() > MAX_KEY_BYTES {
        return Err(failed(io::Error::new(
            io::ErrorKind::FileTooLarge,
            "it is too long for a key",
        )));
    }
    String::from_utf8(bytes).map_err(|_| KeyError::NoKey("api_key_file"))
}

fn checked(text: &str, source: &'static str) -> Result<Secret, KeyError> {
    let key = text.trim();
    // A key becomes a header's value; a line break in it would begin another header.
    if key.is_empty() || key.chars().any(char::is_control) {
        return Err(KeyError::NoKey(source));
    }
    Ok(Secret::new(key))
}
