//! Background jobs: commands and answers. Task texts appear in commands alone.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use shard_types::{
    AgentId, JobId, JobSnapshot, JobState, JobStrategy, RunId, RunSnapshot, RunState, TurnId,
};

use crate::RequestKey;

/// Accepts a job: one task (`name`, `task`), or several (`tasks`, `strategy`).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SubagentCreate {
    /// Who launches it.
    pub parent_agent_id: AgentId,
    /// Proof of that, for a tool; a person's client needs none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runtime_token: Option<String>,
    /// The agent definition, for one task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The task, for one task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
    /// The tasks, for several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tasks: Option<Vec<SubagentTask>>,
    /// How they follow each other.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub strategy: Option<JobStrategy>,
    /// The children's model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The model's provider.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider: Option<String>,
    /// The children's mode.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<String>,
    /// Against doing it twice after a lost answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_key: Option<RequestKey>,
}

/// One task of a job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SubagentTask {
    /// The agent definition.
    pub name: String,
    /// The task.
    pub task: String,
}

/// Waits until jobs or runs have ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SubagentWait {
    /// Who launched them.
    pub parent_agent_id: AgentId,
    /// Proof of that, for a tool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runtime_token: Option<String>,
    /// Jobs, runs, agents or aliases; at least one.
    pub handles: Vec<String>,
    /// For any of them or for all; all if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<WaitMode>,
    /// How long, in seconds; 0 does not wait, left out waits for ever. Work goes on after it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout: Option<f64>,
}

/// What to wait for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "the names say it")]
pub enum WaitMode {
    Any,
    #[default]
    All,
}

/// Speaks into a run that is active.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SubagentSteer {
    /// Who launched it.
    pub parent_agent_id: AgentId,
    /// Proof of that, for a tool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runtime_token: Option<String>,
    /// A run, an agent or an alias.
    pub target: String,
    /// What to say.
    pub message: String,
}

/// Gives an idle child another task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SubagentRelaunch {
    /// Who launched it.
    pub parent_agent_id: AgentId,
    /// Proof of that, for a tool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runtime_token: Option<String>,
    /// An agent, a run or an alias.
    pub target: String,
    /// The task.
    pub task: String,
    /// Against doing it twice after a lost answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_key: Option<RequestKey>,
}

/// Asks after jobs, runs and children.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SubagentStatus {
    /// Who launched them.
    pub parent_agent_id: AgentId,
    /// Proof of that, for a tool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runtime_token: Option<String>,
    /// Which; the latest jobs if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub targets: Option<Vec<String>>,
}

/// Cancels a job or a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SubagentStop {
    /// Who launched it.
    pub parent_agent_id: AgentId,
    /// Proof of that, for a tool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runtime_token: Option<String>,
    /// A job, a run or an alias.
    pub handle: String,
}

/// Of `subagent.create`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct JobAccepted {
    /// The job.
    pub job_id: JobId,
    /// How its tasks follow each other.
    pub strategy: JobStrategy,
    /// Its runs.
    pub runs: Vec<AcceptedRun>,
    /// The same request key was carried out before; nothing was done now.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub duplicate: bool,
}

/// One run of a job that was just accepted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AcceptedRun {
    /// The run.
    pub run_id: RunId,
    /// Its place in the job, from 0.
    pub index: u32,
    /// The agent definition.
    pub name: String,
    /// `queued`.
    pub state: RunState,
    /// The agent that will carry it out.
    pub agent_id: AgentId,
    /// Friendly name of that agent.
    pub alias: String,
    /// The definition of that agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub definition_name: Option<String>,
    /// `definition · alias`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub display_name: Option<String>,
}

/// Of `subagent.wait`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Waited {
    /// The time ran out first.
    pub timed_out: bool,
    /// The state that all share, else `mixed`.
    pub aggregate_state: AggregateState,
    /// The runs, in order.
    pub runs: Vec<RunSnapshot>,
}

/// A state that several jobs share.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum AggregateState {
    /// All have this one.
    Common(JobState),
    /// They differ.
    Mixed(MixedState),
}

/// The constant `mixed`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum MixedState {
    /// The only value.
    Mixed,
}

/// Of `subagent.steer`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Steered {
    /// Whether it went in.
    pub status: SteerOutcome,
    /// The run.
    pub run_id: RunId,
    /// The turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn_id: Option<TurnId>,
    /// Pairs the answer with the wish.
    pub correlation_id: String,
}

/// Whether a strict steer went in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SteerOutcome {
    /// The turn's next provider call holds it.
    Injected,
    /// The turn ended first; it is nowhere.
    Conflict,
}

/// Of `subagent.relaunch`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Relaunched {
    /// The new job.
    pub job_id: JobId,
    /// Its run.
    pub run_id: RunId,
    /// The same agent as before.
    pub agent_id: AgentId,
    /// Its friendly name.
    pub alias: String,
    /// Its definition.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub definition_name: Option<String>,
    /// `definition · alias`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub display_name: Option<String>,
    /// `queued`.
    pub state: RunState,
    /// The same request key was carried out before; nothing was done now.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub duplicate: bool,
}

/// Of `subagent.status`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SubagentOverview {
    /// The children.
    pub agents: Vec<ChildAgent>,
    /// The jobs; left out when targets were named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub jobs: Option<Vec<JobSnapshot>>,
}

/// One child.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ChildAgent {
    /// Which agent.
    pub agent_id: AgentId,
    /// Its friendly name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub alias: Option<String>,
    /// Its definition.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub definition_name: Option<String>,
    /// `definition · alias`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub display_name: Option<String>,
    /// Who launched it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent_agent_id: Option<AgentId>,
    /// What it runs, or ran last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<RunSnapshot>,
}

/// Of `subagent.stop`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Stopped {
    /// What was cancelled.
    pub cancelled: Vec<CancelledRun>,
    /// The job, when a job was named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub job_id: Option<JobId>,
}

/// One run that was cancelled.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CancelledRun {
    /// The run.
    pub run_id: RunId,
    /// The agent that carried it out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_id: Option<AgentId>,
    /// Where it stands.
    pub state: RunState,
}
