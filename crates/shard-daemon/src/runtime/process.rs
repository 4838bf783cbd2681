//! Starting and ending the process itself.

use std::io;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use rand::random;
use rustix::process::{Pid, Signal, kill_process_group};
use shard_protocol::{RuntimeCommand, RuntimeInit};
use shard_types::AgentId;
use tokio::process::{Child, Command};

/// This very program, also when its file was replaced meanwhile: agents and daemon are of one
/// build.
const THIS_PROGRAM: &str = "/proc/self/exe";

/// How often strays of a process are looked for before they are left to the next time.
const SWEEPS: usize = 50;

const BETWEEN_SWEEPS: Duration = Duration::from_millis(20);

/// What a process is started with.
#[derive(Debug, Clone)]
pub(crate) struct Launch {
    pub(crate) agent_id: AgentId,
    pub(crate) state_home: PathBuf,
    pub(crate) socket_path: PathBuf,
    pub(crate) trust_project: bool,
}

impl Launch {
    /// The first line that the process reads. Its token is not in the arguments or the
    /// environment, which others can see.
    pub(crate) fn introduction(&self) -> String {
        let init = RuntimeCommand::from(RuntimeInit {
            token: URL_SAFE_NO_PAD.encode(random::<[u8; 32]>()),
            agent_id: Some(self.agent_id.clone()),
            socket_path: Some(self.socket_path.to_string_lossy().into_owned()),
        });
        // Strings cannot fail to print.
        let mut line = serde_json::to_string(&init).unwrap_or_default();
        line.push('\n');
        line
    }

    pub(crate) fn spawn(&self) -> io::Result<Child> {
        let mut command = Command::new(THIS_PROGRAM);
        command
            .arg0("shard")
            .args(["agent", "--agent-id", self.agent_id.as_str()])
            // The agent's own folder may be gone, which the agent explains better.
            .current_dir(&self.state_home)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            // What the service manager told the daemon is for nobody else.
            .env_remove("NOTIFY_SOCKET")
            .env_remove("LISTEN_FDS")
            .env_remove("LISTEN_PID")
            .env_remove("LISTEN_FDNAMES")
            // What a terminal sends to the daemon is for the daemon.
            .process_group(0)
            .kill_on_drop(true);
        if self.trust_project {
            command.arg("--trust-project");
        }
        command.spawn()
    }
}

/// Kills the process with its group. What its tools started ends by itself: each has a keeper
/// that watches this process.
pub(crate) fn kill(child: &mut Child) {
    let pid = child.id().and_then(|pid| i32::try_from(pid).ok());
    match pid.and_then(Pid::from_raw) {
        Some(pid) => _ = kill_process_group(pid, Signal::KILL),
        None => _ = child.start_kill(),
    }
}

/// Waits for what a process that ended left to this one.
pub(crate) async fn sweep() {
    for _ in 0..SWEEPS {
        if shard_process::sweep_adopted() == 0 {
            return;
        }
        tokio::time::sleep(BETWEEN_SWEEPS).await;
    }
}

/// How a process ended, in words.
pub(crate) fn describe(status: &io::Result<ExitStatus>) -> String {
    match status {
        Ok(status) => match (status.code(), status.signal()) {
            (Some(code), _) => format!("it exited with code {code}"),
            (None, Some(signal)) => format!("it was killed by signal {signal}"),
            (None, None) => "it ended".to_owned(),
        },
        Err(error) => format!("its end could not be seen: {error}"),
    }
}
