//! What cargo knows of this workspace: where it is, and who depends on whom.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::layers::{Crate, Dependency, Kind};
use crate::program;

/// The root of the workspace.
pub(crate) fn root() -> PathBuf {
    // The variable first: several checkouts may share one target folder, and so this program.
    let here = std::env::var_os("CARGO_MANIFEST_DIR")
        .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
    here.parent().map_or(here.clone(), Path::to_owned)
}

/// The answer of `cargo metadata`.
#[derive(Debug)]
pub(crate) struct Metadata(Value);

impl Metadata {
    /// Asks cargo.
    pub(crate) fn read() -> Result<Self> {
        let mut command = program::cargo(&["metadata", "--format-version", "1", "--no-deps"]);
        let output = program::output(&mut command)?;
        if !output.status.success() {
            bail!("{}", String::from_utf8_lossy(&output.stderr).trim_end());
        }
        let metadata = serde_json::from_slice(&output.stdout);
        Ok(Self(metadata.context("cannot read `cargo metadata`")?))
    }

    /// Where builds go.
    pub(crate) fn target(&self) -> Result<PathBuf> {
        let target = self.0["target_directory"].as_str();
        Ok(target.context("cargo names no target folder")?.into())
    }

    /// The workspace's own crates with their arrows to each other.
    pub(crate) fn crates(&self) -> Vec<Crate> {
        let packages = self.0["packages"].as_array().into_iter().flatten();
        let shelf = root().join("crates");
        packages.map(|package| to_crate(package, &shelf)).collect()
    }
}

fn to_crate(package: &Value, shelf: &Path) -> Crate {
    let manifest = package["manifest_path"].as_str().unwrap_or_default();
    let dependencies = package["dependencies"].as_array().into_iter().flatten();
    let ours = dependencies.filter(|dependency| dependency["path"].is_string());
    Crate {
        name: text(&package["name"]),
        layer: package["metadata"]["shard"]["layer"].as_u64(),
        layered: Path::new(manifest).starts_with(shelf),
        dependencies: ours.map(to_dependency).collect(),
    }
}

fn to_dependency(dependency: &Value) -> Dependency {
    let kind = match dependency["kind"].as_str() {
        Some("dev") => Kind::Dev,
        Some("build") => Kind::Build,
        _ => Kind::Normal,
    };
    Dependency {
        name: text(&dependency["name"]),
        kind,
    }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn crates_are_read_from_metadata() {
        let package = json!({
            "name": "shard-core",
            "manifest_path": "/w/crates/shard-core/Cargo.toml",
            "metadata": {"shard": {"layer": 2}},
            "dependencies": [
                {"name": "serde", "kind": null},
                {"name": "shard-types", "kind": null, "path": "/w/crates/shard-types"},
                {"name": "shard-testkit", "kind": "dev", "path": "/w/crates/shard-testkit"},
            ],
        });
        let arrow = |name: &str, kind| Dependency {
            name: name.to_owned(),
            kind,
        };
        let want = Crate {
            name: "shard-core".to_owned(),
            layer: Some(2),
            layered: true,
            dependencies: vec![
                arrow("shard-types", Kind::Normal),
                arrow("shard-testkit", Kind::Dev),
            ],
        };
        assert_eq!(to_crate(&package, Path::new("/w/crates")), want);
        assert!(!to_crate(&package, Path::new("/w/other")).layered);
    }
}
