//! `shard daemon`: the daemon in the foreground.

mod service;

use std::io::IsTerminal;

use anyhow::Context;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use shard_config::Config;
use shard_daemon::{Control, Inherited, Settings};
use tokio::signal::unix::{Signal, SignalKind, signal};

use super::{LAST_WORK, load_config};
use crate::args::DaemonArgs;
use crate::failure::{Failure, print};
use crate::places::Places;

/// As many files as are open at once in the worst case, several times over. Agents and their commands
/// get the same, some of which look at every number up to it when they start.
const OPEN_FILES: u64 = 16_384;

pub(crate) fn run(args: &DaemonArgs) -> Result<(), Failure> {
    let places = Places::find()?;
    if args.background {
        // A terminal that is closed, or Ctrl-C on it, is none of its business.
        rustix::process::setsid().context("cannot leave the terminal")?;
    }
    let config = load_config(&places)?;
    let inherited = service::sockets()?;
    raise_open_files();
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
    let settings = settings(args, &places, &config)?;
    let served = runtime.block_on(serve(settings, &config, inherited, url));
    runtime.shutdown_timeout(LAST_WORK);
    served
}

/// Lets the daemon have as many files and connections open as the system allows: shells are usually
/// given about a thousand, and each agent and each client takes a few.
fn raise_open_files() {
    let limit = getrlimit(Resource::Nofile);
    let allowed = limit.maximum.unwrap_or(OPEN_FILES).min(OPEN_FILES);
    if limit.current.is_none_or(|current| current >= allowed) {
        return;
    }
    let raised = Rlimit {
        current: Some(allowed),
        ..limit
    };
    if let Err(error) = setrlimit(Resource::Nofile, raised) {
        tracing::warn!(%error, "the number of open files could not be raised; many clients at once may be refused");
    }
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

fn settings(args: &DaemonArgs, places: &Places, config: &Config) -> Result<Settings, Failure> {
    Ok(Settings {
        state_home: places.state_home.clone(),
        config_path: places.config.clone(),
        home: places.home.clone(),
        runtime_dir: places.runtime_dir.clone(),
        environment: places.environment.clone(),
        web: args.remote.access(config)?,
        allowed_origins: args.remote.allowed_origins.clone(),
        port: args.port,
        trust_project: args.trust_project,
        idle_timeout_secs: args.idle_timeout,
    })
}

async fn serve(
    settings: Settings,
    config: &Config,
    inherited: Inherited,
    url: Url,
) -> Result<(), Failure> {
    // Before anything is there that an early signal would leave behind.
    let signals = Signals {
        interrupt: signal(SignalKind::interrupt())?,
        terminate: signal(SignalKind::terminate())?,
        hangup: signal(SignalKind::hangup())?,
    };
    for warning in settings.web.warnings() {
        tracing::warn!("{warning}");
    }
    let daemon = shard_daemon::start(settings, config, inherited).await?;
    if url == Url::Print {
        invite(&daemon.setup_url())?;
    }
    tracing::info!(port = daemon.port(), "listening");
    service::ready();
    let obeying = tokio::spawn(signals.obey(daemon.control()));
    let control = daemon.control();
    let telling = tokio::spawn(async move {
        control.ending().await;
        service::stopping();
    });
    daemon.run().await;
    obeying.abort();
    telling.abort();
    Ok(())
}

/// What the system asks of the daemon.
struct Signals {
    interrupt: Signal,
    terminate: Signal,
    hangup: Signal,
}

impl Signals {
    async fn obey(mut self, control: Control) {
        loop {
            tokio::select! {
                _ = self.interrupt.recv() => control.stop(),
                _ = self.terminate.recv() => control.stop(),
                _ = self.hangup.recv() => {
                    // Apart, so that a slow disk does not hold up what asks for the end.
                    let control = control.clone();
                    tokio::spawn(async move {
                        service::reloading();
                        control.reload().await;
                        service::ready();
                    });
                }
            }
        }
    }
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
