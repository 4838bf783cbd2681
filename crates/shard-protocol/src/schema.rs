//! JSON Schemas of every message, made from the types.

use schemars::{Schema, generate::SchemaSettings};
use shard_types::event::AgentEvent;

use crate::{
    Aborted, Accepted, AgentCommand, AgentCreated, Agents, Answered, Attached, Compacted,
    DaemonCommand, DaemonEvent, Enrollments, Forked, Grants, JobAccepted, MessagePage, ModeSet,
    ModelSet, Models, Modes, PathCompletions, ReasoningLevelSet, ReasoningLevels, Relaunched,
    Renamed, Resources, Response, Sessions, SetupToken, Steered, Stopped, SubagentOverview,
    Terminated, UsageRows, Waited, WorkspaceData, Workspaces,
};

/// One schema for each family of messages, by the name of its file.
#[must_use]
pub fn all() -> Vec<(&'static str, Schema)> {
    let generator = || SchemaSettings::draft2020_12().into_generator();
    vec![
        (
            "agent_command",
            generator().into_root_schema_for::<AgentCommand>(),
        ),
        (
            "agent_event",
            generator().into_root_schema_for::<AgentEvent>(),
        ),
        (
            "daemon_command",
            generator().into_root_schema_for::<DaemonCommand>(),
        ),
        (
            "daemon_event",
            generator().into_root_schema_for::<DaemonEvent>(),
        ),
        ("data", generator().into_root_schema_for::<Data>()),
        (
            "response",
            generator().into_root_schema_for::<ResponseMessage>(),
        ),
        (
            "session_entry",
            generator().into_root_schema_for::<shard_types::SessionEntry>(),
        ),
    ]
}

/// An answer with its `type`.
#[derive(schemars::JsonSchema)]
#[serde(tag = "type")]
#[expect(dead_code, reason = "only its schema is used")]
enum ResponseMessage {
    #[serde(rename = "response")]
    Response(Response),
}

/// What `data` of a successful `response` holds, by the command that it answers. Commands that are
/// not listed answer without `data`.
#[derive(schemars::JsonSchema)]
#[expect(dead_code, reason = "only its schema is used")]
struct Data {
    prompt: Accepted,
    steer: Accepted,
    abort: Aborted,
    set_mode: ModeSet,
    list_modes: Modes,
    list_models: Models,
    set_model: ModelSet,
    list_reasoning_levels: ReasoningLevels,
    set_reasoning_level: ReasoningLevelSet,
    #[schemars(rename = "session_op: list")]
    session_op_list: Sessions,
    #[schemars(rename = "session_op: compact")]
    session_op_compact: Compacted,
    #[schemars(rename = "session_op: fork")]
    session_op_fork: Forked,
    permission_response: Answered,
    ui_response: Answered,
    #[schemars(rename = "agent.list")]
    agent_list: Agents,
    #[schemars(rename = "agent.create")]
    agent_create: AgentCreated,
    #[schemars(rename = "agent.attach")]
    agent_attach: Attached,
    #[schemars(rename = "agent.terminate")]
    agent_terminate: Terminated,
    #[schemars(rename = "agent.status")]
    agent_status: Agents,
    #[schemars(rename = "agent.rename")]
    agent_rename: Renamed,
    #[schemars(rename = "session.list")]
    session_list: Sessions,
    #[schemars(rename = "session.activate")]
    session_activate: AgentCreated,
    #[schemars(rename = "session.messages")]
    session_messages: MessagePage,
    #[schemars(rename = "workspace.create")]
    workspace_create: WorkspaceData,
    #[schemars(rename = "workspace.attach")]
    workspace_attach: WorkspaceData,
    #[schemars(rename = "workspace.list")]
    workspace_list: Workspaces,
    #[schemars(rename = "workspace.status")]
    workspace_status: WorkspaceData,
    #[schemars(rename = "workspace.retire")]
    workspace_retire: WorkspaceData,
    #[schemars(rename = "subagent.create")]
    subagent_create: JobAccepted,
    #[schemars(rename = "subagent.wait")]
    subagent_wait: Waited,
    #[schemars(rename = "subagent.steer")]
    subagent_steer: Steered,
    #[schemars(rename = "subagent.relaunch")]
    subagent_relaunch: Relaunched,
    #[schemars(rename = "subagent.status")]
    subagent_status: SubagentOverview,
    #[schemars(rename = "subagent.stop")]
    subagent_stop: Stopped,
    #[schemars(rename = "grants.list")]
    grants_list: Grants,
    #[schemars(rename = "fs.complete")]
    fs_complete: PathCompletions,
    #[schemars(rename = "usage.query")]
    usage_query: UsageRows,
    #[schemars(rename = "resources.list")]
    resources_list: Resources,
    #[schemars(rename = "auth.token")]
    auth_token: SetupToken,
    #[schemars(rename = "auth.list")]
    auth_list: Enrollments,
}
