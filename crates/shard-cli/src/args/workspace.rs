//! The command line of `shard workspace`.

use std::path::PathBuf;

use clap::Subcommand;

#[derive(Debug, clap::Args)]
pub(crate) struct WorkspaceArgs {
    #[command(subcommand)]
    pub(crate) command: WorkspaceCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum WorkspaceCommand {
    /// Make a branch with a worktree, and an agent in it.
    Create {
        /// A folder of the repository [default: the current one].
        #[arg(value_name = "DIR")]
        folder: Option<PathBuf>,
        /// What to call the workspace.
        #[arg(long)]
        label: Option<String>,
        /// The branch to make [default: one with a name of its own]. That of a workspace whose
        /// worktree is gone makes the worktree again.
        #[arg(long)]
        branch: Option<String>,
        /// Where the branch starts [default: what is checked out].
        #[arg(long, value_name = "REF")]
        base: Option<String>,
        /// The branch that the work is meant to reach [default: the one that it starts from].
        #[arg(long, value_name = "BRANCH")]
        target: Option<String>,
        #[command(flatten)]
        agent: WorkspaceAgent,
    },
    /// Make another agent in a workspace.
    Attach {
        /// The workspace: the beginning of its id, or its label.
        #[arg(value_name = "ID")]
        workspace: String,
        #[command(flatten)]
        agent: WorkspaceAgent,
    },
    /// List the workspaces.
    #[command(alias = "ls")]
    List {
        /// Only those of the repository of this folder.
        #[arg(value_name = "DIR")]
        folder: Option<PathBuf>,
        /// Retired ones too.
        #[arg(long)]
        all: bool,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Say how a workspace stands.
    Status {
        /// The workspace: the beginning of its id, or its label.
        #[arg(value_name = "ID")]
        workspace: String,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Remove a worktree, and its branch if all its work has arrived.
    Retire {
        /// The workspace: the beginning of its id, or its label.
        #[arg(value_name = "ID")]
        workspace: String,
        /// Keep the branch.
        #[arg(long, conflicts_with = "delete_branch")]
        keep_branch: bool,
        /// Delete the branch, whether or not its work has arrived.
        #[arg(long)]
        delete_branch: bool,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
}

/// What an agent in a workspace can be told.
#[derive(Debug, clap::Args)]
pub(crate) struct WorkspaceAgent {
    /// What the session is about.
    #[arg(long)]
    pub(crate) title: Option<String>,
    /// What to call the agent.
    #[arg(long)]
    pub(crate) name: Option<String>,
    /// The model, as provider/model.
    #[arg(long)]
    pub(crate) model: Option<String>,
    /// The mode.
    #[arg(long)]
    pub(crate) mode: Option<String>,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}
