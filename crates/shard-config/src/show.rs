//! The effective configuration for people's eyes.

use crate::Config;

/// The configuration with its defaults as indented JSON. Keys, values of headers and passwords
/// in addresses are masked.
#[must_use]
pub fn show(config: &Config) -> String {
    // Every type that holds a secret masks it when it is serialized. Maps with text keys cannot
    // fail to be written.
    serde_json::to_string_pretty(config).unwrap_or_default()
}
