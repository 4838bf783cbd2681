//! What an agent takes that has nothing to do.

use anyhow::{Context, Result};
use shard_testkit::{Home, ScriptedModel};

use crate::child::IdleAgent;
use crate::table::Table;

/// How many agents are looked at, one after the other; the median counts.
const AGENTS: usize = 5;

/// An idle agent's share of the machine. Memory is the proportional set size in KiB: pages that
/// several processes share count in part.
#[derive(Debug)]
pub(crate) struct Idle {
    /// What it says of itself when its input has ended. It hides its memory from other users.
    told: Option<u64>,
    /// What root reads while it waits.
    read: Option<u64>,
    threads: u64,
}

impl Idle {
    pub(crate) fn report(&self, table: &mut Table) {
        table
            .line("an idle agent: memory, told by itself", &shown(self.told))
            .aim("5 MB PSS");
        table
            .line("an idle agent: memory, read by root", &shown(self.read))
            .aim("5 MB PSS");
        table.line("an idle agent: threads", &self.threads.to_string());
    }
}

pub(crate) fn shown(kib: Option<u64>) -> String {
    let Some(kib) = kib else {
        return "unknown".to_owned();
    };
    let bytes = kib * 1024;
    format!("{}.{:02} MB", bytes / 1_000_000, bytes / 10_000 % 100)
}

/// Looks at agents that have said `sync` and were asked nothing.
pub(crate) fn idle() -> Result<Idle> {
    let model = ScriptedModel::silent();
    let home = Home::builder().model(&model);
    let home = home.env("SHARD_LOG", "shard=debug").build();
    let seen: Result<Vec<Idle>> = (0..AGENTS).map(|_| look(&home)).collect();
    let mut seen = seen?;
    seen.sort_by_key(|idle| idle.told.or(idle.read));
    Ok(seen.swap_remove(AGENTS / 2))
}

/// The memory that an agent started with these arguments says that it has, in KiB; the median.
pub(crate) fn kept_by(home: &Home, arguments: &[&str]) -> Result<Option<u64>> {
    let told = |_| {
        let agent = IdleAgent::start(home, arguments)?;
        Ok(number_after(&without_colors(&agent.finish()?), "pss_kb="))
    };
    let mut seen = (0..AGENTS).map(told).collect::<Result<Vec<_>>>()?;
    seen.sort_unstable();
    Ok(seen.swap_remove(AGENTS / 2))
}

fn look(home: &Home) -> Result<Idle> {
    let agent = IdleAgent::start(home, &[])?;
    let place = format!("/proc/{}", agent.pid());
    let status = std::fs::read_to_string(format!("{place}/status"))?;
    let rollup = std::fs::read_to_string(format!("{place}/smaps_rollup")).unwrap_or_default();
    let said = without_colors(&agent.finish()?);
    Ok(Idle {
        told: number_after(&said, "pss_kb="),
        read: number_after(&rollup, "\nPss:"),
        threads: number_after(&status, "\nThreads:").context("no count of threads")?,
    })
}

/// Takes out the escape sequences that a log may be coloured with.
fn without_colors(text: &str) -> String {
    let mut parts = text.split("\x1b[");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |plain, part| {
        plain + part.split_once('m').map_or(part, |(_color, rest)| rest)
    })
}

/// The number behind the first place of that name.
pub(crate) fn number_after(text: &str, name: &str) -> Option<u64> {
    let (_, rest) = text.split_once(name)?;
    let rest = rest.trim_start();
    let end = rest.find(|c: char| !c.is_ascii_digit());
    rest[..end.unwrap_or(rest.len())].parse().ok()
}
