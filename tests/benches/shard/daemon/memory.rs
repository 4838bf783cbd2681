//! What an idle daemon takes with none, some and many stored agents, and what each further idle agent
//! adds to the machine.

use anyhow::Result;
use shard_testkit::{Home, ScriptedModel, descendants};

use super::peer::Daemon;
use super::stored::store;
use crate::memory::{number_after, shown};
use crate::table::Table;

/// Agents before and after; the difference counts, so that what all of them share does not.
const FEW: usize = 4;
const MANY: usize = 50;

/// Agents that are stored and do not run.
const STORED: [usize; 3] = [0, 100, 500];

/// Proportional set sizes in KiB, where they can be read: by root.
pub(crate) struct Idle {
    stored: [Option<u64>; STORED.len()],
    /// The daemon alone with 50 agents that run, and all of them together.
    running: [Option<u64>; 2],
    further_agent: Option<u64>,
}

impl Idle {
    pub(crate) fn report(&self, table: &mut Table) {
        for (count, memory) in STORED.iter().zip(self.stored) {
            let name = format!("an idle daemon, {count} stored agents: memory");
            table.line(&name, &shown(memory));
        }
        let [daemon, all] = self.running.map(shown);
        let name = format!("an idle daemon, {MANY} running agents: memory");
        table.line(&name, &daemon).note(&format!("{all} with them"));
        table
            .line(
                "each further idle agent: memory",
                &shown(self.further_agent),
            )
            .aim("2 MB PSS");
    }
}

pub(crate) fn idle() -> Result<Idle> {
    let model = ScriptedModel::silent();
    let home = Home::new(&model);
    let daemon = Daemon::start(&home)?;
    let mut peer = daemon.connect()?;
    let mut made = |count: usize| -> Result<Option<u64>> {
        for _ in 0..count {
            daemon.create(&mut peer)?;
        }
        Ok(whole(daemon.pid()))
    };
    let few = made(FEW)?;
    let many = made(MANY - FEW)?;
    let further = few
        .zip(many)
        .map(|(few, many)| many.saturating_sub(few) / u64::try_from(MANY - FEW).unwrap_or(1));
    let mut stored = [None; STORED.len()];
    for (count, memory) in STORED.iter().zip(&mut stored) {
        *memory = with_stored(*count)?;
    }
    Ok(Idle {
        stored,
        running: [pss(daemon.pid()), many],
        further_agent: further,
    })
}

fn with_stored(count: usize) -> Result<Option<u64>> {
    let model = ScriptedModel::silent();
    let home = Home::new(&model);
    for number in 0..count {
        store(&home.shard_home(), number)?;
    }
    let daemon = Daemon::start(&home)?;
    daemon.connect()?;
    Ok(pss(daemon.pid()))
}

/// The daemon and its agents together.
fn whole(daemon: u32) -> Option<u64> {
    let agents = descendants(daemon).into_iter();
    agents.chain([daemon]).map(pss).sum()
}

fn pss(pid: u32) -> Option<u64> {
    let rollup = std::fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).ok()?;
    number_after(&rollup, "\nPss:")
}
