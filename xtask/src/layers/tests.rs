use super::*;

fn layered(name: &str, layer: u64) -> Crate {
    Crate {
        name: name.to_owned(),
        layer: Some(layer),
        layered: true,
        dependencies: Vec::new(),
    }
}

fn outside(name: &str) -> Crate {
    Crate {
        layer: None,
        layered: false,
        ..layered(name, 0)
    }
}

/// The workspace as it is meant, with one more arrow.
fn faults_with(from: &str, kind: Kind, to: &str) -> Vec<String> {
    let mut crates = vec![
        layered("shard-types", 0),
        layered("shard-protocol", 1),
        layered("shard-contracts", 1),
        layered("shard-core", 2),
        layered("shard-subagent", 3),
        layered("shard-mcp", 3),
        layered("shard-cli", 4),
        layered("shard-daemon", 4),
        layered("shard-transports", 4),
        layered("shard-testkit", 4),
        outside("shard-tests"),
        outside("xtask"),
    ];
    let from = crates.iter_mut().find(|one| one.name == from).unwrap();
    from.dependencies.push(Dependency {
        name: to.to_owned(),
        kind,
    });
    faults(&crates)
}

#[test]
fn arrows_that_are_fine() {
    use Kind::{Build, Dev, Normal};
    for (from, kind, to) in [
        ("shard-core", Normal, "shard-types"),
        ("shard-core", Build, "shard-protocol"),
        ("shard-core", Normal, "serde"),
        ("shard-cli", Normal, "shard-core"),
        ("shard-cli", Normal, "shard-daemon"),
        ("shard-cli", Normal, "shard-transports"),
        ("shard-daemon", Normal, "shard-transports"),
        ("shard-daemon", Normal, "shard-subagent"),
        ("shard-types", Dev, "shard-testkit"),
        ("shard-core", Dev, "shard-types"),
        ("shard-testkit", Normal, "shard-types"),
        ("shard-tests", Normal, "shard-testkit"),
        ("shard-tests", Dev, "shard-cli"),
        ("xtask", Normal, "shard-protocol"),
    ] {
        let found = faults_with(from, kind, to);
        assert_eq!(found, [""; 0], "{from} to {to}");
    }
}

#[test]
fn arrows_that_are_not() {
    use Kind::{Build, Dev, Normal};
    for (from, kind, to, why) in [
        ("shard-types", Normal, "shard-core", "points up"),
        ("shard-protocol", Build, "shard-core", "points up"),
        ("shard-core", Normal, "shard-subagent", "points up"),
        ("shard-types", Dev, "shard-protocol", "points up"),
        ("shard-protocol", Normal, "shard-contracts", "sideways"),
        ("shard-mcp", Normal, "shard-subagent", "sideways"),
        ("shard-daemon", Normal, "shard-cli", "sideways"),
        ("shard-transports", Normal, "shard-daemon", "sideways"),
        ("shard-testkit", Normal, "shard-transports", "sideways"),
        ("shard-core", Normal, "shard-testkit", "dev-dependency only"),
        ("shard-cli", Build, "shard-testkit", "dev-dependency only"),
        ("xtask", Normal, "shard-testkit", "dev-dependency only"),
        ("shard-daemon", Normal, "shard-core", "process of its own"),
        ("shard-daemon", Dev, "shard-core", "process of its own"),
        ("shard-core", Normal, "xtask", "outside crates/"),
        ("shard-core", Dev, "shard-tests", "outside crates/"),
    ] {
        let found = faults_with(from, kind, to);
        let [fault] = &*found else {
            panic!("{from} to {to}: {found:?}");
        };
        assert!(fault.contains(why), "{fault}");
        assert!(fault.contains(from) && fault.contains(to), "{fault}");
    }
}

#[test]
fn an_arrow_that_points_up_is_told_with_both_layers() {
    assert_eq!(
        faults_with("shard-types", Kind::Normal, "shard-core"),
        ["shard-types (layer 0) depends on shard-core (layer 2): the arrow points up"]
    );
}

#[test]
fn each_crate_states_a_layer_that_exists() {
    let nowhere = Crate {
        layer: None,
        ..layered("shard-new", 0)
    };
    let crates = [
        nowhere,
        layered("shard-high", 5),
        layered("shard-types", 0),
        outside("xtask"),
    ];
    assert_eq!(
        faults(&crates),
        [
            "shard-new states no layer: its Cargo.toml needs [package.metadata.shard] layer = N",
            "shard-high states layer 5, but 4 is the highest",
        ]
    );
}
