//! The configuration, read again while the daemon runs: when its file changes, and when somebody
//! asks for it.
//!
//! A file that is wrong changes nothing. What cannot change in a daemon that runs is told.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use notify::{RecommendedWatcher, RecursiveMode, Watcher};
use shard_config::{Config, Loaded};
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, timeout_at};

use crate::daemon::Daemon;
use crate::settings::Tuning;

/// How long a file must be left alone before it is read: editors write in several steps.
const QUIET: Duration = Duration::from_millis(200);

/// Somebody who writes all the time is waited for no longer than this.
const RESTLESS: Duration = Duration::from_secs(2);

/// Somebody who asks for it and waits until it is done.
pub(crate) type Asked = oneshot::Sender<()>;

/// Follows the configuration for as long as the daemon lives. `config` is what it started with.
pub(crate) async fn follow(daemon: Arc<Daemon>, mut asked: mpsc::Receiver<Asked>, config: Config) {
    let path = daemon.shared.settings.config_path.clone();
    let mut watch = Watch::start(path.clone());
    let mut config = config;
    // The first time at once: it may have changed before it was watched.
    let mut waiting = None;
    loop {
        let path = path.clone();
        let read = tokio::task::spawn_blocking(move || shard_config::load(&path)).await;
        match read {
            Ok(Ok(loaded)) => config = take_over(&daemon, config, loaded),
            Ok(Err(error)) => tracing::error!(
                "the configuration is wrong, so what was in force stays so: {error}"
            ),
            Err(error) => tracing::error!(%error, "the configuration could not be read"),
        }
        if let Some(waiting) = waiting {
            _ = Asked::send(waiting, ());
        }
        waiting = tokio::select! {
            asked = asked.recv() => match asked {
                Some(asked) => Some(asked),
                None => return,
            },
            () = watch.changed() => None,
        };
        watch.look_there();
    }
}

/// Puts what was read in force; gives it back.
fn take_over(daemon: &Daemon, before: Config, loaded: Loaded) -> Config {
    let Loaded {
        config, warnings, ..
    } = loaded;
    if config == before {
        return before;
    }
    for warning in warnings {
        tracing::warn!("{warning}");
    }
    let settings = &daemon.shared.settings;
    if config.daemon.port != before.daemon.port {
        // A listener stays where it is.
        let why = match settings.port {
            Some(_) => "`daemon.port` changed; `--port` goes before it",
            None => "`daemon.port` changed; that counts when the daemon is started again",
        };
        tracing::warn!(port = config.daemon.port, "{why}");
    }
    let fresh = Tuning::of(settings, &config);
    let changed = daemon.shared.tuning.send_if_modified(|tuning| {
        let changed = *tuning != fresh;
        tuning.clone_from(&fresh);
        changed
    });
    if changed {
        daemon.security.policy().allow(&fresh.allowed_origins);
        tracing::info!("the changed configuration is in force");
    }
    config
}

/// Looks at the folder of a file, or, while there is none, at the nearest one above it.
struct Watch {
    file: PathBuf,
    watcher: Option<RecommendedWatcher>,
    watched: Option<PathBuf>,
    changes: mpsc::Receiver<()>,
}

impl Watch {
    /// Begins to look. Where the system does not let it, nothing is noticed, which is told.
    fn start(file: PathBuf) -> Self {
        let (sender, changes) = mpsc::channel(1);
        let wanted = file.clone();
        let watcher = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
            let about = match event {
                // Reading it is no change, or reading it again would go on for ever.
                Ok(event) if event.kind.is_access() => false,
                // The file itself, or a folder above it that comes or goes.
                Ok(event) => {
                    event.need_rescan() || event.paths.iter().any(|path| wanted.starts_with(path))
                }
                Err(_) => true,
            };
            if about {
                // One that waits says it all.
                _ = sender.try_send(());
            }
        });
        let mut watch = Self {
            file,
            watcher: watcher.map_err(|error| unnoticed(&error)).ok(),
            watched: None,
            changes,
        };
        watch.look_there();
        watch
    }

    /// Looks at the right folder: it may have been made or replaced meanwhile.
    fn look_there(&mut self) {
        let Some(watcher) = &mut self.watcher else {
            return;
        };
        if let Some(before) = self.watched.take() {
            // It may be gone, and its watch with it.
            _ = watcher.unwatch(&before);
        }
        let folder = self.file.ancestors().skip(1).find(|folder| folder.is_dir());
        let folder = folder.unwrap_or(Path::new("/"));
        match watcher.watch(folder, RecursiveMode::NonRecursive) {
            Ok(()) => self.watched = Some(folder.to_owned()),
            Err(error) => unnoticed(&error),
        }
    }

    /// Resolves when the file may have changed, and is at rest. Cancel safe.
    async fn changed(&mut self) {
        if self.changes.recv().await.is_none() {
            return std::future::pending().await;
        }
        let latest = Instant::now() + RESTLESS;
        loop {
            let quiet = (Instant::now() + QUIET).min(latest);
            match timeout_at(quiet, self.changes.recv()).await {
                Ok(Some(())) if Instant::now() < latest => {}
                _ => return,
            }
        }
    }
}

fn unnoticed(error: &notify::Error) {
    tracing::warn!(%error, "changes of the configuration are not noticed; SIGHUP has it read again");
}
