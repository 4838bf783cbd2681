//! `session.*`: transcripts on disk, whether or not anything runs.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use shard_protocol::{
    ErrorBody, ForkedFrom, MessagePage, SessionInfo, SessionList, SessionMessages, Sessions,
};
use shard_session::{Header, SessionError, Summary};
use shard_types::{AgentId, ErrorCode, SessionId, time};

use super::{agents, aside};
use crate::client::{Outcome, data, refuse};
use crate::daemon::Daemon;
use crate::keys::Alone;
use crate::manifest::{self, Manifest};

/// How many messages a page has when nobody says how many.
const USUAL: usize = 50;
/// How many messages a page has at most.
const MOST: usize = 500;

/// What was read of sessions for the last list, so that the next one costs a look at each file and
/// no more.
///
/// Behind a lock: lists are rare, and whoever makes one does so away from the event loop.
#[derive(Debug, Default)]
pub(crate) struct Summaries(Mutex<HashMap<PathBuf, Known>>);

#[derive(Debug)]
struct Known {
    length: u64,
    modified: SystemTime,
    summary: Summary,
}

impl Summaries {
    /// What these files say, without those that cannot be read. Files that are not among them are
    /// forgotten.
    fn of(&self, paths: Vec<PathBuf>) -> Vec<Summary> {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut before = std::mem::take(&mut *known);
        known.extend(paths.into_iter().filter_map(|path| {
            let now = Known::read(&path, before.remove(&path))?;
            Some((path, now))
        }));
        known.values().map(|it| it.summary.clone()).collect()
    }
}

impl Known {
    /// What a file says, read anew only if it has changed.
    fn read(path: &Path, before: Option<Self>) -> Option<Self> {
        let metadata = std::fs::metadata(path).ok()?;
        let (length, modified) = (metadata.len(), metadata.modified().ok()?);
        match before {
            Some(known) if (known.length, known.modified) == (length, modified) => Some(known),
            _ => Some(Self {
                length,
                modified,
                summary: shard_session::summarize(path).ok()?,
            }),
        }
    }
}

/// Where sessions are: those of agents, and those of runs without a daemon.
fn files(state_home: &Path) -> Vec<PathBuf> {
    let mut folders = vec![state_home.join("sessions")];
    let agents = std::fs::read_dir(manifest::agents_folder(state_home));
    folders.extend(agents.into_iter().flatten().flatten().map(|it| it.path()));
    let forks: Vec<_> = folders
        .iter()
        .map(|folder| folder.join(shard_session::FORKS))
        .collect();
    folders.extend(forks);
    let entries = folders
        .iter()
        .flat_map(|folder| std::fs::read_dir(folder).into_iter().flatten().flatten());
    let paths = entries.map(|entry| entry.path());
    paths
        .filter(|path| path.extension().is_some_and(|ext| ext == "jsonl"))
        .collect()
}

/// The file of a session.
fn locate(state_home: &Path, id: &SessionId) -> Option<PathBuf> {
    let name = format!("{id}.jsonl");
    files(state_home)
        .into_iter()
        .find(|path| path.file_name().is_some_and(|it| it == name.as_str()))
}

fn no_session(id: &SessionId) -> ErrorBody {
    let message = format!("there is no session {id}; `session.list` lists those that there are");
    refuse(ErrorCode::NotFound, message)
}

fn failed(error: &SessionError) -> ErrorBody {
    refuse(error.code(), error.to_string())
}

pub(super) async fn list(daemon: &Daemon, query: SessionList) -> Outcome {
    let owners: Owners = daemon
        .registry
        .announced()
        .into_iter()
        .map(|agent| agent.manifest())
        .map(|it| (it.session_id, (it.agent_id, it.title)))
        .collect();
    let state_home = daemon.shared.settings.state_home.clone();
    let summaries = Arc::clone(&daemon.summaries);
    let sessions = aside(move || {
        let wanted = query.cwd.as_deref().map(|cwd| {
            Path::new(cwd)
                .canonicalize()
                .unwrap_or_else(|_| PathBuf::from(cwd))
        });
        let forks = query.include_forks.unwrap_or(false);
        let mut sessions: Vec<SessionInfo> = summaries
            .of(files(&state_home))
            .into_iter()
            .filter(|it| {
                forks || it.forked_from.is_none() || owners.contains_key(&it.header.session_id)
            })
            .filter(|it| {
                let same = |wanted: &PathBuf| Path::new(&it.header.cwd) == wanted;
                wanted.as_ref().is_none_or(same)
            })
            .map(|summary| info(summary, &owners))
            .collect();
        sessions.sort_by(|a, b| (b.updated_at, &b.session_id).cmp(&(a.updated_at, &a.session_id)));
        Ok(sessions)
    })
    .await?;
    data(Sessions { sessions })
}

/// Whose each session is, and what it was said to be about.
type Owners = HashMap<SessionId, (AgentId, Option<String>)>;

fn info(summary: Summary, owners: &Owners) -> SessionInfo {
    let Summary {
        header,
        title,
        message_count,
        updated_at,
        forked_from,
    } = summary;
    let (agent_id, named) = owners.get(&header.session_id).cloned().unzip();
    SessionInfo {
        agent_id,
        session_id: header.session_id,
        cwd: header.cwd,
        title: named.flatten().or(title),
        created_at: header.created_at,
        updated_at,
        message_count,
        forked_from: forked_from.map(|(session_id, entry_id)| ForkedFrom {
            session_id,
            entry_id,
        }),
    }
}

pub(super) async fn messages(daemon: &Daemon, query: SessionMessages) -> Outcome {
    let SessionMessages {
        session_id,
        before,
        limit,
    } = query;
    let limit = limit.map_or(USUAL, |limit| limit as usize).min(MOST);
    if limit == 0 {
        let message = "`limit`: at least 1";
        return Err(refuse(ErrorCode::InvalidRequest, message));
    }
    let state_home = daemon.shared.settings.state_home.clone();
    let owner = daemon.registry.owner(&session_id);
    let owned = owner.map(|agent| agent.manifest().session_file(&state_home));
    let readers = Arc::clone(&daemon.readers);
    let page = aside(move || {
        let path = owned.or_else(|| locate(&state_home, &session_id));
        let path = path.ok_or_else(|| no_session(&session_id))?;
        if !path.exists() {
            // Its agent was made and has not said anything yet.
            return Ok(MessagePage::default());
        }
        let page = readers.page(&path, before.as_ref(), limit);
        match page.map_err(|error| failed(&error))? {
            Some(page) => Ok(MessagePage {
                messages: page.messages,
                has_more: page.has_more,
            }),
            None => Err(refuse(
                ErrorCode::NotFound,
                "`before`: the session has no such message",
            )),
        }
    })
    .await?;
    data(page)
}

/// Waits until nobody else is about to adopt a session.
pub(super) async fn alone<'a>(daemon: &'a Daemon, id: &SessionId) -> Alone<'a> {
    // No request key holds a space, so that none can stand in for a session.
    daemon.keys.lock(&format!("session {id}")).await
}

/// The file of a session that no agent owns, and the folder that it is about.
///
/// # Errors
/// Why it cannot be adopted.
pub(super) async fn adoptable(
    daemon: &Daemon,
    id: &SessionId,
) -> Result<(PathBuf, PathBuf), ErrorBody> {
    if daemon.registry.owner(id).is_some() {
        let message = "the session is already adopted; attach to its agent instead";
        return Err(refuse(ErrorCode::InvalidRequest, message));
    }
    let (state_home, id) = (daemon.shared.settings.state_home.clone(), id.clone());
    aside(move || {
        let path = locate(&state_home, &id).ok_or_else(|| no_session(&id))?;
        let header = Header::of_file(&path).map_err(|error| failed(&error))?;
        if header.session_id != id {
            let message = format!("the session {id} names another one in its first line");
            return Err(refuse(ErrorCode::SessionCorrupt, message));
        }
        Ok((path, header.cwd.into()))
    })
    .await
}

/// The agent that owns a session; one is made for a session that none owns.
///
/// # Errors
/// Why there is none and none can be made.
pub(crate) async fn activate(daemon: &Daemon, id: &SessionId) -> Result<AgentId, ErrorBody> {
    let _alone = alone(daemon, id).await;
    if let Some(agent) = daemon.registry.owner(id) {
        return Ok(agent.id.clone());
    }
    let (path, cwd) = adoptable(daemon, id).await?;
    let manifest = Manifest {
        session_path: Some(path),
        headless_policy: daemon.shared.tuning.borrow().headless_policy,
        ..Manifest::new(AgentId::generate(), id.clone(), cwd, time::now_ms())
    };
    let agent = agents::keep(daemon, manifest).await?;
    agent.announce();
    Ok(agent.id.clone())
}
