//! Which agent, grant or workspace a person means.

use shard_core::gate::visible;
use shard_protocol::{Workspace, WorkspaceLifecycle};
use shard_types::{AgentId, AgentInfo, GrantId, GrantInfo, WorkspaceId};

use crate::failure::Failure;

/// How every agent's id begins.
const FAMILY: &str = "agent-";

/// Shortest prefix that is shown for an id, in characters.
const SHORTEST: usize = 8;

/// How many candidates are named.
const NAMED: usize = 5;

/// The part of an id that tells agents apart.
fn own_part(id: &str) -> &str {
    id.strip_prefix(FAMILY).unwrap_or(id)
}

/// Finds the agent whose id is `wanted` or begins with it, with or without `agent-`, or whose name
/// is `wanted`.
///
/// # Errors
/// When there is none, or more than one.
pub(crate) fn find<'a>(agents: &'a [AgentInfo], wanted: &str) -> Result<&'a AgentInfo, Failure> {
    if let Some(agent) = agents.iter().find(|it| it.agent_id.as_str() == wanted) {
        return Ok(agent);
    }
    let prefix = own_part(wanted);
    let is_meant = |agent: &&AgentInfo| {
        let by_id = !prefix.is_empty() && own_part(agent.agent_id.as_str()).starts_with(prefix);
        by_id || name(agent) == Some(wanted)
    };
    let meant: Vec<&AgentInfo> = agents.iter().filter(is_meant).collect();
    match meant.as_slice() {
        [agent] => Ok(agent),
        [] => {
            let error = format!("there is no agent {wanted:?}; `shard ls` lists them");
            Err(anyhow::anyhow!(error).into())
        }
        several => {
            let mut names: Vec<String> = several.iter().take(NAMED).map(|it| label(it)).collect();
            if several.len() > NAMED {
                names.push(format!("{} more", several.len() - NAMED));
            }
            let error = format!(
                "{wanted:?} may be any of {}; give more of the id",
                names.join(", ")
            );
            Err(anyhow::anyhow!(error).into())
        }
    }
}

/// What a person calls an agent.
pub(crate) fn name(agent: &AgentInfo) -> Option<&str> {
    agent.name.as_deref().or(agent.display_name.as_deref())
}

fn label(agent: &AgentInfo) -> String {
    match name(agent) {
        Some(name) => format!("{} ({})", agent.agent_id, visible(name)),
        None => agent.agent_id.to_string(),
    }
}

/// The shortest beginning of an id that names no other agent.
pub(crate) fn short<'a>(id: &'a AgentId, agents: &[AgentInfo]) -> &'a str {
    let others = agents.iter().filter(|it| it.agent_id != *id);
    shortest(
        own_part(id.as_str()),
        others.map(|it| own_part(it.agent_id.as_str())),
    )
}

fn shortest<'a, 'o>(own: &'a str, others: impl Iterator<Item = &'o str>) -> &'a str {
    let shared = |other: &str| {
        let same = own.bytes().zip(other.bytes()).take_while(|(a, b)| a == b);
        same.count()
    };
    let longest = others.map(|other| shared(other) + 1).max();
    let length = longest.unwrap_or(0).max(SHORTEST);
    own.get(..length).unwrap_or(own)
}

/// How a grant's id begins, usually.
const GRANTS: &str = "grant-";

/// The part of a grant's id that tells grants apart.
pub(crate) fn own_part_of_grant(id: &str) -> &str {
    id.strip_prefix(GRANTS).unwrap_or(id)
}

/// The grant whose id is `wanted` or begins with it, with or without `grant-`.
///
/// # Errors
/// When there is none, or more than one.
pub(crate) fn find_grant<'a>(
    grants: &'a [GrantInfo],
    wanted: &str,
) -> Result<&'a GrantInfo, Failure> {
    if let Some(grant) = grants.iter().find(|it| it.grant_id.as_str() == wanted) {
        return Ok(grant);
    }
    let prefix = own_part_of_grant(wanted);
    let is_meant = |grant: &&GrantInfo| {
        !prefix.is_empty() && own_part_of_grant(grant.grant_id.as_str()).starts_with(prefix)
    };
    let meant: Vec<&GrantInfo> = grants.iter().filter(is_meant).collect();
    let error = match meant.as_slice() {
        [grant] => return Ok(grant),
        [] => format!("the agent has no grant {wanted:?}; `shard grants ls` lists them"),
        several => {
            let count = several.len();
            format!("{wanted:?} may be any of {count} grants; give more of the id")
        }
    };
    Err(anyhow::anyhow!(error).into())
}

/// The shortest beginning of a grant's id that names no other of these.
pub(crate) fn short_grant<'a>(id: &'a GrantId, grants: &[&GrantInfo]) -> &'a str {
    let others = grants.iter().filter(|it| it.grant_id != *id);
    shortest(
        own_part_of_grant(id.as_str()),
        others.map(|it| own_part_of_grant(it.grant_id.as_str())),
    )
}

/// How every workspace's id begins.
const WORKSPACES: &str = "ws-";

fn own_part_of_workspace(id: &WorkspaceId) -> &str {
    id.as_str().strip_prefix(WORKSPACES).unwrap_or(id.as_str())
}

/// The workspace whose id is `wanted` or begins with it, with or without `ws-`, or whose label is
/// `wanted`. One that is in use is meant before one that is retired.
///
/// # Errors
/// When there is none, or more than one.
pub(crate) fn find_workspace<'a>(
    workspaces: &'a [Workspace],
    wanted: &str,
) -> Result<&'a Workspace, Failure> {
    if let Some(found) = workspaces
        .iter()
        .find(|it| it.workspace_id.as_str() == wanted)
    {
        return Ok(found);
    }
    let prefix = wanted.strip_prefix(WORKSPACES).unwrap_or(wanted);
    let is_meant = |it: &&Workspace| {
        let by_id =
            !prefix.is_empty() && own_part_of_workspace(&it.workspace_id).starts_with(prefix);
        by_id || it.label.as_deref() == Some(wanted)
    };
    let mut meant: Vec<&Workspace> = workspaces.iter().filter(is_meant).collect();
    let in_use = |it: &&Workspace| it.lifecycle != WorkspaceLifecycle::Retired;
    if meant.iter().any(in_use) {
        meant.retain(in_use);
    }
    let error = match meant.as_slice() {
        [found] => return Ok(found),
        [] => format!("there is no workspace {wanted:?}; `shard workspace list` lists them"),
        several => {
            let count = several.len();
            format!("{wanted:?} may be any of {count} workspaces; give more of the id")
        }
    };
    Err(anyhow::anyhow!(error).into())
}

/// The shortest beginning of a workspace's id that names no other of these.
pub(crate) fn short_workspace<'a>(id: &'a WorkspaceId, workspaces: &[Workspace]) -> &'a str {
    let others = workspaces.iter().filter(|it| it.workspace_id != *id);
    shortest(
        own_part_of_workspace(id),
        others.map(|it| own_part_of_workspace(&it.workspace_id)),
    )
}

#[cfg(test)]
mod tests {
    use shard_types::{AgentStatus, RuntimeState};

    use super::*;

    fn agent(id: &str, name: Option<&str>) -> AgentInfo {
        AgentInfo {
            agent_id: id.parse().unwrap(),
            session_id: None,
            name: name.map(str::to_owned),
            cwd: "/w".to_owned(),
            model: None,
            provider: None,
            mode: None,
            status: AgentStatus::Idle,
            runtime_state: RuntimeState::Stopped,
            created_at: 0,
            usage: None,
            parent_agent_id: None,
            alias: None,
            definition_name: None,
            display_name: None,
        }
    }

    #[test]
    fn a_unique_prefix_or_a_name_is_enough() {
        let agents = [
            agent("agent-0123aa", Some("fix")),
            agent("agent-0123ab", Some("0456")),
            agent("agent-0456cc", None),
        ];
        let found = |wanted: &str| find(&agents, wanted).map(|it| it.agent_id.as_str().to_owned());
        let is = |wanted: &str, id: &str| assert_eq!(found(wanted).unwrap(), id, "{wanted}");
        is("agent-0123aa", "agent-0123aa");
        is("0123ab", "agent-0123ab");
        is("agent-045", "agent-0456cc");
        is("fix", "agent-0123aa");
        let fails = |wanted: &str, why: &str| {
            let failure = found(wanted).unwrap_err();
            assert!(
                failure.code == 1 && failure.message.contains(why),
                "{wanted}: {failure:?}"
            );
        };
        fails("0123", "agent-0123aa (fix), agent-0123ab (0456)");
        fails("0456", "agent-0123ab (0456), agent-0456cc"); // a name, and a prefix
        for nobody in ["", "agent-", "a", "fi", "0123aaa"] {
            fails(nobody, "there is no agent");
        }
    }

    #[test]
    fn a_shown_id_finds_its_agent() {
        let agents = [
            agent("agent-0190aaaabbbb7000", None),
            agent("agent-0190aaaabbbb7001", None),
            agent("agent-0191ccccdddd7000", None),
        ];
        assert_eq!(short(&agents[2].agent_id, &agents), "0191cccc");
        for it in &agents {
            let shown = short(&it.agent_id, &agents);
            assert_eq!(find(&agents, shown).unwrap().agent_id, it.agent_id);
        }
    }

    #[test]
    fn a_grant_is_found_by_the_beginning_of_its_id() {
        let grant = |id: &str| GrantInfo {
            grant_id: id.parse().unwrap(),
            tool: "bash".to_owned(),
            summary: String::new(),
            created_at: 0,
            source: None,
            used: 0,
            last_used_at: None,
            kind: None,
        };
        let grants = ["grant-0190aaaabbbb7000", "grant-0190aaaabbbb7001", "mine"].map(grant);
        let all: Vec<&GrantInfo> = grants.iter().collect();
        for it in &grants {
            let shown = short_grant(&it.grant_id, &all);
            assert_eq!(find_grant(&grants, shown).unwrap().grant_id, it.grant_id);
        }
        for (wanted, why) in [
            ("0190", "any of 2 grants"),
            ("grant-0191", "has no grant"),
            ("grant-", "has no grant"),
            ("", "has no grant"),
        ] {
            let failure = find_grant(&grants, wanted).unwrap_err();
            assert!(failure.message.contains(why), "{wanted}: {failure:?}");
        }
    }
}
