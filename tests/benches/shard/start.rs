//! From the start of the process to its first words.

use std::time::Instant;

use anyhow::{Result, bail};
use shard_testkit::{Home, ScriptedModel, reply};

use crate::child::{IdleAgent, command, run_bare};
use crate::samples::Samples;
use crate::{ROUNDS, WARM_UPS};

/// Times of `shard run`, and of a process that does nothing.
#[derive(Debug, Default)]
pub(crate) struct RunTimes {
    pub(crate) bare: Samples,
    pub(crate) request: Samples,
    pub(crate) whole: Samples,
}

/// Times `shard run "hi"`.
pub(crate) async fn run() -> Result<RunTimes> {
    let model = ScriptedModel::answering(|_| reply!["Hello."]);
    let home = Home::new(&model);
    let mut times = RunTimes::default();
    for round in 0..WARM_UPS + ROUNDS {
        let began = Instant::now();
        run_bare(&home, "true", &[])?;
        let bare = began.elapsed();

        let mut command = command(&home, home.binary());
        command.args(["run", "hi"]);
        let began = Instant::now();
        let output = command.output()?;
        let whole = began.elapsed();
        if !output.status.success() || !output.stdout.starts_with(b"Hello.") {
            bail!("`shard run hi` did not go well: {output:?}");
        }
        let arrived = model.request(round).await.arrived;
        if round >= WARM_UPS {
            times.bare.push(bare);
            times.request.push(arrived.duration_since(began));
            times.whole.push(whole);
        }
    }
    Ok(times)
}

/// Times `shard agent` until its `sync`.
pub(crate) fn agent() -> Result<Samples> {
    let model = ScriptedModel::silent();
    let home = Home::new(&model);
    let mut times = Samples::default();
    for round in 0..WARM_UPS + ROUNDS {
        let began = Instant::now();
        let agent = IdleAgent::start(&home, &[])?;
        let took = began.elapsed();
        agent.finish()?;
        if round >= WARM_UPS {
            times.push(took);
        }
    }
    Ok(times)
}
