//! How fast an agent passes a streamed answer on.

use std::time::Instant;

use anyhow::{Result, bail};
use shard_testkit::{AgentProcess, Home, ScriptedModel, reply, text};

use crate::table::Table;

/// Pieces of the answer.
const DELTAS: usize = 50_000;

/// Reports the rate, of the best of three answers: what else runs on the machine only slows it.
pub(crate) async fn measure(table: &mut Table) -> Result<()> {
    let model = ScriptedModel::answering(|_| reply![text("word ".repeat(DELTAS)).chunks(DELTAS)]);
    let home = Home::new(&model);
    let agent = AgentProcess::start(&home, &[]);
    let mut best = f64::MAX;
    for _ in 0..3 {
        let began = Instant::now();
        let turn = agent.turn("Talk.").await;
        let took = began.elapsed().as_secs_f64();
        let came = turn.of("message_delta").len();
        if came != DELTAS {
            bail!("{came} deltas came of {DELTAS}");
        }
        best = best.min(took);
    }
    #[expect(clippy::cast_precision_loss, reason = "it is 50,000")]
    let rate = DELTAS as f64 / best;
    table
        .line("streamed deltas through an agent", &format!("{rate:.0}/s"))
        .aim("200000/s at least")
        .note("with the model's server and the reader on the same cores");
    agent.quit().await;
    Ok(())
}
