//! Agent definitions: markdown files that say how an agent for one sort of task is to be. The
//! front matter has the settings, the text below is the system prompt.
//!
//! Definitions are merged by the name in their front matter. The project's stand before the
//! user's, the folder of the working directory before those above it; the user's configuration
//! before the state folder, where older installations have them.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::front_matter;
use super::{Found, Kind, Layer, Project, Roots, UNTRUSTED, listed, one_line};
use crate::known;
use crate::regular_file::read_text;

/// The longest file, in bytes.
const FILE_BYTES: usize = 64 * 1024;

/// The longest name, in characters.
const NAME_CHARS: usize = 64;

/// The keys that the front matter may have.
const KEYS: [&str; 9] = [
    "name",
    "description",
    "model",
    "mode",
    "tools",
    "skills",
    "names",
    "timeout",
    "launch_policy",
];

/// One definition.
#[derive(Debug, Clone, PartialEq)]
pub struct Definition {
    /// What it is called.
    pub name: String,
    /// What such an agent is for, on one line.
    pub description: String,
    /// `provider/model`.
    pub model: Option<String>,
    /// The mode.
    pub mode: Option<String>,
    /// Exactly these tools.
    pub tools: Option<Vec<String>>,
    /// Exactly these skills.
    pub skills: Option<Vec<String>>,
    /// Friendly names for what such an agent launches.
    pub names: Option<Vec<String>>,
    /// How long a task may take, in seconds.
    pub timeout: Option<u64>,
    /// What such an agent may launch.
    pub launch_policy: Option<DefinitionLaunchPolicy>,
    /// The system prompt.
    pub prompt: String,
    /// Where it stands.
    pub path: PathBuf,
}

/// What an agent may launch; what is left out is as the configuration has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DefinitionLaunchPolicy {
    /// Tasks in one launch.
    pub max_tasks: Option<u32>,
    /// Levels of agents below the first.
    pub max_depth: Option<u32>,
}

#[derive(Deserialize)]
struct FrontMatter {
    model: Option<String>,
    mode: Option<String>,
    tools: Option<Vec<String>>,
    skills: Option<Vec<String>>,
    names: Option<Vec<String>>,
    timeout: Option<u64>,
    launch_policy: Option<DefinitionLaunchPolicy>,
}

/// The definitions in force, by name.
pub(super) fn load(roots: &Roots, project: &Project, found: &mut Vec<Found>) -> Vec<Definition> {
    let of_project = project.places(".shard/agents");
    let folders = of_project.map(|folder| (folder, Layer::Project)).chain([
        (roots.config_dir().join("agents"), Layer::User),
        (roots.state_home.join("agents"), Layer::User),
    ]);
    let mut definitions: Vec<(Definition, PathBuf)> = Vec::new();
    for (folder, layer) in folders {
        for path in listed(&folder, Kind::Agent, layer, found) {
            if path.extension().is_none_or(|extension| extension != "md") {
                continue;
            }
            let (mut listing, definition) = look(&path, roots, layer);
            if let Some(definition) = definition {
                let same = definitions
                    .iter()
                    .find(|(other, _)| other.name == definition.name);
                match same {
                    Some((other, place)) => listing.give_way(&other.path, *place == folder),
                    None => definitions.push((definition, folder.clone())),
                }
            }
            found.push(listing);
        }
    }
    let definitions = definitions.into_iter().map(|(definition, _)| definition);
    let mut definitions: Vec<_> = definitions.collect();
    definitions.sort_by(|one, other| one.name.cmp(&other.name));
    definitions
}

fn look(path: &Path, roots: &Roots, layer: Layer) -> (Found, Option<Definition>) {
    let mut listing = Found::new(Kind::Agent, path, layer);
    if layer == Layer::Project && !roots.trust_project {
        listing.not_in_force(UNTRUSTED);
        return (listing, None);
    }
    let read = read_text(path, FILE_BYTES)
        .map_err(|error| format!("it {error}"))
        .and_then(|text| parse(&text, path, &mut listing));
    match read {
        Ok(definition) => {
            listing.name.clone_from(&definition.name);
            listing.description = Some(definition.description.clone());
            (listing, Some(definition))
        }
        Err(problem) => {
            listing.not_in_force(format!("not loaded: {problem}"));
            (listing, None)
        }
    }
}

fn parse(text: &str, path: &Path, listing: &mut Found) -> Result<Definition, String> {
    let (mut map, body) = front_matter::read(text)?;
    let name = front_matter::text(&map, "name")?;
    let fits = |c: char| c.is_alphanumeric() || "-_.".contains(c);
    if name.chars().count() > NAME_CHARS || !name.chars().all(fits) {
        return Err(format!(
            "the name in its front matter must be at most {NAME_CHARS} letters, digits and `-`, `_`, `.`"
        ));
    }
    let description = one_line(&front_matter::text(&map, "description")?);
    for key in map.keys().filter(|key| !KEYS.contains(&key.as_str())) {
        let hint = known::suggest(key, KEYS.into_iter());
        listing.warn(format!(
            "`{}` in its front matter is ignored; {hint}",
            one_line(key)
        ));
    }
    map.retain(|key, _| KEYS.contains(&key.as_str()) && key != "name" && key != "description");
    let read: FrontMatter = serde_path_to_error::deserialize(Value::Object(map.clone()))
        .map_err(|error| format!("`{}` in its front matter: {}", error.path(), error.inner()))?;
    if read.timeout == Some(0) {
        return Err("`timeout` in its front matter must be at least one second".to_owned());
    }
    listing.details = map;
    Ok(Definition {
        name,
        description,
        model: read.model,
        mode: read.mode,
        tools: read.tools,
        skills: read.skills,
        names: read.names,
        timeout: read.timeout,
        launch_policy: read.launch_policy,
        prompt: body.trim().to_owned(),
        path: path.to_owned(),
    })
}
