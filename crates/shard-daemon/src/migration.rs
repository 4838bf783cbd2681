//! `agents.json`, in which older installations kept their agents: read once, and each agent in it
//! gets a record of its own.
//!
//! The file is renamed when every record is on the disk, and not before, so a daemon that dies
//! meanwhile begins again where it was: an agent that has a record is passed over. Nothing is ever
//! deleted, and no session is moved.

use std::collections::{HashMap, HashSet};
use std::io;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::Value;
use shard_types::{AgentId, HeadlessPolicy, SessionId, Usage, time};

use crate::manifest::{self, Managed, Manifest};
use crate::state_file;
use crate::stored::Stored;

/// Largest file that is read, in bytes.
const MAX_FILE: u64 = 64 << 20;

/// How deep below the state home sessions are looked for.
const DEPTH: usize = 4;

/// What holds the files of other people's projects, and no sessions.
const NOT_OURS: &str = "worktrees";

/// What it is called when it was read.
const DONE: &str = "agents.json.migrated";

/// What it is called when nothing in it can be read.
const SET_ASIDE: &str = "agents.json.unusable";

/// What became of the file.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Migration {
    /// The agents that have a record now.
    pub(crate) taken: Vec<AgentId>,
    /// What could not be taken over and why, one by one.
    pub(crate) problems: Vec<String>,
}

impl Migration {
    /// Tells what became of the file, if it was there.
    pub(crate) fn log(&self) {
        for problem in &self.problems {
            tracing::warn!("{problem}");
        }
        if !self.taken.is_empty() {
            tracing::info!(agents = self.taken.len(), "taken over from agents.json");
        }
    }
}

/// One agent of the file, with the fields that a record needs.
#[derive(Debug, Deserialize)]
struct Entry {
    agent_id: AgentId,
    #[serde(default)]
    session_id: Option<SessionId>,
    cwd: PathBuf,
    #[serde(default)]
    name: Option<String>,
    #[serde(default)]
    model: Option<String>,
    #[serde(default)]
    provider: Option<String>,
    #[serde(default)]
    mode: Option<String>,
    #[serde(default)]
    created_at: Option<u64>,
    #[serde(default)]
    usage: Option<Usage>,
    #[serde(default)]
    parent_agent_id: Option<AgentId>,
    #[serde(default)]
    alias: Option<String>,
    #[serde(default)]
    definition_name: Option<String>,
    #[serde(default)]
    display_name: Option<String>,
}

/// Takes over what is in `agents.json`, if it is there, and adds it to what is stored. Blocks.
pub(crate) fn migrate(
    state_home: &Path,
    headless_policy: HeadlessPolicy,
    stored: &mut Stored,
) -> Migration {
    let path = state_home.join("agents.json");
    let mut migration = Migration::default();
    let problem = |text: String| format!("{}: {text}", path.display());
    let entries = match state_file::read(&path, MAX_FILE) {
        Ok(bytes) => entries(&bytes),
        Err(error) => match error.kind() {
            io::ErrorKind::NotFound => return migration,
            io::ErrorKind::FileTooLarge | io::ErrorKind::IsADirectory => Err(error.to_string()),
            _ => {
                let text =
                    format!("cannot be read: {error}; it is looked at again at the next start");
                migration.problems.push(problem(text));
                return migration;
            }
        },
    };
    let name = match entries {
        Ok(entries) => match take(
            state_home,
            headless_policy,
            &entries,
            stored,
            &mut migration,
        ) {
            Ok(()) => DONE,
            Err(error) => {
                let text = format!("{error}; the rest is taken over at the next start");
                migration.problems.push(problem(text));
                return migration;
            }
        },
        Err(why) => {
            let text = format!("is no list of agents: {why}; it is kept as {SET_ASIDE}");
            migration.problems.push(problem(text));
            SET_ASIDE
        }
    };
    if let Err(error) = rename(&path, &state_home.join(name)) {
        migration
            .problems
            .push(problem(format!("cannot be renamed to {name}: {error}")));
    }
    migration
}

fn entries(bytes: &[u8]) -> Result<Vec<Value>, String> {
    #[derive(Deserialize)]
    struct File {
        agents: Vec<Value>,
    }
    let file: Result<File, _> = serde_json::from_slice(bytes);
    file.map(|file| file.agents)
        .map_err(|error| error.to_string())
}

/// Makes a record of each agent that has none.
///
/// # Errors
/// When one cannot be written.
fn take(
    state_home: &Path,
    headless_policy: HeadlessPolicy,
    entries: &[Value],
    stored: &mut Stored,
    migration: &mut Migration,
) -> io::Result<()> {
    let known = stored.manifests.iter().map(|it| it.agent_id.clone());
    let mut known: HashSet<AgentId> = known.collect();
    let owned = stored.manifests.iter();
    let mut owners: HashMap<SessionId, AgentId> = owned
        .map(|it| (it.session_id.clone(), it.agent_id.clone()))
        .collect();
    let mut sessions = None;
    for (index, entry) in entries.iter().enumerate() {
        let mut refuse = |why: String| {
            let text = format!("agents.json: entry {index} is not taken over: {why}");
            migration.problems.push(text);
        };
        let entry = match Entry::deserialize(entry) {
            Ok(entry) => entry,
            Err(error) => {
                refuse(error.to_string());
                continue;
            }
        };
        if known.contains(&entry.agent_id) {
            // Made by a daemon that died before it was through, or named twice.
            if migration.taken.contains(&entry.agent_id) {
                refuse(format!("{} is there twice", entry.agent_id));
            }
            continue;
        }
        let sessions = sessions.get_or_insert_with(|| session_files(state_home));
        match manifest(state_home, headless_policy, entry, sessions, &owners) {
            Ok(manifest) => {
                manifest.write(state_home)?;
                known.insert(manifest.agent_id.clone());
                owners.insert(manifest.session_id.clone(), manifest.agent_id.clone());
                migration.taken.push(manifest.agent_id.clone());
                stored.manifests.push(manifest);
            }
            Err(why) => refuse(why),
        }
    }
    Ok(())
}

fn manifest(
    state_home: &Path,
    headless_policy: HeadlessPolicy,
    entry: Entry,
    sessions: &HashMap<SessionId, PathBuf>,
    owners: &HashMap<SessionId, AgentId>,
) -> Result<Manifest, String> {
    let id = entry.agent_id;
    if manifest::path(state_home, &id).exists() {
        return Err(format!("{id} has a record that cannot be read"));
    }
    if !entry.cwd.is_absolute() {
        return Err(format!(
            "the folder of {id} is not absolute: {:?}",
            entry.cwd
        ));
    }
    let session_id = entry.session_id.unwrap_or_else(SessionId::generate);
    if let Some(owner) = owners.get(&session_id) {
        return Err(format!("the session of {id} belongs to {owner}"));
    }
    let cwd = entry.cwd.canonicalize().unwrap_or(entry.cwd);
    let created_at = entry.created_at.unwrap_or_else(time::now_ms);
    let usual = Manifest::new(id, session_id, cwd, created_at);
    let found = sessions.get(&usual.session_id);
    let elsewhere = found.filter(|path| **path != usual.session_file(state_home));
    Ok(Manifest {
        session_path: elsewhere.cloned(),
        name: entry.name,
        model: match (entry.provider, entry.model) {
            (Some(provider), Some(model)) => Some(format!("{provider}/{model}")),
            (_, model) => model,
        },
        mode: entry.mode,
        headless_policy,
        usage: entry.usage,
        managed: Managed {
            parent_agent_id: entry.parent_agent_id,
            alias: entry.alias,
            definition_name: entry.definition_name,
            display_name: entry.display_name,
            ..Managed::default()
        },
        ..usual
    })
}

/// Every session below the state home, wherever it lies. Links are not followed.
fn session_files(state_home: &Path) -> HashMap<SessionId, PathBuf> {
    let mut found = HashMap::new();
    let mut folders = vec![(state_home.to_owned(), 0)];
    while let Some((folder, depth)) = folders.pop() {
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            let path = entry.path();
            match entry.file_type() {
                Ok(kind) if kind.is_dir() && depth < DEPTH && entry.file_name() != NOT_OURS => {
                    folders.push((path, depth + 1));
                }
                Ok(kind) if kind.is_file() && path.extension().is_some_and(|it| it == "jsonl") => {
                    let stem = path.file_stem().and_then(|stem| stem.to_str());
                    if let Some(Ok(id)) = stem.map(str::parse) {
                        found.insert(id, path);
                    }
                }
                _ => {}
            }
        }
    }
    found
}

/// Gives the file another name, without taking one that is there.
fn rename(from: &Path, to: &Path) -> io::Result<()> {
    let mut free = to.to_owned();
    for number in 2.. {
        if free.symlink_metadata().is_err() {
            break;
        }
        free.clone_from(&PathBuf::from(format!("{}-{number}", to.display())));
    }
    std::fs::rename(from, free)
}

#[cfg(test)]
mod tests;
