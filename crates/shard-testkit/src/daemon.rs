//! `shard daemon`, from its start to its end.

use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::{Value, json};
use tokio::process::Child;
use tokio::sync::Mutex;

use crate::browser::Browser;
use crate::child::{self, Collected};
use crate::client::Client;
use crate::home::Home;
use crate::procs::{command_line, descendants, signal};

/// How long a daemon may take until it answers.
const START_DEADLINE: Duration = Duration::from_secs(20);

/// How long it may take to end.
const EXIT_DEADLINE: Duration = Duration::from_secs(15);

/// A running `shard daemon` on a port of its own, in a process group of its own. It is killed and
/// waited for on drop; its agents notice that by themselves.
#[derive(Debug)]
pub struct DaemonProcess {
    child: Mutex<Child>,
    pid: u32,
    file: Value,
    stdout: Collected,
    stderr: Collected,
}

impl DaemonProcess {
    /// Starts `shard daemon --port 0 ARGS` and waits until it answers.
    ///
    /// # Panics
    /// When it does not within 20 s.
    pub async fn start(home: &Home, args: &[&str]) -> Self {
        Self::start_at(home, 0, args).await
    }

    /// The same in the place of a daemon that is gone: on its port.
    ///
    /// # Panics
    /// As [`start`](Self::start).
    pub async fn start_on(home: &Home, port: u16) -> Self {
        Self::start_at(home, port, &[]).await
    }

    /// The same on this port, or with 0 on any.
    ///
    /// # Panics
    /// As [`start`](Self::start).
    pub async fn start_at(home: &Home, port: u16, args: &[&str]) -> Self {
        let port = port.to_string();
        let mut all = vec!["daemon", "--port", &port];
        all.extend(args);
        let mut child = child::spawn(home, &all, Stdio::null());
        let (Some(stdout), Some(stderr)) = (child.stdout.take(), child.stderr.take()) else {
            panic!("the daemon has no pipes");
        };
        let mut daemon = Self {
            pid: child.id().unwrap_or_default(),
            child: Mutex::new(child),
            file: Value::Null,
            stdout: Collected::from(stdout).0,
            stderr: Collected::from(stderr).0,
        };
        let deadline = Instant::now() + START_DEADLINE;
        while !daemon.answers(home).await {
            let ended = daemon.child.get_mut().try_wait();
            assert!(
                matches!(ended, Ok(None)) && Instant::now() < deadline,
                "waited until the daemon answers; it ended: {ended:?}\nstderr: {}",
                daemon.stderr.tail()
            );
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        daemon
    }

    /// Whether it has said where it is and can be reached there. What another daemon left behind
    /// is not taken for it.
    async fn answers(&mut self, home: &Home) -> bool {
        let file = std::fs::read(home.shard_home().join("daemon.json")).unwrap_or_default();
        self.file = serde_json::from_slice(&file).unwrap_or_default();
        self.file["pid"] == self.pid
            && self.stdout.text().contains('\n')
            && tokio::net::UnixStream::connect(self.socket()).await.is_ok()
    }

    /// The process id.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// What it wrote into `daemon.json`.
    #[must_use]
    pub fn file(&self) -> &Value {
        &self.file
    }

    /// Where its unix socket is.
    #[must_use]
    pub fn socket(&self) -> PathBuf {
        Path::new(self.file["socketPath"].as_str().unwrap_or_default()).to_owned()
    }

    /// The port of its listener.
    #[must_use]
    pub fn port(&self) -> u16 {
        let port = self.file["httpPort"].as_u64();
        port.and_then(|port| port.try_into().ok())
            .unwrap_or_default()
    }

    /// What was written to standard output so far.
    #[must_use]
    pub fn stdout(&self) -> String {
        self.stdout.text()
    }

    /// What was written to standard error so far.
    #[must_use]
    pub fn stderr(&self) -> String {
        self.stderr.text()
    }

    /// The setup token of the URL that it printed at its start.
    ///
    /// # Panics
    /// When it printed none.
    #[must_use]
    pub fn setup_token(&self) -> String {
        let text = self.stdout();
        let token = text.split_once("#setup=").map(|(_, rest)| rest);
        let token = token.and_then(|rest| rest.split_whitespace().next());
        token
            .unwrap_or_else(|| panic!("no setup URL in {text:?}"))
            .to_owned()
    }

    /// Opens a connection over the unix socket.
    ///
    /// # Panics
    /// When nobody listens.
    pub async fn connect(&self) -> Client {
        match tokio::net::UnixStream::connect(self.socket()).await {
            Ok(stream) => Client::over_unix(stream),
            Err(error) => panic!("the daemon's socket was not opened: {error}"),
        }
    }

    /// Lets another browser in.
    pub async fn browser(&self) -> Browser {
        let data = self.connect().await.ok("auth.token", json!({})).await;
        Browser::enroll(self.port(), data["token"].as_str().unwrap_or_default()).await
    }

    /// The process that serves an agent, if there is one.
    #[must_use]
    pub fn agent_pid(&self, agent_id: &str) -> Option<u32> {
        let wanted = format!("agent --agent-id {agent_id} ");
        let below = descendants(self.pid);
        below
            .into_iter()
            .find(|pid| command_line(*pid).contains(&wanted))
    }

    /// Ends the process with SIGKILL, and only it, and waits for that.
    pub async fn kill9(&self) {
        let killed = self.child.lock().await.kill().await;
        killed.unwrap_or_else(|error| panic!("cannot kill the daemon: {error}"));
    }

    /// Asks it to end, as `kill` does.
    pub fn terminate(&self) {
        signal(self.pid, Signal::TERM);
    }

    /// Waits for it to end by itself. After 15 s the test fails.
    pub async fn exited(&self) -> ExitStatus {
        let mut child = self.child.lock().await;
        match tokio::time::timeout(EXIT_DEADLINE, child.wait()).await {
            Ok(Ok(status)) => status,
            Ok(Err(error)) => panic!("cannot wait for the daemon: {error}"),
            Err(_) => panic!(
                "the daemon still runs after {EXIT_DEADLINE:?}\nstderr: {}",
                self.stderr.tail()
            ),
        }
    }
}

impl Drop for DaemonProcess {
    fn drop(&mut self) {
        child::end(self.child.get_mut());
    }
}
