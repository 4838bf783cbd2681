//! What the types cannot say: ranges, names that must lead somewhere, addresses.

mod general;
mod providers;

use std::fmt;
use std::ops::RangeInclusive;

use crate::document::Document;
use crate::key_path::KeyPath;
use crate::{Config, Diagnostic};

/// What was found in a configuration whose types are right.
#[derive(Default)]
pub(crate) struct Findings {
    pub(crate) errors: Vec<Diagnostic>,
    pub(crate) warnings: Vec<Diagnostic>,
}

/// Checks all of `config`, which was read from `document`.
pub(crate) fn validate(config: &Config, document: &Document<'_>) -> Findings {
    let mut check = Check {
        document,
        findings: Findings::default(),
    };
    providers::check(config, &mut check);
    general::check(config, &mut check);
    check.findings
}

/// Collects findings; its methods are the checks that more than one key needs.
struct Check<'d> {
    document: &'d Document<'d>,
    findings: Findings,
}

impl Check<'_> {
    fn error(&mut self, path: &KeyPath, message: impl Into<String>) {
        self.findings.errors.push(self.document.at(path, message));
    }

    fn warning(&mut self, path: &KeyPath, message: impl Into<String>) {
        self.findings.warnings.push(self.document.at(path, message));
    }

    fn range<N: PartialOrd + fmt::Display>(
        &mut self,
        keys: &[&str],
        value: N,
        range: &RangeInclusive<N>,
    ) {
        if !range.contains(&value) {
            let message = format!(
                "expected a whole number from {} to {}",
                range.start(),
                range.end()
            );
            self.error(&KeyPath::new(keys), message);
        }
    }

    /// A path that does not depend on the folder that a process happens to run in.
    fn anchored(&mut self, path: &KeyPath, value: &str) {
        if !(value.starts_with('/') || value.starts_with("~/") || value == "~") {
            self.error(
                path,
                "expected an absolute path, or one that begins with ~/",
            );
        }
    }
}

fn is_one_line(text: &str) -> bool {
    !text.trim().is_empty() && !text.chars().any(char::is_control)
}
