//! The file that a person begins with.

/// The text that [`crate::init`] writes: every section at its default, with remarks.
pub const STARTER: &str = include_str!("starter.json");
