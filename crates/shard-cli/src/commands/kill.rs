//! `shard kill`: ends an agent's process now.

use serde_json::Value;
use shard_protocol::AgentKill;

use super::block_on;
use crate::args::KillArgs;
use crate::client::{ANSWER, Client};
use crate::failure::{Failure, print};
use crate::places::Places;

pub(crate) fn run(args: &KillArgs) -> Result<(), Failure> {
    let places = Places::find()?;
    block_on(async {
        let mut client = Client::connect(&places).await?;
        let agent_id = client.find(&args.agent).await?.agent_id;
        let kill = AgentKill {
            agent_id: agent_id.clone(),
            force: args.force.then_some(true),
        };
        let _: Value = client.call(kill, ANSWER).await?;
        print(&format!(
            "{agent_id} is stopped; its conversation is kept, and a prompt starts it again"
        ))?;
        Ok(())
    })
}
