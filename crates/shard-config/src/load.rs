//! Reading the configuration file.

use std::path::Path;

use crate::document::Document;
use crate::key_path::KeyPath;
use crate::store::{self, Stored};
use crate::{Config, ConfigError, Diagnostic, known, rules, schema, validate};

/// A configuration that can be used, and what to tell the person about it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Loaded {
    /// The configuration.
    pub config: Config,
    /// What is odd but does no harm, in the order of kinds.
    pub warnings: Vec<Diagnostic>,
    /// Whether there was a file. If not, the configuration is the default one.
    pub existed: bool,
}

/// Reads the configuration at `path`. A missing file is the default configuration.
///
/// # Errors
/// [`ConfigError::Read`] for a file that is there but cannot be read, and
/// [`ConfigError::Invalid`] for one that is wrong.
pub fn load(path: &Path) -> Result<Loaded, ConfigError> {
    let Some(Stored {
        text,
        others_may_read,
    }) = store::read(path)?
    else {
        return Ok(Loaded::default());
    };
    let mut loaded = parse(&text, path)?;
    if others_may_read {
        loaded
            .warnings
            .extend(exposed_keys(&loaded.config, &text, path)?);
    }
    Ok(loaded)
}

/// Reads the text of a configuration file; `path` is only for messages.
///
/// # Errors
/// [`ConfigError::Invalid`] with at least one mistake.
pub fn parse(text: &str, path: &Path) -> Result<Loaded, ConfigError> {
    let document = Document::parse(text, path)?;
    let mut warnings = known::check(&document, schema::generated())?;
    let config: Config = document.read()?;
    let found = validate::validate(&config, &document);
    if !found.errors.is_empty() {
        return Err(ConfigError::Invalid(found.errors));
    }
    warnings.extend(found.warnings);
    let rules_path = KeyPath::new(&["permissions", "rules"]);
    warnings.extend(rules::report(
        &document,
        &rules_path,
        &config.permissions.rules,
    ));
    Ok(Loaded {
        config,
        warnings,
        existed: true,
    })
}

fn exposed_keys(config: &Config, text: &str, path: &Path) -> Result<Vec<Diagnostic>, ConfigError> {
    let document = Document::parse(text, path)?;
    let literal = config
        .providers
        .iter()
        .filter(|(_, provider)| provider.api_key.is_some());
    let told = literal.map(|(name, _)| {
        let key = KeyPath::new(&["providers", name, "api_key"]);
        let command = format!("chmod 600 {}", path.display());
        document.at(
            &key,
            format!("others on this machine can read the key; run: {command}"),
        )
    });
    Ok(told.collect())
}
