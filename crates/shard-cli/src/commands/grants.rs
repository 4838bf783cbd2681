//! `shard grants`: what agents may do unasked for good.

use std::path::Path;

use serde_json::Value;
use shard_core::boot::sessions_folder;
use shard_core::gate::visible;
use shard_protocol::{Grants, GrantsList, GrantsRevoke};
use shard_types::{AgentId, AgentInfo, GrantInfo, GrantKind, SessionId, time};

use super::block_on;
use super::show::{age, shortened, table};
use crate::args::{GrantsArgs, GrantsCommand};
use crate::client::lookup::{find_grant, name, short, short_grant};
use crate::client::{ANSWER, Client};
use crate::failure::{Failure, UNREACHABLE, print, say};
use crate::places::Places;

/// How much of what a grant covers a list shows, in characters.
const SUMMARY: usize = 100;

pub(crate) fn run(args: GrantsArgs) -> Result<(), Failure> {
    let places = Places::find()?;
    match args.command {
        GrantsCommand::Ls {
            session: Some(id),
            json,
            ..
        } => {
            let of_session = of_session(&places.state_home, &id)?;
            show(&[of_session], json)
        }
        GrantsCommand::Ls { agent, json, .. } => {
            let (of_agents, failed) = block_on(of_agents(&places, agent.as_deref()))?;
            match failed {
                None => show(&of_agents, json),
                Some(failure) => {
                    print(&shown(&of_agents, json)?)?;
                    Err(failure)
                }
            }
        }
        GrantsCommand::Revoke { agent, grant } => block_on(revoke(&places, &agent, &grant)),
    }
}

/// Grants and whose they are.
struct Owned {
    /// The field of its owner's id in JSON, and that id.
    owner: (&'static str, String),
    /// What a list calls the owner.
    label: String,
    grants: Vec<GrantInfo>,
}

/// The grants of the agent that is wanted, or of all: one that cannot be asked hides no other. Why
/// it could not is given at the end.
async fn of_agents(
    places: &Places,
    wanted: Option<&str>,
) -> Result<(Vec<Owned>, Option<Failure>), Failure> {
    let mut client = Client::connect(places).await?;
    let all = client.agents().await?;
    let agents: Vec<&AgentInfo> = match wanted {
        Some(wanted) => vec![crate::client::lookup::find(&all, wanted)?],
        None => all.iter().collect(),
    };
    let (mut owned, mut failed) = (Vec::new(), None);
    for agent in agents {
        let grants = match list(&mut client, &agent.agent_id).await {
            Ok(grants) => grants,
            Err(failure) if failure.code == UNREACHABLE => return Err(failure),
            Err(failure) => {
                failed = Some(failure);
                continue;
            }
        };
        owned.push(Owned {
            owner: ("agent_id", agent.agent_id.to_string()),
            label: name(agent)
                .map_or_else(|| short(&agent.agent_id, &all).to_owned(), str::to_owned),
            grants,
        });
    }
    Ok((owned, failed))
}

async fn list(client: &mut Client, agent_id: &AgentId) -> Result<Vec<GrantInfo>, Failure> {
    let agent_id = agent_id.clone();
    let Grants { grants } = client.call(GrantsList { agent_id }, ANSWER).await?;
    Ok(grants)
}

async fn revoke(places: &Places, agent: &str, grant: &str) -> Result<(), Failure> {
    let mut client = Client::connect(places).await?;
    let agent_id = client.find(agent).await?.agent_id;
    let grants = list(&mut client, &agent_id).await?;
    let grant = find_grant(&grants, grant)?;
    let wish = GrantsRevoke {
        agent_id,
        grant_id: grant.grant_id.clone(),
    };
    let _: Value = client.call(wish, ANSWER).await?;
    print(&format!("asked about again: {}", covers(grant)))?;
    Ok(())
}

/// What was allowed for good in a session that no daemon looks after.
fn of_session(state_home: &Path, id: &SessionId) -> Result<Owned, Failure> {
    let folder = sessions_folder(state_home);
    let session = folder.join(format!("{id}.jsonl"));
    if !session.exists() {
        let error = format!(
            "there is no session {id} in {}; those of the daemon's agents are listed without --session",
            folder.display()
        );
        return Err(anyhow::anyhow!(error).into());
    }
    let path = shard_session::grants_beside(&session);
    let grants = shard_session::read_grants(&path).map_err(|error| {
        anyhow::anyhow!("cannot read the permissions in {}: {error}", path.display())
    })?;
    Ok(Owned {
        owner: ("session_id", id.to_string()),
        label: id.to_string(),
        grants: grants
            .iter()
            .map(shard_session::StoredGrant::listed)
            .collect(),
    })
}

fn show(owned: &[Owned], json: bool) -> Result<(), Failure> {
    if !json && owned.iter().all(|it| it.grants.is_empty()) {
        say(
            "nothing is allowed for good; answers to questions that say \"always\" are listed here",
        );
        return Ok(());
    }
    print(&shown(owned, json)?)?;
    Ok(())
}

fn shown(owned: &[Owned], json: bool) -> Result<String, Failure> {
    Ok(match json {
        true => serde_json::to_string_pretty(&rows(owned)?)?,
        false => listed(owned, time::now_ms()),
    })
}

/// Each grant with its owner.
fn rows(owned: &[Owned]) -> Result<Vec<Value>, Failure> {
    let mut rows = Vec::new();
    for Owned { owner, grants, .. } in owned {
        for grant in grants {
            let mut row = serde_json::to_value(grant)?;
            row[owner.0] = owner.1.as_str().into();
            rows.push(row);
        }
    }
    Ok(rows)
}

fn listed(owned: &[Owned], now: u64) -> String {
    let all: Vec<&GrantInfo> = owned.iter().flat_map(|it| &it.grants).collect();
    let row = |label: &str, grant: &GrantInfo| {
        [
            short_grant(&grant.grant_id, &all).to_owned(),
            label.to_owned(),
            shortened(&covers(grant), SUMMARY),
            match grant.used {
                0 => "never".to_owned(),
                1 => "once".to_owned(),
                times => format!("{times} times"),
            },
            ago(grant.last_used_at, now),
            ago(Some(grant.created_at).filter(|then| *then > 0), now),
            grant.source.clone().unwrap_or_else(|| "-".to_owned()),
        ]
    };
    let rows: Vec<_> = owned
        .iter()
        .flat_map(|it| it.grants.iter().map(|grant| row(&it.label, grant)))
        .collect();
    table(
        ["GRANT", "AGENT", "ALLOWS", "USED", "LAST", "AGE", "BY"],
        &rows,
    )
}

fn ago(then: Option<u64>, now: u64) -> String {
    then.map_or_else(|| "-".to_owned(), |then| age(then, now))
}

/// What a grant covers, on one line.
fn covers(grant: &GrantInfo) -> String {
    let summary = visible(&grant.summary);
    match grant.kind {
        Some(GrantKind::NotUnderstood) => format!("nothing (not understood: {summary})"),
        Some(GrantKind::BashSignature) => format!("{summary}, by its form"),
        Some(GrantKind::Exact) | None => summary,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_list_says_what_is_allowed_and_how_often_it_was_used() {
        let grants: Vec<GrantInfo> = serde_json::from_value(json!([
            { "grant_id": "grant-0190aaaa1111", "tool": "bash", "summary": "Run ls", "created_at": 3_600_000,
              "used": 0, "source": "web", "kind": "exact" },
            { "grant_id": "grant-0190bbbb2222", "tool": "bash", "summary": "Run `ls -l`", "created_at": 60_000,
              "used": 3, "last_used_at": 7_140_000, "kind": "bash_signature" },
            { "grant_id": "grant-0190cccc3333", "tool": "x\u{1b}", "summary": "y\u{1b}", "created_at": 0, "used": 1,
              "kind": "not_understood" },
        ]))
        .unwrap();
        let owned = Owned {
            owner: ("agent_id", "agent-1".to_owned()),
            label: "docs".to_owned(),
            grants,
        };
        let shown = listed(std::slice::from_ref(&owned), 7_200_000);
        assert_eq!(
            shown,
            "GRANT     AGENT  ALLOWS                        USED     LAST  AGE  BY\n\
             0190aaaa  docs   Run ls                        never    -     1h   web\n\
             0190bbbb  docs   Run `ls -l`, by its form      3 times  1m    1h   -\n\
             0190cccc  docs   nothing (not understood: y␛)  once     -     -    -\n"
        );
        let rows = rows(&[owned]).unwrap();
        assert_eq!(
            (&rows[0]["agent_id"], &rows[1]["used"]),
            (&json!("agent-1"), &json!(3))
        );
    }
}
