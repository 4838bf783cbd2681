//! `cargo xtask schema`: the JSON Schemas under `docs/schemas` and the web client's TypeScript,
//! both made from the types.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde_json::Value;

use crate::typescript;
use crate::workspace;

/// Where the web client has its types.
const TYPESCRIPT: &str = "web/src/lib/protocol/types.ts";

/// What never crosses a wire that the web client reads.
const NOT_ON_THE_WIRE: [&str; 2] = ["config", "session_entry"];

const END: &str = ".schema.json";

/// Files by name, with their text.
type Files = BTreeMap<String, String>;

/// Writes the schemas, and removes those of types that are no more; then the TypeScript.
pub(crate) fn run() -> Result<()> {
    let typescript = workspace::root().join(TYPESCRIPT);
    if let Some(folder) = typescript.parent() {
        let cannot = || format!("cannot make {}", folder.display());
        std::fs::create_dir_all(folder).with_context(cannot)?;
    }
    let cannot = || format!("cannot write {}", typescript.display());
    std::fs::write(&typescript, typescript_text()?).with_context(cannot)?;
    println!("wrote {}", typescript.display());
    let folder = folder();
    let wanted = generated()?;
    std::fs::create_dir_all(&folder)
        .with_context(|| format!("cannot make {}", folder.display()))?;
    for (name, text) in &wanted {
        let path = folder.join(name);
        std::fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
        println!("wrote {}", path.display());
    }
    for name in present(&folder)?.keys() {
        if !wanted.contains_key(name) {
            let path = folder.join(name);
            std::fs::remove_file(&path)
                .with_context(|| format!("cannot remove {}", path.display()))?;
            println!("removed {}", path.display());
        }
    }
    Ok(())
}

/// What is wrong with the schemas that are there, each as a sentence.
pub(crate) fn faults() -> Result<Vec<String>> {
    let mut faults = differences(&generated()?, &present(&folder())?);
    let typescript = std::fs::read_to_string(workspace::root().join(TYPESCRIPT));
    if typescript.ok() != Some(typescript_text()?) {
        faults.push(format!("{TYPESCRIPT} is stale"));
    }
    Ok(faults)
}

fn folder() -> PathBuf {
    workspace::root().join("docs/schemas")
}

fn schemas() -> Vec<(&'static str, Value)> {
    let messages = shard_protocol::schema::all().into_iter();
    let messages = messages.map(|(name, schema)| (name, schema.to_value()));
    let mut schemas: Vec<_> = messages
        .chain([("config", shard_config::schema())])
        .collect();
    for (_, schema) in &mut schemas {
        // Another crate of the same build may ask serde_json to keep keys as they came.
        schema.sort_all_objects();
    }
    schemas
}

fn typescript_text() -> Result<String> {
    let schemas = schemas();
    let wire = schemas
        .iter()
        .filter(|(name, _)| !NOT_ON_THE_WIRE.contains(name));
    typescript::module(wire.map(|(_, schema)| schema))
}

fn generated() -> Result<Files> {
    let mut files = Files::new();
    for (name, schema) in schemas() {
        let text = serde_json::to_string_pretty(&schema)?;
        files.insert(format!("{name}{END}"), format!("{text}\n"));
    }
    Ok(files)
}

fn present(folder: &Path) -> Result<Files> {
    let mut files = Files::new();
    if !folder.exists() {
        return Ok(files);
    }
    let cannot = || format!("cannot read {}", folder.display());
    for entry in std::fs::read_dir(folder).with_context(cannot)? {
        let path = entry.with_context(cannot)?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if name.ends_with(END) {
            let text = std::fs::read_to_string(&path);
            let text = text.with_context(|| format!("cannot read {}", path.display()))?;
            files.insert(name.into_owned(), text);
        }
    }
    Ok(files)
}

fn differences(wanted: &Files, present: &Files) -> Vec<String> {
    let names: BTreeSet<&String> = wanted.keys().chain(present.keys()).collect();
    let judge = |name: &String| match (wanted.get(name), present.get(name)) {
        (Some(_), None) => Some("is missing"),
        (None, Some(_)) => Some("is made by no type"),
        (wanted, present) => (wanted != present).then_some("is stale"),
    };
    let say = |name: &String| Some(format!("docs/schemas/{name} {}", judge(name)?));
    names.into_iter().filter_map(say).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_are_named() {
        let files = |pairs: &[(&str, &str)]| -> Files {
            let owned = |(name, text): &(&str, &str)| ((*name).to_owned(), (*text).to_owned());
            pairs.iter().map(owned).collect()
        };
        let wanted = files(&[("a", "1"), ("b", "1"), ("d", "1")]);
        let present = files(&[("a", "1"), ("b", "2"), ("c", "1")]);
        assert_eq!(
            differences(&wanted, &present),
            [
                "docs/schemas/b is stale",
                "docs/schemas/c is made by no type",
                "docs/schemas/d is missing",
            ]
        );
        assert_eq!(differences(&wanted, &wanted), [""; 0]);
    }

    #[test]
    fn every_schema_is_pretty_and_ends_its_last_line() {
        let files = generated().unwrap();
        assert!(files.contains_key("config.schema.json"), "{files:?}");
        assert!(files.contains_key("agent_event.schema.json"), "{files:?}");
        for (name, text) in files {
            assert!(text.starts_with("{\n  \"$"), "{name}: {text}");
            assert!(text.ends_with("}\n"), "{name}");
        }
    }
}
