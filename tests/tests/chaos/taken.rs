//! What is taken away: processes, browsers, room on the disk.

use rustix::process::{Pid, Resource, Rlimit, prlimit};
use serde_json::json;
use shard_testkit::{DaemonProcess, alive, descendants, until};

use crate::acts::{Chaos, PATIENCE};
use crate::connection::Connection;

impl Chaos {
    /// Its connections end at once, and no other.
    pub(crate) async fn revoke(&mut self) {
        if self.disk_is_full {
            return;
        }
        let Some((browser, principal)) = self.browser.take() else {
            return;
        };
        let revoke = json!({ "principal_id": principal });
        self.control.ok("auth.revoke", revoke).await;
        assert_eq!(browser.bootstrap().await.status, 401);
        let (out, staying) = std::mem::take(&mut self.connections)
            .into_iter()
            .partition(|it| it.principal.as_ref() == Some(&principal));
        self.connections = staying;
        self.see_end(out).await;
    }

    /// Waits for connections to end, and takes in what they still heard.
    async fn see_end(&mut self, connections: Vec<Connection>) {
        for mut connection in connections {
            connection.client.go_on_reading();
            connection.client.ended().await;
            assert!(!connection.read(&mut self.model));
        }
    }

    /// Ends the daemon in the middle of everything, and starts another in its place.
    pub(crate) async fn kill_daemon(&mut self) {
        let below = descendants(self.daemon.pid());
        self.daemon.kill9().await;
        let all = std::mem::take(&mut self.connections);
        self.see_end(all).await;
        until("nothing of a killed daemon runs", PATIENCE, || {
            !below.iter().any(|pid| alive(*pid))
        })
        .await;
        self.disk_is_full = false;
        // A browser comes back to the port that it knows.
        let port = self.daemon.port();
        self.daemon = DaemonProcess::start_on(&self.home, port).await;
        self.control = self.daemon.connect().await;
        self.control.agents().await;
        self.descriptors = descriptors(self.daemon.pid()).len();
    }

    /// No file may grow beyond a size, as if the disk were full: for one agent, or for all
    /// and the daemon.
    pub(crate) fn fill_disk(&mut self) {
        let bytes = [0, 4, 16, 64, 256][self.dice.below(5) as usize] * 1024;
        let agent = self.agent();
        if self.dice.below(3) == 0 {
            self.disk_is_full = true;
            self.limit_files(Some(bytes));
        } else if let Some(pid) = self.daemon.agent_pid(&agent) {
            limit(pid, Some(bytes));
        }
    }

    pub(crate) fn make_room(&mut self) {
        self.disk_is_full = false;
        self.limit_files(None);
    }

    fn limit_files(&self, bytes: Option<u64>) {
        let daemon = self.daemon.pid();
        // First the daemon, so that a process that starts meanwhile has its limit.
        limit(daemon, bytes);
        for pid in descendants(daemon) {
            limit(pid, bytes);
        }
    }
}

/// What the open descriptors of a process are of.
pub(crate) fn descriptors(pid: u32) -> Vec<String> {
    let open = std::fs::read_dir(format!("/proc/{pid}/fd"));
    let open = open.into_iter().flatten().flatten();
    let of = open.filter_map(|it| std::fs::read_link(it.path()).ok());
    of.map(|of| of.to_string_lossy().into_owned()).collect()
}

/// Bounds the size of files that a process writes; one that is gone writes none.
fn limit(pid: u32, bytes: Option<u64>) {
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw);
    let new = Rlimit {
        current: bytes,
        maximum: None,
    };
    _ = prlimit(pid, Resource::Fsize, new);
}
