//! The command line.

use std::net::IpAddr;
use std::path::PathBuf;

use clap::{Parser, Subcommand};
use clap_complete::Shell;
use shard_protocol::UsageGroup;
use shard_types::{AgentId, HeadlessPolicy, PrincipalId, SessionId};

use crate::commands::usage;

mod workspace;

pub(crate) use workspace::{WorkspaceAgent, WorkspaceArgs, WorkspaceCommand};

/// A coding agent that works in your checkout, and asks before it changes things.
#[derive(Debug, Parser)]
#[command(name = "shard", version, about, arg_required_else_help = true)]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Supervise agents, and serve the web client.
    Daemon(DaemonArgs),
    /// Open the web client in a browser, starting the daemon if none runs.
    Web(WebArgs),
    /// List the agents.
    Ls(ListArgs),
    /// Make an agent, and print its id.
    New(NewArgs),
    /// Watch an agent and talk to it.
    Attach(AttachArgs),
    /// Send a prompt to an agent.
    Prompt(PromptArgs),
    /// Print what was said to an agent, and what it said and did.
    Log(LogArgs),
    /// Stop an agent's process once its work is done.
    Stop(StopArgs),
    /// Stop an agent's process now; its conversation is kept.
    Kill(KillArgs),
    /// End the daemon, once turns have ended.
    Shutdown(ShutdownArgs),
    /// See and take back what agents may do unasked for good.
    Grants(GrantsArgs),
    /// Give agents worktrees of their own, and remove these.
    Workspace(WorkspaceArgs),
    /// Say which browsers may come in.
    Auth(AuthArgs),
    /// Say what agents used: tokens and cost.
    Usage(UsageArgs),
    /// Carry out one prompt and print the answer.
    Run(RunArgs),
    /// Serve an agent on stdin and stdout, one JSON message a line.
    Agent(AgentArgs),
    /// See and change the configuration.
    Config(ConfigArgs),
    /// Say what is set up, what is wrong, and what to do about it.
    Doctor(DoctorArgs),
    /// Print or write the JSON Schemas of all messages and of the configuration.
    Schema(SchemaArgs),
    /// Print completions for a shell.
    Completions(CompletionsArgs),
}

/// What every agent can be told.
#[derive(Debug, clap::Args)]
pub(crate) struct AgentOptions {
    /// The folder to work in [default: the session's, or the current one].
    #[arg(long, value_name = "DIR")]
    pub(crate) cwd: Option<PathBuf>,
    /// The model, as provider/model.
    #[arg(long)]
    pub(crate) model: Option<String>,
    /// The mode.
    #[arg(long)]
    pub(crate) mode: Option<String>,
    /// Go on with this session.
    #[arg(long, value_name = "ID", conflicts_with = "continue_session")]
    pub(crate) session: Option<SessionId>,
    /// Go on with the latest session of this folder.
    #[arg(long = "continue")]
    pub(crate) continue_session: bool,
    /// Exactly these tools, separated by commas.
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub(crate) tools: Option<Vec<String>>,
    /// What happens to questions that nobody answers.
    #[arg(long, value_name = "POLICY", value_parser = headless_policy)]
    pub(crate) headless_policy: Option<HeadlessPolicy>,
    /// Let what the project brings count: its allow rules, instructions, skills and definitions.
    #[arg(long)]
    pub(crate) trust_project: bool,
    /// Do not read AGENTS.md files.
    #[arg(long)]
    pub(crate) no_agents_md: bool,
}

fn headless_policy(raw: &str) -> Result<HeadlessPolicy, String> {
    serde_json::from_value(raw.into())
        .map_err(|_| "it is one of deny, allow_if_rule_matches, queue".to_owned())
}

#[derive(Debug, clap::Args)]
pub(crate) struct RunArgs {
    /// What to do; one line is read from stdin if left out.
    pub(crate) text: Option<String>,
    /// Print the raw events, one JSON message a line.
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) agent: AgentOptions,
}

#[derive(Debug, clap::Args)]
pub(crate) struct AgentArgs {
    #[command(flatten)]
    pub(crate) agent: AgentOptions,
    /// What to call the agent in logs.
    #[arg(long)]
    pub(crate) name: Option<String>,
    /// Serve this agent of the daemon, which started this process and speaks on its stdin.
    #[arg(long, value_name = "ID", hide = true, conflicts_with_all = [
        "cwd", "model", "mode", "session", "continue_session", "tools", "headless_policy", "name",
    ])]
    pub(crate) agent_id: Option<AgentId>,
}

#[derive(Debug, clap::Args)]
pub(crate) struct DaemonArgs {
    /// The port to listen on; 0 takes any free one [default: the configuration's, or 7411].
    #[arg(long)]
    pub(crate) port: Option<u16>,
    #[command(flatten)]
    pub(crate) remote: RemoteArgs,
    /// Let what projects bring count for agents: their allow rules, instructions, skills and
    /// definitions.
    #[arg(long)]
    pub(crate) trust_project: bool,
    /// Stop an agent's process after so many seconds without work; work starts it again.
    #[arg(long, value_name = "SECS")]
    pub(crate) idle_timeout: Option<u64>,
    /// Belong to no terminal, and print no address. For `shard web`.
    #[arg(long, hide = true)]
    pub(crate) background: bool,
}

/// How browsers reach the daemon that are not on this machine.
#[derive(Debug, clap::Args)]
pub(crate) struct RemoteArgs {
    /// The address to listen on [default: 127.0.0.1].
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) web_host: Option<IpAddr>,
    /// What browsers elsewhere call the daemon, as it stands in their address bar.
    #[arg(long, value_name = "HOST[:PORT]")]
    pub(crate) public_host: Option<String>,
    /// A page that may talk to the daemon, such as `https://shard.example`; may be repeated.
    #[arg(long = "allowed-origin", value_name = "ORIGIN")]
    pub(crate) allowed_origins: Vec<String>,
    /// Believe what a proxy says that connects from there: `loopback`, or an IP address.
    #[arg(long, value_name = "UPSTREAM")]
    pub(crate) trust_proxy: Option<String>,
    /// Accept that cookies cross the network in plaintext.
    #[arg(long)]
    pub(crate) allow_insecure_remote: bool,
    /// Where the proxy says which scheme the browser used [default: X-Forwarded-Proto].
    #[arg(long, value_name = "HEADER")]
    pub(crate) proxy_scheme_header: Option<String>,
    /// Where the proxy says which host the browser asked for [default: X-Forwarded-Host].
    #[arg(long, value_name = "HEADER")]
    pub(crate) proxy_host_header: Option<String>,
}

#[derive(Debug, clap::Args)]
pub(crate) struct WebArgs {
    /// Only print the address.
    #[arg(long)]
    pub(crate) no_open: bool,
    /// The port, if the daemon has to be started [default: the configuration's, or 7411].
    #[arg(long)]
    pub(crate) port: Option<u16>,
    #[command(flatten)]
    pub(crate) remote: RemoteArgs,
}

#[derive(Debug, clap::Args)]
pub(crate) struct ListArgs {
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, clap::Args)]
pub(crate) struct NewArgs {
    /// The folder to work in [default: the current one].
    #[arg(value_name = "DIR")]
    pub(crate) folder: Option<PathBuf>,
    /// What to call it.
    #[arg(long)]
    pub(crate) name: Option<String>,
    /// The model, as provider/model.
    #[arg(long)]
    pub(crate) model: Option<String>,
    /// The mode.
    #[arg(long)]
    pub(crate) mode: Option<String>,
    /// What happens to questions while nobody is there [default: queue].
    #[arg(long, value_name = "POLICY", value_parser = headless_policy)]
    pub(crate) headless_policy: Option<HeadlessPolicy>,
    /// Exactly these tools, separated by commas.
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub(crate) tools: Option<Vec<String>>,
    /// Begin with this prompt.
    #[arg(long, value_name = "TEXT")]
    pub(crate) prompt: Option<String>,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, clap::Args)]
pub(crate) struct AttachArgs {
    /// The agent: the beginning of its id, or its name.
    #[arg(value_name = "ID")]
    pub(crate) agent: String,
}

#[derive(Debug, clap::Args)]
pub(crate) struct PromptArgs {
    /// The agent: the beginning of its id, or its name.
    #[arg(value_name = "ID")]
    pub(crate) agent: String,
    /// What to do; read from stdin if left out, or `-`.
    pub(crate) text: Option<String>,
    /// Wait for the answer, print it, and fail if the turn does not end well.
    #[arg(long)]
    pub(crate) wait: bool,
}

#[derive(Debug, clap::Args)]
pub(crate) struct LogArgs {
    /// The agent: the beginning of its id, or its name.
    #[arg(value_name = "ID")]
    pub(crate) agent: String,
    /// Go on with what the agent does now, starting its process if none runs.
    #[arg(long, short)]
    pub(crate) follow: bool,
    /// Print JSON: one message a line, and with --follow the raw events after them.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, clap::Args)]
pub(crate) struct StopArgs {
    /// The agent: the beginning of its id, or its name.
    #[arg(value_name = "ID")]
    pub(crate) agent: String,
}

#[derive(Debug, clap::Args)]
pub(crate) struct KillArgs {
    /// The agent: the beginning of its id, or its name.
    #[arg(value_name = "ID")]
    pub(crate) agent: String,
    /// Without a chance to wind up.
    #[arg(long)]
    pub(crate) force: bool,
}

#[derive(Debug, clap::Args)]
pub(crate) struct ShutdownArgs {
    /// Do not wait for turns to end.
    #[arg(long)]
    pub(crate) force: bool,
}

#[derive(Debug, clap::Args)]
pub(crate) struct GrantsArgs {
    #[command(subcommand)]
    pub(crate) command: GrantsCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum GrantsCommand {
    /// List what may be done unasked.
    Ls {
        /// The agent: the beginning of its id, or its name [default: all agents].
        #[arg(value_name = "AGENT")]
        agent: Option<String>,
        /// Of this session of `shard run` or `shard agent`, which no daemon looks after.
        #[arg(long, value_name = "ID", conflicts_with = "agent")]
        session: Option<SessionId>,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Take a grant back: such calls are asked about again.
    Revoke {
        /// The agent: the beginning of its id, or its name.
        agent: String,
        /// The beginning of the grant's id, as `shard grants ls` lists it.
        grant: String,
    },
}

#[derive(Debug, clap::Args)]
pub(crate) struct AuthArgs {
    #[command(subcommand)]
    pub(crate) command: AuthCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum AuthCommand {
    /// Print an address that lets one browser in.
    Token,
    /// List the browsers that are in, and those that wait.
    Ls(ListArgs),
    /// Let the browser in that shows this code.
    Approve {
        /// The code.
        code: String,
    },
    /// Put a browser out.
    Revoke {
        /// Which, as `shard auth ls` lists it.
        principal: PrincipalId,
    },
}

#[derive(Debug, clap::Args)]
pub(crate) struct UsageArgs {
    /// One row for each day, model, agent or project.
    #[arg(long, value_name = "WHAT", default_value = "day", value_parser = usage::group)]
    pub(crate) by: UsageGroup,
    /// From then on: a day such as 2026-11-30, or how long ago, such as 12h or 7d.
    #[arg(long, value_name = "WHEN", value_parser = usage::moment)]
    pub(crate) since: Option<u64>,
    /// Up to then.
    #[arg(long, value_name = "WHEN", value_parser = usage::moment)]
    pub(crate) until: Option<u64>,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, clap::Args)]
pub(crate) struct ConfigArgs {
    #[command(subcommand)]
    pub(crate) command: ConfigCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ConfigCommand {
    /// Print where the configuration is.
    Path,
    /// Print the configuration in force, without secrets.
    Show,
    /// Write a configuration to start from.
    Init,
    /// Say what is wrong with the configuration.
    Check,
    /// Use what was found on this machine: a key in the environment, or a local server.
    Use {
        /// What to use, as `shard doctor` names it.
        name: String,
        /// The model to begin with; the server's first if left out.
        #[arg(long)]
        model: Option<String>,
    },
}

#[derive(Debug, clap::Args)]
pub(crate) struct DoctorArgs {
    /// Look at the project here as if it were trusted.
    #[arg(long)]
    pub(crate) trust_project: bool,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, clap::Args)]
pub(crate) struct SchemaArgs {
    /// Write one file each into this folder instead of printing.
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
}

#[derive(Debug, clap::Args)]
pub(crate) struct CompletionsArgs {
    /// The shell.
    pub(crate) shell: Shell,
}
