//! A home with many agents, none of which runs: how soon the daemon answers, and lists them.

use std::fs;
use std::path::Path;
use std::time::Instant;

use anyhow::{Result, bail};
use serde_json::json;
use shard_testkit::{Home, ScriptedModel};

use super::peer::Daemon;
use crate::WARM_UPS;
use crate::memory::{number_after, shown};
use crate::samples::Samples;
use crate::table::Table;

/// Agents that the home has.
const AGENTS: usize = 10_000;

/// Starts that are measured, of each sort.
const STARTS: usize = 10;

/// Times until a daemon answers, and of `agent.list`.
#[derive(Default)]
pub(crate) struct Many {
    empty: Samples,
    start: Samples,
    list: Samples,
    /// KiB, and those of a daemon without agents.
    memory: [Option<u64>; 2],
}

impl Many {
    pub(crate) fn report(&self, table: &mut Table) {
        table
            .times(
                "10,000 stored agents: until the daemon answers",
                &self.start,
            )
            .aim("500 ms")
            .beside(self.start.median(), self.empty.median());
        table
            .times("10,000 stored agents: agent.list", &self.list)
            .aim("100 ms");
        let [empty, full] = self.memory.map(shown);
        table
            .line("10,000 stored agents: memory", &full)
            .note(&format!("{empty} without them"));
    }
}

pub(crate) fn times() -> Result<Many> {
    let model = ScriptedModel::silent();
    let (empty, full) = (Home::new(&model), Home::new(&model));
    for number in 0..AGENTS {
        store(&full.shard_home(), number)?;
    }
    let mut many = Many::default();
    for round in 0..WARM_UPS + STARTS {
        let began = Instant::now();
        let daemon = Daemon::start(&empty)?;
        daemon.connect()?;
        let bare = began.elapsed();
        many.memory[0] = resident(daemon.pid());
        drop(daemon);

        let began = Instant::now();
        let daemon = Daemon::start(&full)?;
        let mut peer = daemon.connect()?;
        let start = began.elapsed();
        many.memory[1] = resident(daemon.pid());
        let began = Instant::now();
        let answer = peer.answer(json!({ "type": "agent.list" }))?;
        let list = began.elapsed();
        if answer.matches("agent_id").count() != AGENTS {
            bail!("not all agents are listed: {} bytes", answer.len());
        }
        if round >= WARM_UPS {
            many.empty.push(bare);
            many.start.push(start);
            many.list.push(list);
        }
    }
    Ok(many)
}

/// What the daemon keeps of an agent, as it writes it.
pub(super) fn store(state_home: &Path, number: usize) -> Result<()> {
    let (agent, session) = (
        format!("agent-{number:032x}"),
        format!("session-{number:032x}"),
    );
    let folder = state_home.join("agents").join(&agent);
    fs::create_dir_all(&folder)?;
    let manifest = json!({
        "version": 1,
        "agent_id": agent,
        "session_id": session,
        "cwd": format!("/home/somebody/projects/{}", number % 100),
        "name": format!("agent number {number}"),
        "model": "mock/m1",
        "mode": "build",
        "headless_policy": "queue",
        "created_at": 1_700_000_000_000_u64 + number as u64,
        "usage": { "input": 1200, "output": 300, "context_tokens": 1500 },
    });
    Ok(fs::write(
        folder.join("manifest.json"),
        format!("{manifest:#}"),
    )?)
}

fn resident(pid: u32) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    number_after(&status, "\nVmRSS:")
}
