//! What an agent takes that has nothing to do.

use anyhow::{Context, Result};
use shard_testkit::{Home, ScriptedModel};

use crate::child::IdleAgent;

/// How many agents are looked at, one after the other; the median counts.
const AGENTS: usize = 5;

/// An idle agent's share of the machine.
#[derive(Debug)]
pub(crate) struct Idle {
    /// The proportional set size in KiB: pages that several processes share count in part.
    pss_kib: Option<u64>,
    /// Who said so.
    pub(crate) source: &'static str,
    pub(crate) threads: u64,
}

impl Idle {
    pub(crate) fn shown(&self) -> String {
        match self.pss_kib {
            Some(kib) => format!(
                "{}.{:02} MB",
                kib * 1024 / 1_000_000,
                kib * 1024 / 10_000 % 100
            ),
            None => "unknown".to_owned(),
        }
    }
}

/// Looks at agents that have said `sync` and were asked nothing.
pub(crate) fn idle() -> Result<Idle> {
    let model = ScriptedModel::silent();
    let home = Home::builder().model(&model);
    let home = home.env("SHARD_LOG", "shard=debug").build();
    let seen: Result<Vec<Idle>> = (0..AGENTS).map(|_| look(&home)).collect();
    let mut seen = seen?;
    seen.sort_by_key(|idle| idle.pss_kib);
    Ok(seen.swap_remove(AGENTS / 2))
}

fn look(home: &Home) -> Result<Idle> {
    let agent = IdleAgent::start(home)?;
    let place = format!("/proc/{}", agent.pid());
    let status = std::fs::read_to_string(format!("{place}/status"))?;
    let threads = number_after(&status, "Threads:").context("no count of threads")?;
    // An agent hides its memory from everyone but root, and so has to say it itself.
    let rollup = std::fs::read_to_string(format!("{place}/smaps_rollup")).unwrap_or_default();
    let own = number_after(&agent.finish()?, "pss_kb=");
    let seen = number_after(&rollup, "Pss:");
    let source = match (own, seen) {
        (Some(_), _) => "told by the agent",
        (None, Some(_)) => "read by root",
        (None, None) => "not told, and only root may read it",
    };
    Ok(Idle {
        pss_kib: own.or(seen),
        source,
        threads,
    })
}

/// The number behind the last place of that name.
fn number_after(text: &str, name: &str) -> Option<u64> {
    let (_, rest) = text.rsplit_once(name)?;
    let rest = rest.trim_start();
    let end = rest.find(|c: char| !c.is_ascii_digit());
    rest[..end.unwrap_or(rest.len())].parse().ok()
}
