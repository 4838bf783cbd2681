//! `shard schema`: the JSON Schemas of all messages and of the configuration.

use anyhow::Context;
use serde_json::{Map, Value};

use crate::args::SchemaArgs;
use crate::failure::{Failure, print};

pub(crate) fn run(args: &SchemaArgs) -> Result<(), Failure> {
    let mut schemas: Vec<(String, Value)> = shard_protocol::schema::all()
        .into_iter()
        .map(|(name, schema)| (name.to_owned(), schema.to_value()))
        .collect();
    schemas.push(("config".to_owned(), shard_config::schema()));
    let Some(folder) = &args.out else {
        let all: Map<String, Value> = schemas.into_iter().collect();
        print(&serde_json::to_string_pretty(&all)?)?;
        return Ok(());
    };
    std::fs::create_dir_all(folder)
        .with_context(|| format!("cannot make the folder {}", folder.display()))?;
    for (name, schema) in schemas {
        let path = folder.join(format!("{name}.schema.json"));
        let text = serde_json::to_string_pretty(&schema)? + "\n";
        std::fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(())
}
