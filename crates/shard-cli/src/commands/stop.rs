//! `shard stop`: ends an agent's process once it has nothing to do.

use shard_protocol::{AgentTerminate, Terminated};

use super::block_on;
use crate::args::StopArgs;
use crate::client::{ANSWER, Client};
use crate::failure::{Failure, print};
use crate::places::Places;

pub(crate) fn run(args: &StopArgs) -> Result<(), Failure> {
    let places = Places::find()?;
    block_on(async {
        let mut client = Client::connect(&places).await?;
        let agent_id = client.find(&args.agent).await?.agent_id;
        let terminate = AgentTerminate {
            agent_id: agent_id.clone(),
        };
        let Terminated { deferred } = client.call(terminate, ANSWER).await?;
        print(&if deferred {
            format!("{agent_id} is at work; it stops when that is done. `shard kill` does not wait")
        } else {
            format!("{agent_id} is stopped; a prompt starts it again")
        })?;
        Ok(())
    })
}
