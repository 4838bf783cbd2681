//! A model server in a process of its own.

use std::fs::{self, File};
use std::io::Write;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use serde_json::{Value, json};
use shard_testkit::{Home, Provider, allow_all, until};
use tempfile::TempDir;
use tokio::process::{Child, Command};

/// How long a server may take until it listens.
const START: Duration = Duration::from_secs(60);

/// What both servers print before the port that they took.
const LISTENS: &str = "listening on http://127.0.0.1:";

/// A running server on loopback, with files of its own. Dropping it ends it, and shows the end of its
/// log if the test is failing.
pub(crate) struct Peer {
    child: Child,
    folder: TempDir,
    port: u16,
}

/// Where a file of the installed servers is.
pub(crate) fn installed(path: &str) -> PathBuf {
    let folder = std::env::var_os("SHARD_PEERS");
    let folder = folder.expect("these tests are run by `cargo xtask test --peers`");
    PathBuf::from(folder).join(path)
}

impl Peer {
    /// Starts the server in a folder that holds these files and nothing else, and waits until it
    /// listens.
    pub(crate) async fn start(mut command: Command, files: &[(&str, Value)]) -> Self {
        let folder = tempfile::Builder::new().prefix("shard-peer-").tempdir();
        let folder = folder.unwrap();
        for (name, content) in files {
            fs::write(folder.path().join(name), content.to_string()).unwrap();
        }
        let log = File::create(folder.path().join("log")).unwrap();
        command.current_dir(&folder).kill_on_drop(true);
        command
            .stdin(Stdio::null())
            .stdout(log.try_clone().unwrap());
        let child = command.stderr(log).spawn();
        let mut peer = Self {
            child: child.unwrap_or_else(|error| panic!("cannot start {command:?}: {error}")),
            folder,
            port: 0,
        };
        until("the server listens", START, || {
            let ended = peer.child.try_wait().unwrap();
            assert!(ended.is_none(), "the server ended: {ended:?}");
            let log = peer.log();
            let told = log.split_once(LISTENS).map(|(_, rest)| rest);
            let told = told
                .and_then(|rest| rest.split_once('\n'))
                .map(|(port, _)| port);
            peer.port = told.map_or(0, |port| port.trim().parse().unwrap());
            peer.port != 0
        })
        .await;
        peer
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    fn log(&self) -> String {
        let log = fs::read(self.folder.path().join("log")).unwrap_or_default();
        String::from_utf8_lossy(&log).into_owned()
    }

    /// A home that is configured with this server as `peer`, asked in that format. The models are the
    /// server's to name.
    pub(crate) fn home(&self, provider: Provider, model: &str) -> Home {
        let root = format!("http://127.0.0.1:{}", self.port);
        let peer = match provider {
            Provider::OpenAi => json!({"type": "openai", "base_url": format!("{root}/v1")}),
            Provider::Responses => {
                json!({"type": "openai", "api": "responses", "base_url": format!("{root}/v1")})
            }
            Provider::Anthropic => json!({"type": "anthropic", "base_url": root}),
        };
        let config = json!({
            "model": format!("peer/{model}"),
            "providers": {"peer": peer},
            "permissions": {"rules": allow_all()},
        });
        Home::builder().config(config).build()
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        let _already_over = self.child.start_kill();
        if std::thread::panicking() {
            let log = self.log();
            let from = log.char_indices().rev().nth(3000).map_or(0, |(at, _)| at);
            let end = format!("the end of the server's log:\n{}", &log[from..]);
            let _unseen = writeln!(std::io::stderr(), "{end}");
        }
    }
}
