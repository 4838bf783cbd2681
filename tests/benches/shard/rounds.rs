//! What a tool call costs between two calls to the model.

use std::time::Instant;

use anyhow::{Result, bail};
use serde_json::{Value, json};
use shard_testkit::{AgentProcess, Home, ScriptedModel, reply, tool};

use crate::child::run_bare;
use crate::samples::Samples;
use crate::table::Table;
use crate::{ROUNDS, WARM_UPS};

/// Files that are searched, and lines of each.
const FILES: usize = 2000;
const LINES: usize = 100;

/// Times of rounds, and of a program that does the same by itself.
#[derive(Debug, Default)]
struct Times {
    bare: Samples,
    /// From the end of the reply with the call to the arrival of its result.
    gap: Samples,
}

/// Reports what a round of each of the usual tools takes.
pub(crate) async fn measure(table: &mut Table) -> Result<()> {
    let bash = rounds("bash", json!({"command": "true"}), &["bash", "-c", "true"]).await?;
    table.times("a bare bash (bash -c true)", &bash.bare);
    table
        .times("a bash round: reply over to next request", &bash.gap)
        .aim("bare bash + 2 ms")
        .beside(bash.gap.median(), bash.bare.median());
    let read = rounds("read", json!({"path": "tree/0/0.txt"}), &["true"]).await?;
    table
        .times("a read round", &read.gap)
        .aim("1 ms")
        .beside(read.gap.median(), read.bare.median());
    // A handful of matches: both have to look at everything, and print next to nothing.
    let pattern = "needle 1979[0-9]+ in";
    let searched = ["rg", "--sort", "path", "-n", pattern, "tree"];
    match rounds(
        "grep",
        json!({"pattern": pattern, "path": "tree"}),
        &searched,
    )
    .await
    {
        Ok(grep) => {
            table.times(&format!("rg over {FILES} files"), &grep.bare);
            table
                .times("a grep round over the same", &grep.gap)
                .aim("rg x 1.3")
                .beside(grep.gap.median(), grep.bare.median());
        }
        Err(error) => {
            table
                .line("rg", "-")
                .note(&format!("not compared: {error}"));
        }
    }
    Ok(())
}

/// Has one agent make the same call in turn after turn, and a program of its own beside it.
async fn rounds(name: &str, args: Value, bare: &[&str]) -> Result<Times> {
    let mut calls = 0;
    let call = tool(name, args);
    let model = ScriptedModel::answering(move |_| {
        calls += 1;
        match calls % 2 {
            1 => reply![call.clone()],
            _ => reply!["Done."],
        }
    });
    let home = Home::new(&model);
    let files = if name == "bash" { 0 } else { FILES };
    for file in 0..files {
        let lines =
            (0..LINES).map(|line| format!("line {line} with needle {} in it\n", file * line));
        home.write(
            &format!("tree/{}/{file}.txt", file % 40),
            lines.collect::<String>(),
        );
    }
    let agent = AgentProcess::start(&home, &[]);
    let mut times = Times::default();
    for round in 0..WARM_UPS + ROUNDS {
        let turn = agent.turn("Run it.").await;
        if turn.results().len() != 1 || turn.results()[0]["is_error"] != false {
            bail!("the call did not go well: {:?}", turn.results());
        }
        let over = model.played(2 * round).await;
        let arrived = model.request(2 * round + 1).await.arrived;

        let began = Instant::now();
        run_bare(&home, bare[0], &bare[1..])?;
        let bare = began.elapsed();
        if round >= WARM_UPS {
            times.gap.push(arrived.duration_since(over));
            times.bare.push(bare);
        }
    }
    agent.quit().await;
    Ok(times)
}
