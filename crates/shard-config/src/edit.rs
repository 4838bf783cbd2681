//! The edits that programs make. They change single values in the text: everything else, the
//! order, the remarks and the indentation, stays as the person left it.

use std::path::Path;

use serde_json::{Value, json};

use crate::document::Document;
use crate::{ConfigError, ProviderConfig, load, schema, splice, starter, store};

/// Adds the provider `name` to the configuration at `path`, or replaces it, and chooses its
/// `model`. Without `model`, the first of the provider's listed models is chosen; when it lists
/// none, the chosen model stays what it was.
///
/// Makes the file and its folder when they are missing. The file becomes readable by its owner
/// only, since it may hold a key.
///
/// # Errors
/// [`ConfigError::Invalid`] when the file does not parse, or would be wrong afterwards, and
/// [`ConfigError::Write`] when it cannot be written. The old file is untouched then.
pub fn use_provider(
    path: &Path,
    name: &str,
    provider: &ProviderConfig,
    model: Option<&str>,
) -> Result<(), ConfigError> {
    let old = store::read(path)?.map_or_else(|| "{}\n".to_owned(), |stored| stored.text);
    let listed = provider
        .models
        .iter()
        .flatten()
        .next()
        .map(|spec| spec.id.as_str());
    let mut text = set(&old, path, &["providers", name], &entry(provider))?;
    if let Some(model) = model.or(listed) {
        text = set(
            &text,
            path,
            &["model"],
            &Value::from(format!("{name}/{model}")),
        )?;
    }
    load::parse(&text, path)?;
    store::replace(path, &text)
}

/// Writes the starter file to `path`, and the schema that it names beside it.
///
/// # Errors
/// [`ConfigError::Exists`] when there is a file already, and [`ConfigError::Write`] when it
/// cannot be written.
pub fn init(path: &Path) -> Result<(), ConfigError> {
    store::create(path, starter::STARTER)?;
    let schema = format!("{:#}\n", schema::generated());
    store::replace(&path.with_file_name("config.schema.json"), &schema)
}

fn set(text: &str, path: &Path, keys: &[&str], value: &Value) -> Result<String, ConfigError> {
    let document = Document::parse(text, path)?;
    Ok(splice::set(&document, keys, value))
}

/// The provider as it stands in the file, where its secrets must be legible.
fn entry(provider: &ProviderConfig) -> Value {
    let mut entry = json!(provider);
    if let Some(endpoint) = &provider.base_url {
        entry["base_url"] = Value::from(endpoint.as_str());
    }
    if let Some(key) = &provider.api_key {
        entry["api_key"] = Value::from(key.expose());
    }
    for (name, value) in &provider.headers {
        entry["headers"][name] = Value::from(value.expose());
    }
    if !provider.reasoning_replay {
        entry
            .as_object_mut()
            .map(|entry| entry.remove("reasoning_replay"));
    }
    entry
}
