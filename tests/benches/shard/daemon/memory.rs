//! What an idle daemon takes, and what each further idle agent adds to the machine.

use anyhow::Result;
use shard_testkit::{Home, ScriptedModel, descendants};

use super::peer::Daemon;
use crate::memory::{number_after, shown};
use crate::table::Table;

/// Agents before and after; the difference counts, so that what all of them share does not.
const FEW: usize = 4;
const MANY: usize = 24;

/// Proportional set sizes in KiB, where they can be read: by root.
pub(crate) struct Idle {
    daemon: Option<u64>,
    further_agent: Option<u64>,
}

impl Idle {
    pub(crate) fn report(&self, table: &mut Table) {
        table.line("an idle daemon: memory", &shown(self.daemon));
        table
            .line(
                "each further idle agent: memory",
                &shown(self.further_agent),
            )
            .aim("3 MB PSS");
    }
}

pub(crate) fn idle() -> Result<Idle> {
    let model = ScriptedModel::silent();
    let home = Home::new(&model);
    let daemon = Daemon::start(&home)?;
    let mut peer = daemon.connect()?;
    let alone = pss(daemon.pid());
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
    Ok(Idle {
        daemon: alone,
        further_agent: further,
    })
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
