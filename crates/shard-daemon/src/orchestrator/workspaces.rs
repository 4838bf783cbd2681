//! `workspace.*`: worktrees, and the agents that work in them.

use std::sync::Arc;

use shard_protocol::{
    AgentCreate, DaemonEvent, ErrorBody, RequestKey, Workspace, WorkspaceAttach, WorkspaceAttached,
    WorkspaceConflict, WorkspaceCreate, WorkspaceCreated, WorkspaceData, WorkspaceList,
    WorkspaceRefusalKind, WorkspaceRetire, WorkspaceRetired, WorkspaceStatus, Workspaces,
};
use shard_types::{
    AgentId, AgentStatus, ErrorCode, HeadlessPolicy, RuntimeState, SessionId, WorkspaceId,
};

use super::agents::{self, Earlier, Origin, checked_name, digest, working_folder};
use super::aside;
use crate::agent::Agent;
use crate::client::{Outcome, data, refuse};
use crate::daemon::Daemon;
use crate::manifest::MadeBy;
use crate::workspaces::{Detail, Record, Step};

/// How many agents a refusal names.
const NAMED: usize = 3;

/// What `workspace.create` and `workspace.attach` say of the agent.
struct AgentWish {
    title: Option<String>,
    name: Option<String>,
    model: Option<String>,
    provider: Option<String>,
    mode: Option<String>,
}

pub(super) async fn create(daemon: &Daemon, mut wish: WorkspaceCreate) -> Outcome {
    checked_version(wish.version)?;
    let key = wish.request_key.take();
    let body = digest(&("workspace.create", &wish));
    once(daemon, key, body, async |made_by| {
        let label = wish.label.as_deref();
        wish.label = label.map(|it| checked_name("label", it)).transpose()?;
        let agent = AgentWish {
            title: wish.title.take(),
            name: wish.name.take(),
            model: wish.model.take(),
            provider: wish.provider.take(),
            mode: wish.mode.take(),
        };
        agent.check()?;
        let cwd = working_folder(&wish.cwd).await?;
        let workspaces = &daemon.shared.workspaces;
        let (record, _entered) = workspaces.create(&cwd, &wish).await?;
        let made = agent.make(daemon, &record, made_by).await;
        let agent = match made {
            Ok(agent) => agent,
            Err(error) => {
                workspaces.give_up(&record).await?;
                return Err(error);
            }
        };
        let active = workspaces.finished(&record).await?;
        let started = start(daemon, &agent).await;
        if !daemon.registry.is_kept(&agent.id) {
            // What it was to be made of is not there, so that it was not kept.
            workspaces.give_up(&record).await?;
            return started;
        }
        let workspace = summary(daemon, &active);
        let (created, restored) = (record.step == Step::Creating, agent.manifest().session_id);
        tell(
            daemon,
            match created {
                true => WorkspaceCreated { workspace }.into(),
                false => attached(workspace, &agent.id, restored),
            },
        );
        started
    })
    .await
}

pub(super) async fn attach(daemon: &Daemon, mut wish: WorkspaceAttach) -> Outcome {
    checked_version(wish.version)?;
    let key = wish.request_key.take();
    let body = digest(&("workspace.attach", &wish));
    once(daemon, key, body, async |made_by| {
        let agent = AgentWish {
            title: wish.title,
            name: wish.name,
            model: wish.model,
            provider: wish.provider,
            mode: wish.mode,
        };
        agent.check()?;
        let workspaces = &daemon.shared.workspaces;
        let entered = workspaces.attach(&wish.workspace_id).await;
        if entered.is_err() {
            tell_conflict(daemon, &wish.workspace_id).await;
        }
        let (record, _entered) = entered?;
        let agent = agent.make(daemon, &record, made_by).await?;
        let started = start(daemon, &agent).await;
        if daemon.registry.is_kept(&agent.id) {
            let session_id = agent.manifest().session_id;
            tell(
                daemon,
                attached(summary(daemon, &record), &agent.id, session_id),
            );
        }
        started
    })
    .await
}

pub(super) async fn list(daemon: &Daemon, query: WorkspaceList) -> Outcome {
    checked_version(query.version)?;
    let workspaces = &daemon.shared.workspaces;
    let common = match &query.cwd {
        Some(cwd) => Some(
            workspaces
                .repository(&working_folder(cwd).await?)
                .await?
                .common,
        ),
        None => None,
    };
    let retired = query.include_retired.unwrap_or(false);
    let listed = workspaces.all().into_iter().filter(|record| {
        let here = common
            .as_ref()
            .is_none_or(|common| record.common == *common);
        here && (retired || record.step != Step::Retired)
    });
    let listed = listed.map(|record| (ids(&agents_of(daemon, &record)), record));
    let listed: Vec<_> = listed.collect();
    let workspaces = aside(move || {
        let summary =
            |(agents, record): (_, Record)| record.view(agents, record.conflict(), Detail::Summary);
        Ok(listed.into_iter().map(summary).collect())
    });
    data(Workspaces {
        workspaces: workspaces.await?,
    })
}

pub(super) async fn status(daemon: &Daemon, query: WorkspaceStatus) -> Outcome {
    checked_version(query.version)?;
    let record = daemon.shared.workspaces.find(&query.workspace_id)?;
    tell_conflict(daemon, &query.workspace_id).await;
    data(detail(daemon, &record).await)
}

pub(super) async fn retire(daemon: &Daemon, wish: WorkspaceRetire) -> Outcome {
    checked_version(wish.version)?;
    let workspaces = &daemon.shared.workspaces;
    let before = workspaces.find(&wish.workspace_id)?;
    let disposition = wish.branch_disposition.unwrap_or_default();
    let occupied = |record: &Record| occupied(&agents_of(daemon, record));
    let retired = workspaces.retire(&wish.workspace_id, disposition, occupied);
    let retired = retired.await;
    if retired.is_err() {
        tell_conflict(daemon, &wish.workspace_id).await;
    }
    let retired = retired?;
    if before.step != Step::Retired {
        let workspace = summary(daemon, &retired);
        tell(daemon, WorkspaceRetired { workspace }.into());
    }
    data(detail(daemon, &retired).await)
}

/// Does something that makes an agent; with a key only once, however often it is asked for.
async fn once(
    daemon: &Daemon,
    key: Option<RequestKey>,
    body: String,
    make: impl AsyncFnOnce(Option<MadeBy>) -> Outcome,
) -> Outcome {
    let Some(key) = key else {
        return make(None).await;
    };
    let _alone = daemon.keys.lock(key.as_str()).await;
    match agents::earlier(daemon, key, body)? {
        Earlier::Answered(agent) => {
            let mut answer = answer(daemon, &agent).await?;
            answer.duplicate = true;
            data(answer)
        }
        Earlier::Unanswered(agent) => start(daemon, &agent).await,
        Earlier::Never(made_by) => make(Some(made_by)).await,
    }
}

impl AgentWish {
    /// Before anything is made of which an agent is to work.
    fn check(&self) -> Result<(), ErrorBody> {
        for (field, text) in [("title", &self.title), ("name", &self.name)] {
            text.as_deref()
                .map(|it| checked_name(field, it))
                .transpose()?;
        }
        match (&self.provider, &self.model) {
            (Some(_), None) => {
                let message = "`provider` needs a `model`";
                Err(refuse(ErrorCode::InvalidRequest, message))
            }
            _ => Ok(()),
        }
    }

    /// A new agent at the root of the worktree.
    async fn make(
        self,
        daemon: &Daemon,
        record: &Record,
        made_by: Option<MadeBy>,
    ) -> Result<Arc<Agent>, ErrorBody> {
        let title = self.title.as_deref();
        let origin = Origin {
            made_by,
            workspace_id: Some(record.workspace_id.clone()),
            title: title.map(|it| checked_name("title", it)).transpose()?,
        };
        let wish = AgentCreate {
            cwd: record.cwd.to_string_lossy().into_owned(),
            session_id: None,
            model: self.model,
            provider: self.provider,
            mode: self.mode,
            tools: None,
            skills: None,
            // Whoever makes a worktree for it comes back to it.
            headless_policy: Some(HeadlessPolicy::Queue),
            name: self.name,
            parent_agent_id: None,
            system_prompt: None,
            depth: None,
            launch_policy: None,
            alias: None,
            definition_name: None,
            display_name: None,
            names: None,
            request_key: None,
        };
        agents::make(daemon, wish, origin).await
    }
}

/// Starts the process of an agent that is there, and tells how things stand with it.
async fn start(daemon: &Daemon, agent: &Arc<Agent>) -> Outcome {
    let keyed = agent.is(|manifest| manifest.made_by.is_some());
    let workspace_id = agent.manifest().workspace_id;
    let started = match keyed {
        true => agents::start_once(daemon, agent).await,
        false => agents::start(daemon, agent).await,
    };
    if let Err(mut error) = started {
        if let Some(data) = error.data.as_mut().filter(|_| workspace_id.is_some()) {
            data["workspace_id"] = serde_json::json!(workspace_id);
        }
        return Err(error);
    }
    data(answer(daemon, agent).await?)
}

/// What is answered about an agent that was made.
async fn answer(daemon: &Daemon, agent: &Agent) -> Result<WorkspaceData, ErrorBody> {
    let manifest = agent.manifest();
    let Some(workspace_id) = &manifest.workspace_id else {
        let message = "`request_key` was used for another agent; make a new one";
        return Err(refuse(ErrorCode::Conflict, message));
    };
    let record = daemon.shared.workspaces.find(workspace_id)?;
    Ok(WorkspaceData {
        agent_id: Some(manifest.agent_id),
        session_id: Some(manifest.session_id),
        ..detail(daemon, &record).await
    })
}

fn agents_of(daemon: &Daemon, record: &Record) -> Vec<Arc<Agent>> {
    daemon.registry.all_by(|manifest| record.holds(manifest))
}

fn ids(agents: &[Arc<Agent>]) -> Vec<AgentId> {
    agents.iter().map(|agent| agent.id.clone()).collect()
}

fn summary(daemon: &Daemon, record: &Record) -> Workspace {
    let agents = ids(&agents_of(daemon, record));
    record.view(agents, record.conflict(), Detail::Summary)
}

async fn detail(daemon: &Daemon, record: &Record) -> WorkspaceData {
    let agents = ids(&agents_of(daemon, record));
    let conflict = daemon.shared.workspaces.examine(record).await;
    WorkspaceData {
        workspace: record.view(agents, conflict, Detail::Full),
        agent_id: None,
        session_id: None,
        duplicate: false,
    }
}

/// Tells everybody of a conflict that they have not heard of.
async fn tell_conflict(daemon: &Daemon, id: &WorkspaceId) {
    let workspaces = &daemon.shared.workspaces;
    let Ok(record) = workspaces.find(id) else {
        return;
    };
    let conflict = workspaces.examine(&record).await;
    if workspaces.note_conflict(id, conflict.as_deref()) {
        let workspace = record.view(
            ids(&agents_of(daemon, &record)),
            conflict.clone(),
            Detail::Summary,
        );
        let reason = conflict.unwrap_or_default();
        tell(daemon, WorkspaceConflict { workspace, reason }.into());
    }
}

fn attached(workspace: Workspace, agent_id: &AgentId, session_id: SessionId) -> DaemonEvent {
    WorkspaceAttached {
        workspace,
        agent_id: agent_id.clone(),
        session_id,
    }
    .into()
}

fn tell(daemon: &Daemon, event: DaemonEvent) {
    daemon.shared.clients.broadcast(event);
}

/// Whether somebody is at work among these agents, and who.
fn occupied(agents: &[Arc<Agent>]) -> Option<(WorkspaceRefusalKind, String)> {
    let infos: Vec<_> = agents.iter().map(|agent| agent.info()).collect();
    let named = |wanted: &dyn Fn(AgentStatus) -> bool| {
        let runs = |state| matches!(state, RuntimeState::Running | RuntimeState::Starting);
        let named: Vec<_> = infos
            .iter()
            .filter(|info| runs(info.runtime_state) && wanted(info.status))
            .map(|info| info.agent_id.to_string())
            .take(NAMED)
            .collect();
        (!named.is_empty()).then(|| named.join(", "))
    };
    let rests = |status| matches!(status, AgentStatus::Idle | AgentStatus::Error);
    if let Some(named) = named(&|status| !rests(status)) {
        let reason = format!("a turn runs in it ({named}); abort it or wait for its end");
        return Some((WorkspaceRefusalKind::Busy, reason));
    }
    let named = named(&rests)?;
    let reason = format!("an agent's process runs in it ({named}); stop it first");
    Some((WorkspaceRefusalKind::Live, reason))
}

fn checked_version(version: Option<u32>) -> Result<(), ErrorBody> {
    match version {
        None | Some(1) => Ok(()),
        Some(other) => {
            let message = format!("`version`: {other} is not known here; 1 is");
            Err(refuse(ErrorCode::InvalidRequest, message))
        }
    }
}
