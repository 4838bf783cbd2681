//! `agent.create`, `agent.status`, `agent.rename`.

use std::path::PathBuf;
use std::sync::Arc;

use serde::Serialize;
use shard_protocol::{AgentCreate, AgentCreated, Agents, ErrorBody, Renamed, RequestKey};
use shard_types::{AgentId, ErrorCode, SessionId, WorkspaceId, time};

use super::{aside, sessions};
use crate::agent::Agent;
use crate::client::{Outcome, data, refuse};
use crate::daemon::Daemon;
use crate::digest::sha256_hex;
use crate::manifest::{MadeBy, Managed, Manifest};

/// Longest name of an agent, in characters.
const MAX_NAME: usize = 100;

pub(super) fn status(daemon: &Daemon, agent_id: Option<&AgentId>) -> Outcome {
    let agents = match agent_id {
        Some(id) => vec![daemon.registry.find(id)?.info()],
        None => daemon.registry.list(),
    };
    data(Agents { agents })
}

/// Makes an agent and starts its process. With a `request_key` it is made once, however often it
/// is asked for; a process that did not start is tried again.
pub(super) async fn create(daemon: &Daemon, wish: AgentCreate) -> Outcome {
    let Some(key) = wish.request_key.clone() else {
        let agent = make(daemon, wish, Origin::default()).await?;
        return start(daemon, &agent).await;
    };
    let body = digest(&AgentCreate {
        request_key: None,
        ..wish.clone()
    });
    let _alone = daemon.keys.lock(key.as_str()).await;
    let made_by = match earlier(daemon, key, body)? {
        Earlier::Answered(agent) => {
            return data(AgentCreated {
                agent_id: agent.id.clone(),
                duplicate: true,
            });
        }
        Earlier::Unanswered(agent) => return start_once(daemon, &agent).await,
        Earlier::Never(made_by) => Some(made_by),
    };
    let origin = Origin {
        made_by,
        ..Origin::default()
    };
    let agent = make(daemon, wish, origin).await?;
    start_once(daemon, &agent).await
}

/// What became of a key so far. To be asked while its lock is held.
pub(super) enum Earlier {
    /// An agent was made with it, and that was told.
    Answered(Arc<Agent>),
    /// An agent was made with it, whose process did not start yet.
    Unanswered(Arc<Agent>),
    /// Nothing; this is what an agent that is made now is to note.
    Never(MadeBy),
}

/// Looks whether a key was used, for a body of this digest.
///
/// # Errors
/// When it was used for something else.
pub(super) fn earlier(
    daemon: &Daemon,
    request_key: RequestKey,
    body: String,
) -> Result<Earlier, ErrorBody> {
    let Some(agent) = daemon.registry.made_with(&request_key) else {
        return Ok(Earlier::Never(MadeBy {
            request_key,
            body,
            answered: false,
        }));
    };
    match agent.manifest().made_by {
        Some(made_by) if made_by.body != body => {
            let message = "`request_key` was used for another agent; make a new one";
            Err(refuse(ErrorCode::Conflict, message))
        }
        Some(made_by) if made_by.answered => Ok(Earlier::Answered(agent)),
        _ => Ok(Earlier::Unanswered(agent)),
    }
}

/// Starts the process of an agent that was made with a key, and notes that this was answered.
pub(super) async fn start_once(daemon: &Daemon, agent: &Arc<Agent>) -> Outcome {
    let answer = start(daemon, agent).await?;
    agent.update(|record| {
        if let Some(made_by) = &mut record.manifest.made_by {
            made_by.answered = true;
        }
    });
    let saved = agent.save().await;
    saved.map_err(|error| refuse(ErrorCode::InternalError, error.to_string()))?;
    Ok(answer)
}

/// What was asked for; `wish` is without its key.
pub(super) fn digest(wish: &impl Serialize) -> String {
    // Plain data cannot fail to print.
    let json = serde_json::to_vec(wish).unwrap_or_default();
    sha256_hex(&json)
}

/// What an agent comes from, beside the wish for it.
#[derive(Debug, Default)]
pub(super) struct Origin {
    pub(super) made_by: Option<MadeBy>,
    pub(super) workspace_id: Option<WorkspaceId>,
    pub(super) title: Option<String>,
}

pub(super) async fn make(
    daemon: &Daemon,
    wish: AgentCreate,
    origin: Origin,
) -> Result<Arc<Agent>, ErrorBody> {
    let cwd = working_folder(&wish.cwd).await?;
    let name = wish.name.as_deref().map(|name| checked_name("name", name));
    let name = name.transpose()?;
    if let Some(parent) = &wish.parent_agent_id {
        daemon.registry.find(parent)?;
    }
    let model = match (wish.provider, wish.model) {
        (Some(provider), Some(model)) if !model.contains('/') => {
            Some(format!("{provider}/{model}"))
        }
        (Some(_), None) => {
            let message = "`provider` needs a `model`";
            return Err(refuse(ErrorCode::InvalidRequest, message));
        }
        (_, model) => model,
    };
    // Held until the agent is in the registry: two must not find the same session free.
    let (adopted, _alone) = match &wish.session_id {
        Some(id) => {
            let alone = sessions::alone(daemon, id).await;
            let (path, _) = sessions::adoptable(daemon, id).await?;
            (Some(path), Some(alone))
        }
        None => (None, None),
    };
    let session_id = wish.session_id.unwrap_or_else(SessionId::generate);
    let manifest = Manifest {
        session_path: adopted,
        workspace_id: origin.workspace_id,
        name,
        title: origin.title,
        model,
        mode: wish.mode,
        tools: wish.tools,
        skills: wish.skills,
        headless_policy: wish
            .headless_policy
            .unwrap_or_else(|| daemon.shared.tuning.borrow().headless_policy),
        // What else a managed child has is the daemon's to say, not a client's.
        managed: Managed {
            parent_agent_id: wish.parent_agent_id,
            ..Managed::default()
        },
        made_by: origin.made_by,
        ..Manifest::new(AgentId::generate(), session_id, cwd, time::now_ms())
    };
    keep(daemon, manifest).await
}

/// Puts a new agent into the registry.
pub(super) async fn keep(daemon: &Daemon, manifest: Manifest) -> Result<Arc<Agent>, ErrorBody> {
    let kept = daemon.registry.add(manifest).await;
    kept.map_err(|error| {
        let message = format!("the record of the agent could not be written: {error}");
        refuse(ErrorCode::InternalError, message)
    })
}

/// Starts an agent's process. One that asks for something that is not there is not kept.
pub(super) async fn start(daemon: &Daemon, agent: &Arc<Agent>) -> Outcome {
    match agent.started().await {
        Ok(()) => {
            agent.announce();
            data(AgentCreated {
                agent_id: agent.id.clone(),
                duplicate: false,
            })
        }
        Err(error) if error.code == ErrorCode::NotFound && !agent.is_announced() => {
            daemon.registry.remove(&agent.id).await;
            Err(error)
        }
        Err(mut error) => {
            agent.announce();
            let data = error.data.get_or_insert_with(|| serde_json::json!({}));
            data["agent_id"] = serde_json::json!(agent.id);
            Err(error)
        }
    }
}

pub(super) async fn rename(daemon: &Daemon, agent_id: &AgentId, name: String) -> Outcome {
    let agent = daemon.registry.find(agent_id)?;
    let name = checked_name("name", &name)?;
    let mut earlier = None;
    agent.update(|record| earlier = record.manifest.name.replace(name));
    if let Err(error) = agent.save().await {
        agent.update(|record| record.manifest.name = earlier);
        let message = format!("the name of {agent_id} could not be written: {error}");
        return Err(refuse(ErrorCode::InternalError, message));
    }
    agent.tell_status();
    data(Renamed {
        agent: agent.info(),
    })
}

/// A name that a list can show; `field` is what it was sent as.
pub(super) fn checked_name(field: &str, name: &str) -> Result<String, ErrorBody> {
    let name = name.trim();
    let fits = (1..=MAX_NAME).contains(&name.chars().count());
    if fits && !name.chars().any(char::is_control) {
        return Ok(name.to_owned());
    }
    let message = format!("`{field}` must be 1 to {MAX_NAME} characters on one line");
    Err(refuse(ErrorCode::InvalidRequest, message))
}

/// The folder to work in: absolute, there, and readable.
pub(super) async fn working_folder(cwd: &str) -> Result<PathBuf, ErrorBody> {
    let bad = |why: String| refuse(ErrorCode::InvalidRequest, format!("`cwd`: {why}"));
    let path = PathBuf::from(cwd);
    if !path.is_absolute() {
        return Err(bad(format!("{cwd:?} is not an absolute path")));
    }
    aside(move || {
        let looked = path.canonicalize().and_then(|real| {
            // Reading the list is what tells a folder that may be entered from one that may not.
            std::fs::read_dir(&real)?;
            Ok(real)
        });
        looked.map_err(|error| {
            bad(format!(
                "cannot work in {path:?}: {error}; name an existing folder"
            ))
        })
    })
    .await
}
