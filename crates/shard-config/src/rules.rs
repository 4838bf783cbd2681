//! Permission rules in files. One wrong rule is one invalid entry, never a broken file: the
//! rules beside it go on protecting.

use std::path::Path;
use std::sync::OnceLock;

use globset::GlobBuilder;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;
use shard_types::Rule;

use crate::document::{Document, REMARK};
use crate::key_path::{KeyPath, quoted};
use crate::{ConfigError, Diagnostic, describe, known};

/// One entry of a list of rules.
#[derive(Debug, Clone, PartialEq)]
pub enum RuleEntry {
    /// A rule that counts.
    Valid(Rule),
    /// One that cannot be applied as written.
    Invalid(InvalidRule),
}

/// A rule that cannot be applied as written.
#[derive(Debug, Clone, PartialEq)]
pub struct InvalidRule {
    /// Its place in the list, from 0.
    pub index: usize,
    /// What is wrong with it.
    pub reason: String,
    /// Whether it may have been meant to hold something back: true unless its action plainly is
    /// `allow`. Then nothing may run unasked on the word of an allow rule until it is mended.
    pub may_restrict: bool,
    /// What stands in the file.
    pub raw: Value,
}

/// What a rules file holds.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ParsedRules {
    /// The entries in their order.
    pub rules: Vec<RuleEntry>,
    /// Invalid rules and unknown keys.
    pub warnings: Vec<Diagnostic>,
}

/// Reads the text of a rules file, `{ "rules": [ … ] }`.
///
/// # Errors
/// [`ConfigError::Invalid`] when no list of rules can be found. Which rules the file was meant
/// to hold is unknown then, so callers must treat it like an entry that may restrict.
pub fn parse_rules(text: &str, path: &Path) -> Result<ParsedRules, ConfigError> {
    /// A rules file. Unlike in the configuration, the list is not optional: a misspelt `rules`
    /// must not pass for a file without any.
    #[derive(Deserialize, schemars::JsonSchema)]
    struct RulesFile {
        #[serde(deserialize_with = "read_each")]
        #[schemars(with = "Vec<Rule>")]
        rules: Vec<RuleEntry>,
    }
    static SCHEMA: OnceLock<Value> = OnceLock::new();
    let schema = SCHEMA.get_or_init(|| schemars::schema_for!(RulesFile).into());

    let document = Document::parse(text, path)?;
    let mut warnings = known::check(&document, schema)?;
    let RulesFile { rules } = document.read()?;
    warnings.extend(report(&document, &KeyPath::new(&["rules"]), &rules));
    Ok(ParsedRules { rules, warnings })
}

/// One warning for each invalid entry of the list at `path`.
pub(crate) fn report(
    document: &Document<'_>,
    path: &KeyPath,
    rules: &[RuleEntry],
) -> Vec<Diagnostic> {
    let invalid = rules.iter().filter_map(|entry| match entry {
        RuleEntry::Valid(_) => None,
        RuleEntry::Invalid(invalid) => Some(invalid),
    });
    let told = invalid.map(
        |InvalidRule {
             index,
             reason,
             may_restrict,
             ..
         }| {
            let effect = if *may_restrict {
                "until it is mended, every call asks"
            } else {
                "the rule is ignored"
            };
            document.at(&path.index(*index), format!("{reason}; {effect}"))
        },
    );
    told.collect()
}

/// Reads a list of rules entry by entry.
pub(crate) fn read_each<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<RuleEntry>, D::Error> {
    let raw = Vec::<Value>::deserialize(from)?;
    Ok(raw
        .into_iter()
        .enumerate()
        .map(|(index, raw)| RuleEntry::read(index, raw))
        .collect())
}

impl RuleEntry {
    /// The rule, if it counts.
    #[must_use]
    pub fn valid(&self) -> Option<&Rule> {
        match self {
            Self::Valid(rule) => Some(rule),
            Self::Invalid(_) => None,
        }
    }

    /// Whether the entry is invalid and may have been meant to hold something back.
    #[must_use]
    pub fn fails_closed(&self) -> bool {
        matches!(self, Self::Invalid(invalid) if invalid.may_restrict)
    }

    fn read(index: usize, raw: Value) -> Self {
        match read_rule(&raw) {
            Ok(rule) => Self::Valid(rule),
            Err(reason) => {
                let may_restrict = raw.get("action").and_then(Value::as_str) != Some("allow");
                Self::Invalid(InvalidRule {
                    index,
                    reason,
                    may_restrict,
                    raw,
                })
            }
        }
    }
}

impl Serialize for RuleEntry {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Valid(rule) => rule.serialize(to),
            Self::Invalid(invalid) => invalid.raw.serialize(to),
        }
    }
}

fn read_rule(raw: &Value) -> Result<Rule, String> {
    // Without this, a list would be taken for a rule with its keys in order.
    let Value::Object(map) = raw else {
        return Err("expected an object, { … }".to_owned());
    };
    let known = known_keys();
    let is_unknown = |key: &&String| !key.starts_with(REMARK) && !known.contains(&key.as_str());
    if let Some(key) = map.keys().find(is_unknown) {
        let hint = known::suggest(key, known.iter().copied());
        return Err(format!("unknown key {}; {hint}", quoted(key)));
    }
    let rule: Rule = serde_path_to_error::deserialize(raw).map_err(|error| {
        let what = describe::mismatch(&error.inner().to_string());
        match KeyPath::from(error.path()).to_string() {
            path if path.is_empty() => what,
            path => format!("{path}: {what}"),
        }
    })?;
    check_patterns(&rule)?;
    Ok(rule)
}

fn known_keys() -> Vec<&'static str> {
    static SCHEMA: OnceLock<Value> = OnceLock::new();
    let schema = SCHEMA.get_or_init(|| schemars::schema_for!(Rule).into());
    let properties = schema.get("properties").and_then(Value::as_object);
    properties
        .into_iter()
        .flat_map(|map| map.keys())
        .map(String::as_str)
        .collect()
}

/// A pattern that cannot match as written must not pass for one that matches nothing.
fn check_patterns(rule: &Rule) -> Result<(), String> {
    let Rule {
        tool,
        command,
        path,
        ..
    } = rule;
    for (key, pattern) in [
        ("tool", Some(tool)),
        ("command", command.as_ref()),
        ("path", path.as_ref()),
    ] {
        if pattern.is_some_and(|pattern| pattern.trim().is_empty()) {
            return Err(format!("{key}: expected a pattern that is not empty"));
        }
    }
    for (key, glob) in [("tool", Some(tool)), ("path", path.as_ref())] {
        let broken = |glob: &String| {
            GlobBuilder::new(glob)
                .literal_separator(true)
                .build()
                .is_err()
        };
        if glob.is_some_and(broken) {
            return Err(format!("{key}: expected a glob with its brackets closed"));
        }
    }
    Ok(())
}
