//! The durable record of an Agent: who it is, whatever process serves it.
//!
//! The daemon writes it; the process that serves the Agent reads it at its start.

use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use shard_protocol::{LaunchPolicy, RequestKey};
use shard_types::{AgentId, HeadlessPolicy, SessionId, Usage, WorkspaceId};

use crate::state_file;

/// The version of the format that this build writes and reads.
const VERSION: u32 = 1;

/// Largest record that is read, in bytes. The system prompt of a managed child is the largest part.
const MAX_BYTES: u64 = 1 << 20;

/// `agents/<agent_id>/manifest.json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    /// Version of this format.
    pub version: u32,
    /// Which agent.
    pub agent_id: AgentId,
    /// Its session.
    pub session_id: SessionId,
    /// Where that session is, if not beside this file: it was adopted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_path: Option<PathBuf>,
    /// The folder it works in, symlinks resolved.
    pub cwd: PathBuf,
    /// The workspace that it was made for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace_id: Option<WorkspaceId>,
    /// What its owner calls it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// What its owner says that its session is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// `provider/model`, as it last was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The mode, as it last was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<String>,
    /// Exactly these tools.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tools: Option<Vec<String>>,
    /// Exactly these skills.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub skills: Option<Vec<String>>,
    /// What happens to questions when nobody is there.
    pub headless_policy: HeadlessPolicy,
    /// Milliseconds since the epoch.
    pub created_at: u64,
    /// What it has used so far.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// What only a managed child has.
    #[serde(flatten)]
    pub managed: Managed,
    /// The command that made it, against making it twice.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub made_by: Option<MadeBy>,
}

/// What an agent has that another one launched.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Managed {
    /// Who launched it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent_agent_id: Option<AgentId>,
    /// Its system prompt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub system_prompt: Option<String>,
    /// Its depth; 0 for a root.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub depth: Option<u32>,
    /// What it may launch itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub launch_policy: Option<LaunchPolicy>,
    /// Its friendly name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub alias: Option<String>,
    /// The definition that it was launched from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub definition_name: Option<String>,
    /// `definition · alias`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub display_name: Option<String>,
    /// Friendly names for what it launches.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub names: Option<Vec<String>>,
}

/// The command that made an agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MadeBy {
    /// The sender's key.
    pub request_key: RequestKey,
    /// Digest of what was asked for: the same key for something else is a conflict.
    pub body: String,
    /// It was told that the agent is there. Before that, the same command tries again.
    #[serde(default)]
    pub answered: bool,
}

/// Why a record cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ManifestError {
    /// The file cannot be read.
    #[error("cannot read {path}: {source}")]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// It is no record of this agent.
    #[error("{path} is no record of an agent: {reason}; it is left as it is")]
    Corrupt {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// Another build wrote it.
    #[error(
        "{path} has version {version}, and this build reads version {VERSION}; it is left as it is"
    )]
    Version {
        /// The file.
        path: PathBuf,
        /// Its version.
        version: u32,
    },
}

impl ManifestError {
    /// The file that it is about.
    #[must_use]
    pub fn path(&self) -> &Path {
        match self {
            Self::Io { path, .. } | Self::Corrupt { path, .. } | Self::Version { path, .. } => path,
        }
    }
}

/// What every version of the format has.
#[derive(Deserialize)]
struct Versioned {
    version: u32,
}

impl Manifest {
    /// A record with what every agent has.
    #[must_use]
    pub fn new(agent_id: AgentId, session_id: SessionId, cwd: PathBuf, created_at: u64) -> Self {
        Self {
            version: VERSION,
            agent_id,
            session_id,
            session_path: None,
            cwd,
            workspace_id: None,
            name: None,
            title: None,
            model: None,
            mode: None,
            tools: None,
            skills: None,
            headless_policy: HeadlessPolicy::default(),
            created_at,
            usage: None,
            managed: Managed::default(),
            made_by: None,
        }
    }

    /// Reads the record of an agent.
    ///
    /// # Errors
    /// When it is not there, cannot be read, or is not one of this agent and version.
    pub fn read(state_home: &Path, agent_id: &AgentId) -> Result<Self, ManifestError> {
        let path = path(state_home, agent_id);
        let bytes = match state_file::read(&path, MAX_BYTES) {
            Ok(bytes) => bytes,
            Err(source) => return Err(ManifestError::Io { path, source }),
        };
        // Before all else: what another version holds may not fit into this one's fields.
        match serde_json::from_slice(&bytes) {
            Ok(Versioned { version }) if version != VERSION => {
                return Err(ManifestError::Version { path, version });
            }
            _ => {}
        }
        let read: Result<Self, String> =
            serde_json::from_slice(&bytes).map_err(|error| error.to_string());
        let checked = read.and_then(|manifest| {
            if manifest.agent_id == *agent_id {
                Ok(manifest)
            } else {
                Err("it names another agent".to_owned())
            }
        });
        checked.map_err(|reason| ManifestError::Corrupt { path, reason })
    }

    /// Writes the record; safe on the disk when this returns.
    ///
    /// # Errors
    /// What the system says; the file is as it was.
    pub fn write(&self, state_home: &Path) -> io::Result<()> {
        let json = serde_json::to_vec_pretty(self)?;
        state_file::make_folder(&folder(state_home, &self.agent_id))?;
        state_file::replace(&path(state_home, &self.agent_id), &json)
    }

    /// The session's file.
    #[must_use]
    pub fn session_file(&self, state_home: &Path) -> PathBuf {
        match &self.session_path {
            Some(path) => path.clone(),
            None => folder(state_home, &self.agent_id).join(format!("{}.jsonl", self.session_id)),
        }
    }

    /// Where the agent's standing permissions are kept.
    #[must_use]
    pub fn grants_file(&self, state_home: &Path) -> PathBuf {
        folder(state_home, &self.agent_id).join("permission-grants.json")
    }
}

/// The folder of all agents.
pub(crate) fn agents_folder(state_home: &Path) -> PathBuf {
    state_home.join("agents")
}

/// The folder of one agent.
pub(crate) fn folder(state_home: &Path, agent_id: &AgentId) -> PathBuf {
    agents_folder(state_home).join(agent_id.as_str())
}

/// The record of one agent.
pub(crate) fn path(state_home: &Path, agent_id: &AgentId) -> PathBuf {
    folder(state_home, agent_id).join("manifest.json")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_read_as_it_was_written_and_another_one_is_refused() {
        let home = tempfile::tempdir().unwrap();
        let id: AgentId = "agent-1".parse().unwrap();
        let mut manifest = Manifest::new(
            id.clone(),
            "session-1".parse().unwrap(),
            "/w".into(),
            1_700_000_000_000,
        );
        manifest.managed.alias = Some("Juniper".to_owned());
        manifest.write(home.path()).unwrap();
        assert_eq!(Manifest::read(home.path(), &id).unwrap(), manifest);
        let text = std::fs::read_to_string(path(home.path(), &id)).unwrap();
        for (from, to, reason) in [
            ("\"version\": 1", "\"version\": 2", "version 2"),
            ("\"version\": 1", "\"version\": 9, \"cwd\": {}", "version 9"),
            ("\"agent-1\"", "\"agent-2\"", "names another agent"),
            ("{", "", "no record of an agent"),
        ] {
            std::fs::write(path(home.path(), &id), text.replacen(from, to, 1)).unwrap();
            let error = Manifest::read(home.path(), &id).unwrap_err().to_string();
            assert!(error.contains(reason), "{error}");
        }
    }
}
