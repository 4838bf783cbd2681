//! Whether a daemon runs.

use shard_daemon::DaemonFile;

use super::super::block_on;
use super::{Findings, State};
use crate::client::{self, Client};
use crate::failure::Failure;
use crate::places::Places;

pub(super) fn look(places: &Places, findings: &mut Findings) {
    let file = DaemonFile::read(&places.state_home);
    let talked: Result<String, Failure> =
        block_on(async { Ok(Client::connect(places).await?.server_version) });
    let (state, message) = match (file, talked) {
        (Ok(file), Ok(version)) => {
            let message = format!(
                "shard {version} runs (pid {}) and serves browsers on port {}",
                file.pid, file.http_port
            );
            (State::Good, message)
        }
        (Err(_), Ok(version)) => (
            State::Note,
            format!("shard {version} runs, and daemon.json, by which it is found, is missing"),
        ),
        (file, Err(failure)) if client::listens(places) => {
            let pid = file.map_or_else(|_| String::new(), |file| format!(" (pid {})", file.pid));
            (State::Problem, format!("{}{pid}", failure.message))
        }
        (_, Err(failure)) => (State::Good, failure.message),
    };
    findings.add("daemon", state, message);
}
