//! The records of the daemon's agents, and what is to be done about those that cannot be read.

use std::path::Path;

use shard_daemon::{ManifestError, Stored};

use super::{Findings, State};
use crate::places::Places;

pub(super) fn look(places: &Places, findings: &mut Findings) {
    let stored = match Stored::read(&places.state_home) {
        Ok(stored) => stored,
        Err(error) => {
            let folder = places.state_home.join("agents");
            let message = format!("{} cannot be read: {error}", folder.display());
            return findings.add("agents", State::Problem, message);
        }
    };
    let count = stored.manifests.len();
    findings.add("agents", State::Good, format!("{count} stored"));
    for error in &stored.left_out {
        let message = format!("left out: {error}; {}", advice(error));
        findings.add("agents", State::Problem, message);
    }
}

/// What a person can do about an agent that is left out.
fn advice(error: &ManifestError) -> String {
    let first = match error {
        ManifestError::Version { .. } => "start the version of Shard that wrote it",
        _ => "mend it and start the daemon again",
    };
    let sessions = error.path().parent().map(sessions).unwrap_or_default();
    if sessions.is_empty() {
        return format!("{first}; it has no conversation yet, so its folder can also be deleted");
    }
    let sessions = sessions.join(", ");
    format!(
        "{first}, or have its conversation taken over by a new agent: `session.activate` with {sessions}"
    )
}

/// The sessions in an agent's folder.
fn sessions(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let paths = entries.map(|entry| entry.path());
    let mut sessions: Vec<_> = paths
        .filter(|path| path.extension().is_some_and(|it| it == "jsonl"))
        .filter_map(|path| Some(path.file_stem()?.to_str()?.to_owned()))
        .collect();
    sessions.sort();
    sessions
}
