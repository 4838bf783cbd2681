//! `shard ls`: the agents there are.

use std::path::Path;

use serde_json::Value;
use shard_protocol::AgentList;
use shard_types::{AgentInfo, time};

use super::block_on;
use super::show::{age, home_as_tilde, table, word};
use crate::args::ListArgs;
use crate::client::lookup::{name, short};
use crate::client::{ANSWER, Client};
use crate::failure::{Failure, print, say};
use crate::places::Places;

pub(crate) fn run(args: &ListArgs) -> Result<(), Failure> {
    let places = Places::find()?;
    let data: Value = block_on(async {
        let mut client = Client::connect(&places).await?;
        client.call(AgentList {}, ANSWER).await
    })?;
    let agents = data.get("agents").cloned().unwrap_or_default();
    if args.json {
        print(&serde_json::to_string_pretty(&agents)?)?;
        return Ok(());
    }
    let agents: Vec<AgentInfo> = serde_json::from_value(agents)?;
    if agents.is_empty() {
        say("there are no agents; make one with `shard new`, in the folder that it is to work in");
        return Ok(());
    }
    print(&listed(&agents, places.home.as_deref(), time::now_ms()))?;
    Ok(())
}

fn listed(agents: &[AgentInfo], home: Option<&Path>, now: u64) -> String {
    let row = |agent: &AgentInfo| {
        [
            short(&agent.agent_id, agents).to_owned(),
            name(agent).unwrap_or("-").to_owned(),
            word(&agent.status),
            word(&agent.runtime_state),
            model(agent),
            home_as_tilde(&agent.cwd, home),
            age(agent.created_at, now),
        ]
    };
    let rows: Vec<_> = agents.iter().map(row).collect();
    table(
        ["ID", "NAME", "STATUS", "RUNTIME", "MODEL", "FOLDER", "AGE"],
        &rows,
    )
}

fn model(agent: &AgentInfo) -> String {
    match (&agent.provider, &agent.model) {
        (Some(provider), Some(model)) => format!("{provider}/{model}"),
        (None, Some(model)) => model.clone(),
        (_, None) => "-".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_list_is_a_table() {
        let agents: Vec<AgentInfo> = serde_json::from_value(json!([
            { "agent_id": "agent-0190aaaa1111", "name": "docs", "cwd": "/home/a/docs", "model": "demo", "provider": "demo",
              "status": "waiting_for_permission", "runtime_state": "running", "created_at": 0 },
            { "agent_id": "agent-0190bbbb2222", "cwd": "/srv", "status": "idle",
              "runtime_state": "stopped", "created_at": 60_000 },
        ]))
        .unwrap();
        assert_eq!(
            listed(&agents, Some(Path::new("/home/a")), 7_200_000),
            "ID        NAME  STATUS                  RUNTIME  MODEL      FOLDER  AGE\n\
             0190aaaa  docs  waiting_for_permission  running  demo/demo  ~/docs  2h\n\
             0190bbbb  -     idle                    stopped  -          /srv    1h\n"
        );
    }
}
