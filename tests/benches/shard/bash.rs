//! What a command costs between two calls to the model.

use std::time::Instant;

use anyhow::{Result, bail};
use serde_json::json;
use shard_testkit::{AgentProcess, Home, ScriptedModel, reply, tool};

use crate::child::run_bare;
use crate::samples::Samples;
use crate::{ROUNDS, WARM_UPS};

/// Times of rounds, and of the bare shell.
#[derive(Debug, Default)]
pub(crate) struct BashTimes {
    pub(crate) bare: Samples,
    /// From the end of the reply that calls `bash` to the arrival of its result.
    pub(crate) gap: Samples,
}

/// Has one agent run `true` in turn after turn.
pub(crate) async fn rounds() -> Result<BashTimes> {
    let mut calls = 0;
    let model = ScriptedModel::answering(move |_| {
        calls += 1;
        match calls % 2 {
            1 => reply![tool("bash", json!({"command": "true"}))],
            _ => reply!["Done."],
        }
    });
    let home = Home::new(&model);
    let agent = AgentProcess::start(&home, &[]);
    let mut times = BashTimes::default();
    for round in 0..WARM_UPS + ROUNDS {
        let turn = agent.turn("Run it.").await;
        if turn.results().len() != 1 || turn.results()[0]["is_error"] != false {
            bail!("the command did not go well: {:?}", turn.results());
        }
        let over = model.played(2 * round).await;
        let arrived = model.request(2 * round + 1).await.arrived;

        let began = Instant::now();
        run_bare(&home, "bash", &["-c", "true"])?;
        let bare = began.elapsed();
        if round >= WARM_UPS {
            times.gap.push(arrived.duration_since(over));
            times.bare.push(bare);
        }
    }
    agent.quit().await;
    Ok(times)
}
