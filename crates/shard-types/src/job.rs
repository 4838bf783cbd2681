//! Background jobs and their runs. A task's text is private and appears in none of these.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{AgentId, JobId, RunId};

/// Where a job stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "the names say it")]
pub enum JobState {
    Queued,
    Running,
    Completed,
    Failed,
    Cancelled,
}

/// Where a run stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "the names say it")]
pub enum RunState {
    Queued,
    Starting,
    Active,
    Completed,
    Failed,
    TimedOut,
    Cancelled,
    /// The daemon ended while the run was on its way. Terminal; it can be relaunched.
    Interrupted,
}

/// How the tasks of a job follow each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum JobStrategy {
    /// One task.
    #[default]
    Single,
    /// All at once; each settles by itself.
    Parallel,
    /// One after another; the first failure ends the chain.
    Chain,
}

/// Tokens of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RunUsage {
    /// Tokens read.
    pub input: u64,
    /// Tokens written.
    pub output: u64,
}

/// One run as its owner sees it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunSnapshot {
    /// The job it belongs to.
    pub job_id: JobId,
    /// Which run.
    pub run_id: RunId,
    /// Its place in the job, from 0.
    pub index: u32,
    /// The name of the agent definition that it runs.
    pub name: String,
    /// The agent that carries it out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_id: Option<AgentId>,
    /// Friendly name of that agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub alias: Option<String>,
    /// The definition of that agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub definition_name: Option<String>,
    /// `definition · alias`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub display_name: Option<String>,
    /// Where it stands.
    pub state: RunState,
    /// When it will be stopped, in milliseconds since the epoch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline: Option<u64>,
    /// What it answered; given to its owner alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub final_text: Option<String>,
    /// Tokens so far.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<RunUsage>,
    /// Why it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Milliseconds since the epoch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started_at: Option<u64>,
    /// Milliseconds since the epoch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<u64>,
}

/// One job as its owner sees it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct JobSnapshot {
    /// Which job.
    pub job_id: JobId,
    /// Who launched it.
    pub parent_agent_id: AgentId,
    /// How its tasks follow each other.
    pub strategy: JobStrategy,
    /// Where it stands.
    pub state: JobState,
    /// Its runs, in order.
    pub runs: Vec<RunSnapshot>,
    /// The step of a chain that runs now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chain_step: Option<u32>,
    /// The step at which a chain broke off.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stopped_at: Option<u32>,
    /// Milliseconds since the epoch.
    pub created_at: u64,
    /// Milliseconds since the epoch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<u64>,
}
