//! `shard daemon`: the daemon in the foreground.

use std::io::IsTerminal;
use std::time::Duration;

use anyhow::Context;
use shard_config::Config;
use shard_daemon::Settings;
use tokio::signal::unix::{SignalKind, signal};

use super::{LAST_WORK, load_config};
use crate::args::DaemonArgs;
use crate::failure::{Failure, print};
use crate::places::Places;

/// No agent is idle for longer than this.
const AGES: u64 = 10 * 365 * 24 * 3600;

pub(crate) fn run(args: &DaemonArgs) -> Result<(), Failure> {
    let places = Places::find()?;
    if args.background {
        // A terminal that is closed, or Ctrl-C on it, is none of its business.
        rustix::process::setsid().context("cannot leave the terminal")?;
    }
    let config = load_config(&places)?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(threads())
        .enable_all()
        .build()
        .context("cannot start the runtime")?;
    let url = if args.background {
        Url::Keep
    } else {
        Url::Print
    };
    let served = runtime.block_on(serve(settings(args, &places, &config), url));
    runtime.shutdown_timeout(LAST_WORK);
    served
}

/// What happens to the address that lets a browser in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Url {
    Print,
    /// Nobody reads what a daemon in the background prints, and it must not end up in a file.
    Keep,
}

/// Enough to serve many clients while one is busy; more cost memory and bring nothing.
fn threads() -> usize {
    std::thread::available_parallelism().map_or(2, |threads| threads.get().clamp(2, 4))
}

fn settings(args: &DaemonArgs, places: &Places, config: &Config) -> Settings {
    let idle = args
        .idle_timeout
        .unwrap_or(config.daemon.idle_timeout_secs)
        .min(AGES);
    Settings {
        state_home: places.state_home.clone(),
        config_path: places.config.clone(),
        home: places.home.clone(),
        runtime_dir: places.runtime_dir.clone(),
        environment: places.environment.clone(),
        port: args.port.unwrap_or(config.daemon.port),
        allowed_origins: config.daemon.allowed_origins.clone(),
        trust_project: args.trust_project,
        idle_timeout: Duration::from_secs(idle),
        ask_timeout: Duration::from_secs(config.permissions.ask_timeout_secs.min(AGES)),
        headless_policy: config.permissions.headless_policy,
        client_queue_bytes: usize::try_from(config.daemon.client_queue_bytes).unwrap_or(usize::MAX),
    }
}

async fn serve(settings: Settings, url: Url) -> Result<(), Failure> {
    // Before anything is there that an early signal would leave behind.
    let mut signals = [
        signal(SignalKind::interrupt())?,
        signal(SignalKind::terminate())?,
        signal(SignalKind::hangup())?,
    ];
    let daemon = shard_daemon::start(settings).await?;
    if url == Url::Print {
        invite(&daemon.setup_url())?;
    }
    tracing::info!(port = daemon.port(), "listening");
    let stopper = daemon.stopper();
    let stopping = tokio::spawn(async move {
        loop {
            let [interrupt, terminate, hangup] = &mut signals;
            tokio::select! {
                _ = interrupt.recv() => {}
                _ = terminate.recv() => {}
                _ = hangup.recv() => {}
            }
            stopper.stop();
        }
    });
    daemon.run().await;
    stopping.abort();
    Ok(())
}

fn invite(url: &str) -> std::io::Result<()> {
    if std::io::stdout().is_terminal() {
        print(&format!(
            "Shard listens. Open this in a browser; it works once, within ten minutes:\n\n  {url}\n"
        ))
    } else {
        print(url)
    }
}
