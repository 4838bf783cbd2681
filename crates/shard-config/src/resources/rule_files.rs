//! Finding permission rules: in the configuration, in the user's folder and in the project.
//!
//! Order is nearest first: the working directory and its ancestors up to the repository's root,
//! then the user's configuration, then the user's rule files. Allow rules of a project count only
//! when the project is trusted; what it denies or asks for always counts.

use std::path::{Path, PathBuf};

use shard_types::{Rule, RuleAction};

use super::{FOLDER_ENTRIES, Found, Kind, Layer, Note, Project, Roots, entries};
use crate::regular_file::read_text;
use crate::{Permissions, RuleEntry, parse_rules};

/// The longest file of rules, in bytes.
const FILE_BYTES: usize = 1 << 20;

/// What a deny that cannot be read brings about.
const FAILS_CLOSED: &str = "until it is mended, every call asks";

/// The rules of one file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RuleLayer {
    /// Where they stand.
    pub source: PathBuf,
    /// Whether its allow rules count.
    pub trusted: bool,
    /// The rules, in order.
    pub rules: Vec<Rule>,
    /// Denies that could not be read, in words that name the file. While there is one, nothing is
    /// allowed unasked.
    pub broken_deny: Vec<String>,
}

/// Every layer of rules, nearest first.
pub(super) fn load(
    roots: &Roots,
    project: &Project,
    permissions: &Permissions,
    found: &mut Vec<Found>,
) -> Vec<RuleLayer> {
    let mut layers = Vec::new();
    for folder in project.places(".shard/rules") {
        folder_layers(
            &folder,
            Layer::Project,
            roots.trust_project,
            &mut layers,
            found,
        );
    }
    if !permissions.rules.is_empty() {
        let mut listing = Found::new(Kind::Rules, &roots.config_path, Layer::User);
        let layer = layer(&roots.config_path, true, &permissions.rules);
        if !layer.broken_deny.is_empty() {
            // Which ones is told with the rest of the configuration.
            let told = format!("not all of its rules can be read; {FAILS_CLOSED}");
            listing.notes.push(Note::Info(told));
        }
        found.push(listing);
        layers.push(layer);
    }
    let users = roots.state_home.join("rules");
    folder_layers(&users, Layer::User, true, &mut layers, found);
    layers
}

fn folder_layers(
    folder: &Path,
    layer: Layer,
    trusted: bool,
    layers: &mut Vec<RuleLayer>,
    found: &mut Vec<Found>,
) {
    let (paths, problem) = match entries(folder) {
        Ok((paths, false)) => (paths, None),
        Ok((paths, true)) => {
            let problem = format!("it has more than {FOLDER_ENTRIES} entries");
            (paths, Some(problem))
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return,
        Err(error) => (Vec::new(), Some(format!("it cannot be listed: {error}"))),
    };
    if let Some(problem) = problem {
        let mut listing = Found::new(Kind::Rules, folder, layer);
        listing.warn(format!("{problem}; {FAILS_CLOSED}"));
        found.push(listing);
        layers.push(broken_layer(folder, trusted, &problem));
    }
    for path in paths {
        if path
            .extension()
            .is_some_and(|extension| extension == "json")
        {
            let mut listing = Found::new(Kind::Rules, &path, layer);
            layers.push(file_layer(&path, trusted, &mut listing));
            found.push(listing);
        }
    }
}

fn file_layer(path: &Path, trusted: bool, listing: &mut Found) -> RuleLayer {
    let parsed = read_text(path, FILE_BYTES)
        .map_err(|error| format!("it {error}"))
        .and_then(|text| {
            parse_rules(&text, path).map_err(|error| {
                let first = error.diagnostics().first();
                first.map_or(error.to_string(), |first| {
                    format!("line {}: {}", first.position.line, first.message)
                })
            })
        });
    let parsed = match parsed {
        Ok(parsed) => parsed,
        Err(problem) => {
            listing.warn(format!("{problem}; {FAILS_CLOSED}"));
            return broken_layer(path, trusted, &problem);
        }
    };
    for warning in &parsed.warnings {
        listing.warn(format!(
            "line {}: {}: {}",
            warning.position.line, warning.key, warning.message
        ));
    }
    let layer = layer(path, trusted, &parsed.rules);
    let allows = layer
        .rules
        .iter()
        .filter(|rule| rule.action == RuleAction::Allow);
    match allows.count() {
        0 => {}
        _ if trusted => {}
        count => listing.warn(format!(
            "what it allows ({count} of its {} rules) does not count, as the project is not trusted; --trust-project lets it count",
            layer.rules.len()
        )),
    }
    layer
}

/// What it was meant to refuse is not known, so nothing runs unasked.
fn broken_layer(path: &Path, trusted: bool, problem: &str) -> RuleLayer {
    RuleLayer {
        source: path.to_owned(),
        trusted,
        rules: Vec::new(),
        broken_deny: vec![format!("{}: {problem}", path.display())],
    }
}

fn layer(path: &Path, trusted: bool, entries: &[RuleEntry]) -> RuleLayer {
    let broken = entries.iter().filter_map(|entry| match entry {
        RuleEntry::Invalid(invalid) if entry.fails_closed() => Some(format!(
            "{}: rule {} cannot be read: {}",
            path.display(),
            invalid.index,
            invalid.reason
        )),
        _ => None,
    });
    RuleLayer {
        source: path.to_owned(),
        trusted,
        broken_deny: broken.collect(),
        rules: entries
            .iter()
            .filter_map(RuleEntry::valid)
            .cloned()
            .collect(),
    }
}
