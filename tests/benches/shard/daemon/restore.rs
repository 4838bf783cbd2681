//! How soon an agent whose process was ended for want of work is there again.

use std::time::Instant;

use anyhow::Result;
use serde_json::json;
use shard_testkit::{Home, ScriptedModel, reply};

use super::peer::Daemon;
use crate::samples::Samples;
use crate::{ROUNDS, WARM_UPS};

/// Times from `agent.attach` to the `sync`.
pub(crate) fn times() -> Result<Samples> {
    let model = ScriptedModel::answering(|_| reply!["Hello."]);
    let home = Home::new(&model);
    let daemon = Daemon::start(&home)?;
    let mut watcher = daemon.connect()?;
    let agent = daemon.create(&mut watcher)?;
    let mut first = daemon.connect()?;
    daemon.attach(&mut first, &agent)?;
    first.prompt("hi")?;
    first.until("turn_end")?;
    drop(first);
    let mut times = Samples::default();
    for round in 0..WARM_UPS + ROUNDS {
        watcher.answer(json!({ "type": "agent.terminate", "agent_id": agent }))?;
        watcher.until_text("\"runtime_state\":\"stopped\"")?;
        let mut peer = daemon.connect()?;
        let began = Instant::now();
        daemon.attach(&mut peer, &agent)?;
        if round >= WARM_UPS {
            times.push(began.elapsed());
        }
    }
    Ok(times)
}
