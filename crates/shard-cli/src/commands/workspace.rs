//! `shard workspace`: worktrees for agents.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::Value;
use shard_core::gate::visible;
use shard_protocol::{
    BranchDisposition, DaemonCommand, ErrorBody, Workspace, WorkspaceAttach, WorkspaceCreate,
    WorkspaceData, WorkspaceLifecycle, WorkspaceList, WorkspaceRefusal, WorkspaceRefusalKind,
    WorkspaceRetire, WorkspaceStatus, Workspaces,
};
use shard_types::{WorkspaceId, time};

use super::new::{explained, utf8};
use super::show::{age, home_as_tilde, table, word};
use super::{block_on, request_key};
use crate::args::{WorkspaceAgent, WorkspaceArgs, WorkspaceCommand};
use crate::client::lookup::{find_workspace, short_workspace};
use crate::client::{ANSWER, Client};
use crate::failure::{Failure, print, say};
use crate::places::Places;

/// How long it may take to check out, or to look through, a large worktree.
const WORK: Duration = Duration::from_secs(700);

pub(crate) fn run(args: WorkspaceArgs) -> Result<(), Failure> {
    let places = Places::find()?;
    block_on(async {
        let mut client = Client::connect(&places).await?;
        match args.command {
            WorkspaceCommand::Create {
                folder,
                label,
                branch,
                base,
                target,
                agent,
            } => {
                let json = agent.json;
                let wish = WorkspaceCreate {
                    version: None,
                    cwd: folder_of(&places, folder)?,
                    label,
                    branch,
                    base_ref: base,
                    integration_target: target,
                    title: agent.title,
                    name: agent.name,
                    model: agent.model,
                    provider: None,
                    mode: agent.mode,
                    request_key: Some(request_key()?),
                };
                started(&mut client, wish.into(), json, &places).await
            }
            WorkspaceCommand::Attach { workspace, agent } => {
                let workspace_id = find(&mut client, &workspace).await?;
                let json = agent.json;
                let wish = attach(workspace_id, agent)?;
                started(&mut client, wish.into(), json, &places).await
            }
            WorkspaceCommand::List { folder, all, json } => {
                let cwd = match folder {
                    Some(folder) => Some(folder_of(&places, Some(folder))?),
                    None => None,
                };
                list(&mut client, cwd, all, json, &places).await
            }
            WorkspaceCommand::Status { workspace, json } => {
                let workspace_id = find(&mut client, &workspace).await?;
                let wish = WorkspaceStatus {
                    version: None,
                    workspace_id,
                };
                let data = call(&mut client, wish.into()).await?;
                show(&data, json, &places)
            }
            WorkspaceCommand::Retire {
                workspace,
                keep_branch,
                delete_branch,
                json,
            } => {
                let workspace_id = find(&mut client, &workspace).await?;
                let branch_disposition = match (keep_branch, delete_branch) {
                    (true, _) => Some(BranchDisposition::Keep),
                    (_, true) => Some(BranchDisposition::DeleteConfirmed),
                    _ => None,
                };
                let wish = WorkspaceRetire {
                    version: None,
                    workspace_id,
                    branch_disposition,
                };
                let data = call(&mut client, wish.into()).await?;
                show(&data, json, &places)
            }
        }
    })
}

fn folder_of(places: &Places, folder: Option<PathBuf>) -> Result<String, Failure> {
    utf8(places.current_dir.join(folder.unwrap_or_default()))
}

fn attach(workspace_id: WorkspaceId, agent: WorkspaceAgent) -> Result<WorkspaceAttach, Failure> {
    Ok(WorkspaceAttach {
        version: None,
        workspace_id,
        title: agent.title,
        name: agent.name,
        model: agent.model,
        provider: None,
        mode: agent.mode,
        request_key: Some(request_key()?),
    })
}

/// The workspace that a person names by a prefix of its id, or by its label.
async fn find(client: &mut Client, wanted: &str) -> Result<WorkspaceId, Failure> {
    let every = WorkspaceList {
        include_retired: Some(true),
        ..WorkspaceList::default()
    };
    let Workspaces { workspaces } = client.call(every, ANSWER).await?;
    Ok(find_workspace(&workspaces, wanted)?.workspace_id.clone())
}

async fn call(client: &mut Client, command: DaemonCommand) -> Result<Value, Failure> {
    let id = client.send(command).await?;
    client.answer(&id, WORK).await?.map_err(refused)
}

/// A refusal says how to go on at a terminal.
fn refused(error: ErrorBody) -> Failure {
    let refusal: Option<WorkspaceRefusal> = error
        .data
        .clone()
        .and_then(|data| serde_json::from_value(data).ok());
    let mut failure = explained(error);
    if refusal.is_some_and(|it| it.kind == WorkspaceRefusalKind::ConfirmationRequired) {
        failure.message = format!(
            "{}; --keep-branch keeps it, --delete-branch deletes it all the same",
            failure.message
        );
    }
    failure
}

/// Has an agent made, and says which and where.
async fn started(
    client: &mut Client,
    command: DaemonCommand,
    json: bool,
    places: &Places,
) -> Result<(), Failure> {
    let attempt = async |client: &mut Client| call(client, command.clone()).await;
    let data = client.start(places, attempt).await?;
    if json {
        print(&serde_json::to_string_pretty(&data)?)?;
        return Ok(());
    }
    let data: WorkspaceData = serde_json::from_value(data)?;
    if let Some(agent_id) = &data.agent_id {
        print(agent_id.as_str())?;
    }
    say(&told(&data.workspace, places.home.as_deref()));
    Ok(())
}

fn told(workspace: &Workspace, home: Option<&Path>) -> String {
    format!(
        "workspace {}: branch {} in {}",
        workspace.workspace_id,
        visible(workspace.branch.as_deref().unwrap_or("-")),
        visible(&home_as_tilde(&workspace.cwd, home)),
    )
}

async fn list(
    client: &mut Client,
    cwd: Option<String>,
    all: bool,
    json: bool,
    places: &Places,
) -> Result<(), Failure> {
    let wish = WorkspaceList {
        version: None,
        cwd,
        include_retired: Some(all),
    };
    let data: Value = client.call(wish, WORK).await?;
    let workspaces = data.get("workspaces").cloned().unwrap_or_default();
    if json {
        print(&serde_json::to_string_pretty(&workspaces)?)?;
        return Ok(());
    }
    let workspaces: Vec<Workspace> = serde_json::from_value(workspaces)?;
    if workspaces.is_empty() {
        say("there are no workspaces; make one with `shard workspace create`, in a repository");
        return Ok(());
    }
    print(&listed(&workspaces, places.home.as_deref(), time::now_ms()))?;
    Ok(())
}

fn listed(workspaces: &[Workspace], home: Option<&Path>, now: u64) -> String {
    let or_dash = |text: &Option<String>| text.clone().unwrap_or_else(|| "-".to_owned());
    let row = |it: &Workspace| {
        let project = it.repository_cwd.as_deref();
        [
            short_workspace(&it.workspace_id, workspaces).to_owned(),
            or_dash(&it.label),
            word(&it.lifecycle),
            or_dash(&it.branch),
            or_dash(&it.integration_target),
            project.map_or_else(|| "-".to_owned(), |path| home_as_tilde(path, home)),
            it.agent_count.to_string(),
            age(it.created_at, now),
        ]
    };
    let rows: Vec<_> = workspaces.iter().map(row).collect();
    table(
        [
            "ID", "LABEL", "STATE", "BRANCH", "TARGET", "PROJECT", "AGENTS", "AGE",
        ],
        &rows,
    )
}

fn show(data: &Value, json: bool, places: &Places) -> Result<(), Failure> {
    if json {
        print(&serde_json::to_string_pretty(data)?)?;
        return Ok(());
    }
    let data: WorkspaceData = serde_json::from_value(data.clone())?;
    let home = places.home.as_deref();
    print(&detailed(&data.workspace, home, time::now_ms()))?;
    Ok(())
}

/// One fact a line.
fn detailed(it: &Workspace, home: Option<&Path>, now: u64) -> String {
    let agents: Vec<_> = it.agent_ids.iter().map(ToString::to_string).collect();
    let removed = it.lifecycle == WorkspaceLifecycle::Retired;
    let folder = match removed {
        true => "removed".to_owned(),
        false => home_as_tilde(&it.cwd, home),
    };
    let facts = [
        ("workspace", Some(it.workspace_id.to_string())),
        ("label", it.label.clone()),
        ("state", Some(word(&it.lifecycle))),
        ("conflict", it.conflict.clone()),
        ("branch", it.branch.clone()),
        ("from", it.base_ref.clone()),
        ("target", it.integration_target.clone()),
        ("folder", Some(folder)),
        (
            "project",
            it.repository_cwd
                .as_deref()
                .map(|path| home_as_tilde(path, home)),
        ),
        (
            "agents",
            Some(agents.join(" ")).filter(|agents| !agents.is_empty()),
        ),
        ("age", Some(age(it.created_at, now))),
    ];
    let lines = facts
        .into_iter()
        .filter_map(|(name, fact)| Some(format!("{name:10}{}\n", visible(&fact?))));
    lines.collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn workspaces() -> Vec<Workspace> {
        serde_json::from_value(json!([
            { "workspace_id": "ws-0190aaaa1111", "label": "login", "cwd": "/home/a/.shard/worktrees/ws-0190aaaa1111",
              "repository_cwd": "/home/a/site", "ownership": "managed", "lifecycle": "active", "branch": "fix/ü",
              "base_ref": "main", "integration_target": "main", "created_at": 0, "updated_at": 0, "agent_count": 2,
              "agent_ids": ["agent-1", "agent-2"] },
            { "workspace_id": "ws-0190bbbb2222", "cwd": "/s/worktrees/ws-0190bbbb2222", "ownership": "managed",
              "lifecycle": "conflict", "branch": "x", "conflict": "its worktree\u{1b} is gone",
              "created_at": 60_000, "updated_at": 0, "agent_count": 0 },
        ]))
        .unwrap()
    }

    #[test]
    fn a_list_is_a_table() {
        assert_eq!(
            listed(&workspaces(), Some(Path::new("/home/a")), 7_200_000),
            "ID        LABEL  STATE     BRANCH  TARGET  PROJECT  AGENTS  AGE\n\
             0190aaaa  login  active    fix/ü   main    ~/site   2       2h\n\
             0190bbbb  -      conflict  x       -       -        0       1h\n"
        );
    }

    #[test]
    fn details_are_one_a_line() {
        let all = workspaces();
        assert_eq!(
            detailed(&all[1], None, 7_200_000),
            "workspace ws-0190bbbb2222\nstate     conflict\nconflict  its worktree␛ is gone\n\
             branch    x\nfolder    /s/worktrees/ws-0190bbbb2222\nage       1h\n"
        );
        let first = detailed(&all[0], Some(Path::new("/home/a")), 7_200_000);
        assert!(first.contains("agents    agent-1 agent-2\n"), "{first}");
        assert!(first.contains("project   ~/site\n"), "{first}");
    }

    #[test]
    fn a_workspace_is_found_by_its_id_or_its_label() {
        let all = workspaces();
        for wanted in ["ws-0190aaaa1111", "0190a", "ws-0190aaaa", "login"] {
            let found = find_workspace(&all, wanted).unwrap();
            assert_eq!(found.workspace_id, all[0].workspace_id, "{wanted}");
        }
        for (wanted, why) in [
            ("0190", "any of 2"),
            ("ws-", "no workspace"),
            ("x", "no workspace"),
        ] {
            let failure = find_workspace(&all, wanted).unwrap_err();
            assert!(failure.message.contains(why), "{wanted}: {failure:?}");
        }
    }

    #[test]
    fn a_refusal_that_wants_a_confirmation_says_how_to_give_it() {
        let mut error = ErrorBody::new(shard_types::ErrorCode::Conflict, "not merged");
        error.data = Some(json!({ "kind": "confirmation_required" }));
        let failure = refused(error.clone());
        assert!(failure.message.contains("--delete-branch"), "{failure:?}");
        error.data = Some(json!({ "kind": "dirty" }));
        assert_eq!(refused(error).message, "not merged");
    }
}
