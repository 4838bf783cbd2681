//! The rule of the layers: dependencies point down.
//!
//! A crate under `crates/` states its layer in `[package.metadata.shard]` and depends on lower
//! ones only. In the top layer there is an order as well. The test kit is for tests.

#[cfg(test)]
mod tests;

/// Who may stand above whom in the top layer: each may depend on those after it.
const TOP_ORDER: [&str; 4] = ["shard-cli", "shard-daemon", "shard-transports", "shard-sdk"];

const TOP: u64 = 4;

/// For tests only.
const TESTKIT: &str = "shard-testkit";

/// May use the test kit as it likes: it is nothing but tests.
const TESTS: &str = "shard-tests";

/// Arrows that point down and are wrong all the same, with the reason.
const FORBIDDEN: [(&str, &str, &str); 1] = [(
    "shard-daemon",
    "shard-core",
    "the daemon runs an agent as a process of its own",
)];

/// A crate of this workspace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Crate {
    pub(crate) name: String,
    /// The layer that its manifest states.
    pub(crate) layer: Option<u64>,
    /// Whether it must state one: it lies under `crates/`.
    pub(crate) layered: bool,
    /// Those of its dependencies that are of this workspace.
    pub(crate) dependencies: Vec<Dependency>,
}

/// An arrow to another crate of this workspace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Dependency {
    pub(crate) name: String,
    pub(crate) kind: Kind,
}

/// What a dependency is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// The crate itself.
    Normal,
    /// Its build script.
    Build,
    /// Its tests.
    Dev,
}

/// What is wrong with the arrows of these crates, each as a sentence.
pub(crate) fn faults(crates: &[Crate]) -> Vec<String> {
    let mut faults = Vec::new();
    for from in crates {
        if from.layered {
            faults.extend(fault_of_layer(from));
        }
        for dependency in &from.dependencies {
            let to = crates.iter().find(|to| to.name == dependency.name);
            faults.extend(to.and_then(|to| fault(from, to, dependency.kind)));
        }
    }
    faults
}

fn fault_of_layer(from: &Crate) -> Option<String> {
    let name = &from.name;
    match from.layer {
        None => Some(format!(
            "{name} states no layer: its Cargo.toml needs [package.metadata.shard] layer = N"
        )),
        Some(layer) if layer > TOP => Some(format!(
            "{name} states layer {layer}, but {TOP} is the highest"
        )),
        Some(_) => None,
    }
}

/// What is wrong with one arrow.
fn fault(from: &Crate, to: &Crate, kind: Kind) -> Option<String> {
    let (name, other) = (&*from.name, &*to.name);
    let arrow = match kind {
        Kind::Normal => "depends on",
        Kind::Build => "depends, for its build script, on",
        Kind::Dev => "depends, for its tests, on",
    };
    if other == TESTKIT {
        let fine = kind == Kind::Dev || name == TESTS;
        return (!fine).then(|| format!("{name} {arrow} {other}, which is a dev-dependency only"));
    }
    let reason = FORBIDDEN.iter().find(|no| (no.0, no.1) == (name, other));
    if let Some((_, _, reason)) = reason {
        return Some(format!("{name} {arrow} {other}: {reason}"));
    }
    if !from.layered {
        return None; // tests and developer commands stand outside and may look anywhere
    }
    if !to.layered {
        return Some(format!("{name} {arrow} {other}, which is outside crates/"));
    }
    let (own, theirs) = (from.layer?, to.layer?);
    if own < theirs {
        return Some(format!(
            "{name} (layer {own}) {arrow} {other} (layer {theirs}): the arrow points up"
        ));
    }
    let sideways = own == theirs && !(own == TOP && in_order(name, other));
    sideways.then(|| {
        format!("{name} {arrow} {other}, its neighbour in layer {own}: the arrow points sideways")
    })
}

/// Whether both have a place in the top layer's order, the first one before the second.
fn in_order(above: &str, below: &str) -> bool {
    let place = |name| TOP_ORDER.iter().position(|at| *at == name);
    matches!((place(above), place(below)), (Some(a), Some(b)) if a < b)
}
