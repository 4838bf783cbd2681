//! The truth about which agents exist.

use std::collections::HashMap;
use std::io;
use std::path::Path;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard};

use shard_protocol::{ErrorBody, RequestKey};
use shard_types::{AgentId, AgentInfo, ErrorCode, RuntimeState, SessionId};

use crate::agent::{Agent, Shared};
use crate::client::refuse;
use crate::manifest::{self, Manifest};

/// All agents, awake or not.
///
/// Behind a lock that is held to look one up or to add one: every connection reads it at each
/// command.
#[derive(Debug)]
pub(crate) struct Registry {
    shared: Arc<Shared>,
    agents: RwLock<HashMap<AgentId, Arc<Agent>>>,
}

impl Registry {
    /// Reads the records of all agents. One that cannot be read is left where it is and told in
    /// the log; the others work.
    ///
    /// # Errors
    /// When the folder of agents cannot be read.
    pub(crate) fn load(shared: Arc<Shared>) -> io::Result<Self> {
        let state_home = shared.settings.state_home.clone();
        let mut agents = HashMap::new();
        for id in stored(&state_home)? {
            match Manifest::read(&state_home, &id) {
                Ok(manifest) => {
                    let agent = Agent::new(manifest, Arc::clone(&shared), true);
                    agents.insert(id, Arc::new(agent));
                }
                Err(error) => tracing::warn!(%error, "an agent is left out"),
            }
        }
        Ok(Self {
            shared,
            agents: RwLock::new(agents),
        })
    }

    fn agents(&self) -> RwLockReadGuard<'_, HashMap<AgentId, Arc<Agent>>> {
        self.agents.read().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn get(&self, id: &AgentId) -> Option<Arc<Agent>> {
        self.agents().get(id).cloned()
    }

    /// The agent, or that there is none.
    pub(crate) fn find(&self, id: &AgentId) -> Result<Arc<Agent>, ErrorBody> {
        self.get(id).ok_or_else(|| {
            let message =
                format!("there is no agent {id}; `agent.list` lists those that there are");
            refuse(ErrorCode::NotFound, message)
        })
    }

    /// All that clients have heard of.
    pub(crate) fn announced(&self) -> Vec<Arc<Agent>> {
        let mut agents: Vec<_> = self.agents().values().cloned().collect();
        agents.retain(|agent| agent.is_announced());
        agents
    }

    /// The same as they are listed, in the order in which they were made.
    pub(crate) fn list(&self) -> Vec<AgentInfo> {
        let agents = self.announced();
        let mut infos: Vec<_> = agents.iter().map(|agent| agent.info()).collect();
        infos.sort_by(|a, b| (a.created_at, &a.agent_id).cmp(&(b.created_at, &b.agent_id)));
        infos
    }

    /// Those that may have a process.
    pub(crate) fn awake(&self) -> Vec<Arc<Agent>> {
        let agents = self.agents();
        agents
            .values()
            .filter(|it| it.is_awake())
            .cloned()
            .collect()
    }

    /// How many agents there are, and how many have a process.
    pub(crate) fn count(&self) -> (usize, usize) {
        let agents = self.agents();
        let running = agents
            .values()
            .filter(|agent| agent.runtime_state() == RuntimeState::Running)
            .count();
        (agents.len(), running)
    }

    /// The agent that owns a session.
    pub(crate) fn owner(&self, session_id: &SessionId) -> Option<Arc<Agent>> {
        self.find_by(|manifest| manifest.session_id == *session_id)
    }

    /// The agent that was made with this key.
    pub(crate) fn made_with(&self, key: &RequestKey) -> Option<Arc<Agent>> {
        self.find_by(|manifest| {
            let made_by = manifest.made_by.as_ref();
            made_by.is_some_and(|made_by| made_by.request_key == *key)
        })
    }

    fn find_by(&self, wanted: impl Fn(&Manifest) -> bool) -> Option<Arc<Agent>> {
        let agents = self.agents();
        let mut agents = agents.values();
        agents.find(|agent| agent.is(&wanted)).cloned()
    }

    /// The agents whose record is such a one, in the order in which they were made.
    pub(crate) fn all_by(&self, wanted: impl Fn(&Manifest) -> bool) -> Vec<Arc<Agent>> {
        let mut found: Vec<_> = {
            let agents = self.agents();
            let found = agents.values().filter(|agent| agent.is(&wanted));
            found.cloned().collect()
        };
        // Ids sort by creation.
        found.sort_by(|a, b| a.id.cmp(&b.id));
        found
    }

    /// Whether an agent is among them, and not one that did not come to be.
    pub(crate) fn is_kept(&self, id: &AgentId) -> bool {
        self.agents().contains_key(id)
    }

    /// Keeps a new agent, on the disk first. One that cannot be written leaves nothing behind.
    ///
    /// # Errors
    /// What the system says.
    pub(crate) async fn add(&self, manifest: Manifest) -> io::Result<Arc<Agent>> {
        let agent = Arc::new(Agent::new(manifest, Arc::clone(&self.shared), false));
        if let Err(error) = agent.save().await {
            // Best effort: where nothing can be written, there may be nothing to remove.
            _ = agent.remove().await;
            return Err(error);
        }
        let mut agents = self.agents.write().unwrap_or_else(PoisonError::into_inner);
        agents.insert(agent.id.clone(), Arc::clone(&agent));
        Ok(agent)
    }

    /// Forgets an agent that did not come to be.
    pub(crate) async fn remove(&self, id: &AgentId) {
        let removed = {
            let mut agents = self.agents.write().unwrap_or_else(PoisonError::into_inner);
            agents.remove(id)
        };
        let Some(agent) = removed else { return };
        if let Err(error) = agent.remove().await {
            tracing::warn!(agent = %id, %error, "what an agent left could not be removed");
        }
    }
}

/// The ids of the agents that have a folder.
fn stored(state_home: &Path) -> io::Result<Vec<AgentId>> {
    let entries = match std::fs::read_dir(manifest::agents_folder(state_home)) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    // Definitions of agents may lie in the same folder, as files.
    Ok(names
        .filter(|name| name.starts_with("agent-"))
        .filter_map(|name| name.parse().ok())
        .collect())
}
