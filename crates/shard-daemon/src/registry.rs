//! The truth about which agents exist.

use std::collections::HashMap;
use std::io;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard};

use shard_protocol::{ErrorBody, RequestKey};
use shard_types::{AgentId, AgentInfo, ErrorCode, RuntimeState, SessionId};

use crate::agent::{Agent, Shared};
use crate::client::refuse;
use crate::manifest::Manifest;
use crate::metrics;
use crate::migration;
use crate::stored::Stored;

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
    /// Takes in the records of all agents, with those of older installations. One that cannot be read is left where it is and told
    /// in the log; the others work.
    ///
    /// # Errors
    /// When the folder of agents cannot be read.
    pub(crate) fn load(shared: Arc<Shared>) -> io::Result<Self> {
        let settings = &shared.settings;
        let mut stored = Stored::read(&settings.state_home)?;
        let policy = shared.tuning.borrow().headless_policy;
        migration::migrate(&settings.state_home, policy, &mut stored).log();
        let Stored {
            manifests,
            left_out,
        } = stored;
        for error in left_out {
            tracing::warn!(%error, "an agent is left out; `shard doctor` says what to do");
        }
        let agents = manifests.into_iter().map(|manifest| {
            let agent = Agent::new(manifest, Arc::clone(&shared), true);
            (agent.id.clone(), Arc::new(agent))
        });
        let agents: HashMap<_, _> = agents.collect();
        for agent in agents.values() {
            let parent = agent.manifest().managed.parent_agent_id;
            if let Some(parent) = parent.and_then(|id| agents.get(&id)) {
                agent.descend_from(Arc::clone(parent));
            }
        }
        Ok(Self {
            agents: RwLock::new(agents),
            shared,
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

    /// How many agents stand where, and how many of their questions wait.
    pub(crate) fn count(&self) -> (metrics::Agents, usize) {
        let (mut agents, mut asks_open) = (metrics::Agents::default(), 0);
        for agent in self.agents().values() {
            asks_open += agent.asks_open();
            match agent.runtime_state() {
                RuntimeState::Stopped => agents.stopped += 1,
                RuntimeState::Starting => agents.starting += 1,
                RuntimeState::Running => agents.running += 1,
                RuntimeState::Failed => agents.failed += 1,
            }
        }
        (agents, asks_open)
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
        let parent = manifest.managed.parent_agent_id.clone();
        let agent = Arc::new(Agent::new(manifest, Arc::clone(&self.shared), false));
        if let Some(parent) = parent.and_then(|id| self.get(&id)) {
            agent.descend_from(parent);
        }
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
