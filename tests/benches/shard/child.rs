//! Processes that are timed: started plainly, with nothing of the runtime between.

use std::io::{BufRead, BufReader};
use std::process::{Child, ChildStdout, Command, Stdio};

use anyhow::{Context, Result, bail};
use serde_json::Value;
use shard_testkit::Home;

/// A program in the home's work directory and environment.
pub(crate) fn command(home: &Home, program: impl AsRef<std::ffi::OsStr>) -> Command {
    let mut command = Command::new(program);
    command
        .current_dir(home.work())
        .env_clear()
        .envs(home.env())
        .stdin(Stdio::null());
    command
}

/// Runs a program that says nothing, from its start to its end.
pub(crate) fn run_bare(home: &Home, program: &str, arguments: &[&str]) -> Result<()> {
    let mut command = command(home, program);
    command.args(arguments).stdout(Stdio::null());
    let status = command.status();
    let status = status.with_context(|| format!("cannot start {program}"))?;
    if !status.success() {
        bail!("{program} failed ({status})");
    }
    Ok(())
}

/// A `shard agent` that has said `sync`.
#[derive(Debug)]
pub(crate) struct IdleAgent {
    child: Child,
    /// Held so that the agent can go on writing.
    _stdout: BufReader<ChildStdout>,
}

impl IdleAgent {
    /// Starts one and waits for its `sync`.
    pub(crate) fn start(home: &Home, arguments: &[&str]) -> Result<Self> {
        let binary = home.binary();
        let mut command = command(home, binary);
        command.arg("agent").args(arguments).stdin(Stdio::piped());
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command
            .spawn()
            .with_context(|| format!("cannot start {}", binary.display()))?;
        let stdout = child.stdout.take().context("the agent has no output")?;
        let mut stdout = BufReader::new(stdout);
        let mut line = String::new();
        while !is_sync(&line) {
            line.clear();
            if stdout.read_line(&mut line)? == 0 {
                let output = child.wait_with_output()?;
                let complaint = String::from_utf8_lossy(&output.stderr);
                bail!("the agent ended before it said `sync`: {complaint}");
            }
        }
        Ok(Self {
            child,
            _stdout: stdout,
        })
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Closes its input and waits for its end; gives what it wrote to standard error.
    pub(crate) fn finish(self) -> Result<String> {
        let output = self.child.wait_with_output()?;
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        if !output.status.success() {
            bail!("the agent failed ({}): {stderr}", output.status);
        }
        Ok(stderr)
    }
}

fn is_sync(line: &str) -> bool {
    let message = serde_json::from_str::<Value>(line);
    message.is_ok_and(|message| message["type"] == "sync")
}
