//! `shard shutdown`: ends the daemon.

use std::time::Duration;

use rustix::process::{Pid, test_kill_process};
use serde_json::Value;
use shard_daemon::DaemonFile;
use shard_protocol::DaemonShutdown;
use tokio::time::{sleep, timeout};

use super::block_on;
use crate::args::ShutdownArgs;
use crate::client::{ANSWER, Client};
use crate::failure::{FAILED, Failure, print};
use crate::places::Places;

/// How long a daemon may take to end: it lets turns end for a minute.
const GENTLE: Duration = Duration::from_secs(80);

/// How long it may take when it does not wait for turns.
const FORCED: Duration = Duration::from_secs(20);

/// How long its process may take to be gone once its files are.
const LAST: Duration = Duration::from_secs(2);

/// How often it is looked.
const LOOK: Duration = Duration::from_millis(20);

pub(crate) fn run(args: &ShutdownArgs) -> Result<(), Failure> {
    let places = Places::find()?;
    let patience = if args.force { FORCED } else { GENTLE };
    block_on(async {
        let mut client = Client::connect(&places).await?;
        let pid = DaemonFile::read(&places.state_home).map_or(0, |file| file.pid);
        let force = args.force.then_some(true);
        let _: Value = client.call(DaemonShutdown { force }, ANSWER).await?;
        let ended = async {
            while client.next().await.is_some() {}
            while runs(&places, pid) {
                sleep(LOOK).await;
            }
        };
        timeout(patience, ended).await.map_err(|_| Failure {
            code: FAILED,
            message: format!(
                "the daemon (pid {pid}) did not end in time; `shard shutdown --force` does not wait for turns"
            ),
        })?;
        // One that nobody waits for stays behind as an entry without a process: no failure.
        let gone = async {
            while is_process(pid) {
                sleep(LOOK).await;
            }
        };
        _ = timeout(LAST, gone).await;
        print("the daemon has ended")?;
        Ok(())
    })
}

/// Whether that daemon, not a later one, still says that it is there.
fn runs(places: &Places, pid: u32) -> bool {
    DaemonFile::read(&places.state_home).is_ok_and(|file| file.pid == pid && is_process(pid))
}

fn is_process(pid: u32) -> bool {
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw);
    pid.is_some_and(|pid| test_kill_process(pid).is_ok())
}
