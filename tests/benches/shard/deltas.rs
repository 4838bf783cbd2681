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
    let (mut best, mut least) = (f64::MAX, f64::MAX);
    for _ in 0..3 {
        let (began, spent) = (Instant::now(), cpu_seconds(agent.pid())?);
        let turn = agent.turn("Talk.").await;
        let took = began.elapsed().as_secs_f64();
        let came = turn.of("message_delta").len();
        if came != DELTAS {
            bail!("{came} deltas came of {DELTAS}");
        }
        best = best.min(took);
        least = least.min(cpu_seconds(agent.pid())? - spent);
    }
    table
        .line("streamed deltas through an agent", &rate(best))
        .aim("200000/s at least")
        .note("with the model's server and the reader on the same cores");
    table.line("the same, by the agent's own time on a core", &rate(least));
    agent.quit().await;
    Ok(())
}

#[expect(clippy::cast_precision_loss, reason = "it is 50,000")]
fn rate(seconds: f64) -> String {
    format!("{:.0}/s", DELTAS as f64 / seconds)
}

/// How long a process has kept cores busy, in seconds. The clock goes in steps of 10 ms.
pub(crate) fn cpu_seconds(pid: u32) -> Result<f64> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat"))?;
    // The name may hold blanks; it ends with the last parenthesis.
    let after_name = stat.rsplit(')').next().unwrap_or_default();
    let mut ticks = 0.0;
    for field in after_name.split_whitespace().skip(11).take(2) {
        ticks += field.parse::<f64>()?;
    }
    Ok(ticks / 100.0)
}
