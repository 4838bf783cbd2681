//! What agents in this folder know at their start, and why something of it is not in force.

use shard_config::Permissions;
use shard_config::resources::{Found, Kind, Layer, Note, Resources, Roots};

use super::{Findings, State};
use crate::places::Places;

/// Lists everything that was found, each with where it stands.
pub(super) fn look(
    places: &Places,
    permissions: &Permissions,
    trust_project: bool,
    findings: &mut Findings,
) {
    let current_dir = &places.current_dir;
    let roots = Roots {
        cwd: current_dir.canonicalize().unwrap_or(current_dir.clone()),
        config_path: places.config.clone(),
        state_home: places.state_home.clone(),
        home: places.home.clone(),
        trust_project,
        agents_md: true,
    };
    let resources = Resources::find(&roots, permissions);
    let closed = resources
        .rules
        .iter()
        .filter(|layer| !layer.broken_deny.is_empty());
    let closed: Vec<_> = closed.map(|layer| &layer.source).collect();
    for found in &resources.found {
        // A rule that cannot be read stops every agent; all else costs only itself.
        let problem = found.kind == Kind::Rules && closed.contains(&&found.path);
        findings.add(area(found.kind), state(found, problem), words(found));
    }
}

fn area(kind: Kind) -> &'static str {
    match kind {
        Kind::Context => "context",
        Kind::Skill => "skill",
        Kind::Agent => "definition",
        Kind::Rules => "rules",
        Kind::Extension => "extension",
        Kind::Mcp => "mcp",
    }
}

fn state(found: &Found, problem: bool) -> State {
    let warned = found
        .notes
        .iter()
        .any(|note| matches!(note, Note::Warning(_)));
    match (problem, warned) {
        (true, _) => State::Problem,
        (false, true) => State::Note,
        (false, false) => State::Good,
    }
}

fn words(found: &Found) -> String {
    let layer = match found.layer {
        Layer::User => "the user's",
        Layer::Project => "the project's",
    };
    let active = if found.active {
        "in force"
    } else {
        "not in force"
    };
    let notes = found.notes.iter().map(|note| format!("; {}", note.text()));
    format!(
        "{}: {} ({layer}), {active}{}",
        found.name,
        found.path.display(),
        notes.collect::<String>()
    )
}
