//! How fast the program starts, how little memory it keeps, what a tool call costs on top of what it
//! does, how fast answers pass through, and what a long session costs.
//!
//! Measures the program at `SHARD_BIN` against the scripted model, which answers at once from a
//! thread of this process. Reports; judges nothing: times depend on the machine, so each stands
//! beside a bare process of the same kind, measured in between.

#![expect(clippy::print_stdout, reason = "the table is what this is for")]

mod child;
mod daemon;
mod deltas;
mod memory;
mod rounds;
mod samples;
mod sessions;
mod start;
mod table;

use anyhow::Result;

use table::Table;

/// How often a thing is measured.
const ROUNDS: usize = 40;

/// How often it is done before that, for caches to fill.
const WARM_UPS: usize = 5;

fn main() -> Result<()> {
    // `cargo test --all-targets` starts benchmarks too, but without this argument.
    if !std::env::args().any(|argument| argument == "--bench") {
        return Ok(());
    }
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let table = runtime.block_on(measure())?;
    println!("{table}");
    Ok(())
}

async fn measure() -> Result<Table> {
    let mut table = Table::default();
    let run = start::run().await?;
    let bare = run.bare.median();
    table.times("a bare process (true)", &run.bare);
    table
        .times("shard run: until the first request", &run.request)
        .aim("15 ms")
        .beside(run.request.median(), bare);
    table
        .times("shard run: whole", &run.whole)
        .aim("25 ms")
        .beside(run.whole.median(), bare);
    let sync = start::agent()?;
    table
        .times("shard agent: until sync", &sync)
        .beside(sync.median(), bare);
    rounds::measure(&mut table).await?;
    deltas::measure(&mut table).await?;
    memory::idle()?.report(&mut table);
    sessions::measure(&mut table)?;
    daemon::measure(&mut table).await?;
    Ok(table)
}
