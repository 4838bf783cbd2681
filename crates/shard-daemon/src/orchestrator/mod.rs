//! What clients ask of the daemon itself: commands in, answers out.

mod agents;
mod auth;
mod paths;
mod readers;
mod resources;
mod sessions;
mod usage;
mod workspaces;

use shard_protocol::{DaemonCommand, ErrorBody};
use shard_types::ErrorCode;

use crate::client::{Outcome, Who, refuse};
use crate::daemon::Daemon;

pub use usage::usage_rows;

pub(crate) use readers::Readers;
pub(crate) use sessions::{Summaries, activate};

/// Carries out a command that is not for one agent's process. `who` asks.
pub(crate) async fn carry_out(daemon: &Daemon, who: &Who, command: DaemonCommand) -> Outcome {
    match command {
        DaemonCommand::AgentStatusQuery(query) => agents::status(daemon, query.agent_id.as_ref()),
        DaemonCommand::AgentCreate(wish) => agents::create(daemon, wish).await,
        DaemonCommand::AgentRename(wish) => agents::rename(daemon, &wish.agent_id, wish.name).await,
        DaemonCommand::SessionList(query) => sessions::list(daemon, query).await,
        DaemonCommand::SessionMessages(query) => sessions::messages(daemon, query).await,
        DaemonCommand::FsComplete(query) => paths::complete(daemon, query).await,
        DaemonCommand::ResourcesList(query) => resources::list(daemon, query).await,
        DaemonCommand::AuthToken(_) => auth::token(daemon, who),
        DaemonCommand::AuthApprove(wish) => auth::approve(daemon, who, &wish.code),
        DaemonCommand::AuthList(_) => auth::list(daemon),
        DaemonCommand::AuthRevoke(wish) => auth::revoke(daemon, &wish.principal_id).await,
        DaemonCommand::WorkspaceCreate(wish) => workspaces::create(daemon, wish).await,
        DaemonCommand::WorkspaceAttach(wish) => workspaces::attach(daemon, wish).await,
        DaemonCommand::WorkspaceList(query) => workspaces::list(daemon, query).await,
        DaemonCommand::WorkspaceStatus(query) => workspaces::status(daemon, query).await,
        DaemonCommand::WorkspaceRetire(wish) => workspaces::retire(daemon, wish).await,
        DaemonCommand::UsageQuery(query) => usage::query(daemon, query).await,
        other => Err(refuse(
            ErrorCode::NotFound,
            format!("this daemon does not offer `{}`", other.type_name()),
        )),
    }
}

/// Does something slow with files away from the event loop.
async fn aside<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, ErrorBody> + Send + 'static,
) -> Result<T, ErrorBody> {
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|error| Err(refuse(ErrorCode::InternalError, error.to_string())))
}
