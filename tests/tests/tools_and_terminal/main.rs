//! What happens at the edges of the agent: commands, files and histories that do not behave, a
//! person at a terminal, and a kill at every step of a turn.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod commands;
mod dialogs;
mod files;
mod histories;
mod kill_points;
mod pictures;
mod pty;
mod resending;
mod results;
mod signals;
mod terminal;

use std::path::Path;
use std::time::Duration;

use serde_json::Value;
use shard_testkit::{AgentProcess, Home, alive, until};

/// How long the processes of a command may live once it was ended.
const ENDS_WITHIN: Duration = Duration::from_secs(5);

/// The process id that a command wrote into a file of the work directory, once it is there.
async fn pid_in(home: &Home, file: &str) -> u32 {
    let path = home.work().join(file);
    let read = |path: &Path| {
        let text = std::fs::read_to_string(path).unwrap_or_default();
        text.strip_suffix('\n')?.parse::<u32>().ok()
    };
    until(&format!("{file} has a process id"), ENDS_WITHIN, || {
        read(&path).is_some()
    })
    .await;
    read(&path).unwrap()
}

async fn gone(pid: u32) {
    until("the process is gone", ENDS_WITHIN, || !alive(pid)).await;
}

/// Waits for a question for permission that came after the mark.
async fn asked(agent: &AgentProcess, mark: shard_testkit::Mark) -> Value {
    agent.wait_for_type(mark, "permission_request").await
}

fn word(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// Whether a terminal would act on something in it.
fn acts(text: &str) -> bool {
    text.chars()
        .any(|c| c.is_control() && !matches!(c, '\n' | '\t'))
}
