//! What the daemon adds: memory for each agent, time for each chunk, and how much passes through;
//! and what many stored agents cost.

mod chunks;
mod events;
mod many;
mod memory;
mod new_agent;
mod peer;
mod restore;
mod stored;

use anyhow::Result;

use crate::table::Table;

/// Measures all of it.
pub(crate) async fn measure(table: &mut Table) -> Result<()> {
    memory::idle()?.report(table);
    let new = new_agent::times()?;
    table.times("an agent's process: until the first token", &new.bare);
    table
        .times("agent.create: until the first token", &new.daemon)
        .aim("20 ms")
        .beside(new.daemon.median(), new.bare.median());
    table
        .times("a stopped agent: from attach to sync", &restore::times()?)
        .aim("30 ms");
    let chunks = chunks::times().await?;
    table.times("a chunk, from the model through a process", &chunks.bare);
    table
        .times("a chunk, from the model through the daemon", &chunks.daemon)
        .aim("the process + 0.2 ms")
        .beside(chunks.daemon.median(), chunks.bare.median());
    many::report(table)?;
    stored::times()?.report(table);
    events::report(table)
}
