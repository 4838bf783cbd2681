//! Logs. On stderr, for stdout belongs to the protocol and to output; the daemon's also in files.

use std::fs::{DirBuilder, Permissions, read_dir, set_permissions};
use std::io::{self, IsTerminal, Write};
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use anyhow::Context;
use shard_types::time;
use tracing::Subscriber;
use tracing::level_filters::LevelFilter;
use tracing_appender::rolling::{RollingFileAppender, Rotation};
use tracing_subscriber::Layer;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::registry::LookupSpan;
use tracing_subscriber::util::SubscriberInitExt;

/// How many days of logs are kept.
const DAYS: usize = 7;

/// How the names of log files begin and end; the day stands between.
const NAME: (&str, &str) = ("daemon", "log");

/// Where the daemon's logs are.
pub(crate) fn folder(state_home: &Path) -> PathBuf {
    state_home.join("logs")
}

/// Starts logging on stderr as `SHARD_LOG` says: a level, or `target=level` separated by commas.
/// Warnings and errors otherwise.
pub(crate) fn start() {
    tracing_subscriber::registry().with(stderr()).init();
}

/// The same, and into files of the state home: there what happens is noted too, unless `SHARD_LOG`
/// says otherwise.
pub(crate) fn start_daemon(state_home: &Path) {
    let (files, failed) = match Files::open(folder(state_home)) {
        Ok(files) => (Some(files), None),
        Err(error) => (None, Some(error)),
    };
    let file = files.map(|files| {
        tracing_subscriber::fmt::layer()
            .with_writer(Mutex::new(files))
            .with_ansi(false)
            .with_filter(filter(LevelFilter::INFO))
    });
    tracing_subscriber::registry()
        .with(stderr())
        .with(file)
        .init();
    if let Some(error) = failed {
        tracing::warn!("{error:#}");
    }
}

fn stderr<S: Subscriber + for<'a> LookupSpan<'a>>() -> impl Layer<S> {
    tracing_subscriber::fmt::layer()
        .with_writer(io::stderr)
        .with_ansi(io::stderr().is_terminal())
        .with_target(false)
        .without_time()
        .with_filter(filter(LevelFilter::WARN))
}

fn filter(usual: LevelFilter) -> Targets {
    let wish = std::env::var("SHARD_LOG").unwrap_or_default();
    let wished = wish.parse().ok().filter(|_| !wish.trim().is_empty());
    wished.unwrap_or_else(|| Targets::new().with_default(usual))
}

/// A file a day, for its owner alone.
struct Files {
    appender: RollingFileAppender,
    folder: PathBuf,
    /// The day whose file has its mode.
    day: u64,
}

impl Files {
    fn open(folder: PathBuf) -> anyhow::Result<Self> {
        let failed = || format!("no log is kept in {}", folder.display());
        let mut builder = DirBuilder::new();
        builder.recursive(true).mode(0o700);
        builder.create(&folder).with_context(failed)?;
        set_permissions(&folder, Permissions::from_mode(0o700)).with_context(failed)?;
        let appender = RollingFileAppender::builder()
            .rotation(Rotation::DAILY)
            .filename_prefix(NAME.0)
            .filename_suffix(NAME.1)
            .max_log_files(DAYS)
            .build(&folder)
            .with_context(failed)?;
        let files = Self {
            appender,
            folder,
            day: today(),
        };
        files.close_to_others();
        Ok(files)
    }

    /// The appender makes files as the process' mask has it, and what tools write must not depend on
    /// a narrower one. Until this has run, the folder's mode holds others off.
    fn close_to_others(&self) {
        for file in read_dir(&self.folder).into_iter().flatten().flatten() {
            _ = set_permissions(file.path(), Permissions::from_mode(0o600));
        }
    }
}

impl Write for Files {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.appender.write(bytes)?;
        let today = today();
        if std::mem::replace(&mut self.day, today) != today {
            self.close_to_others();
        }
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.appender.flush()
    }
}

/// The number of this day, in the zone in which log files are named.
fn today() -> u64 {
    time::now_ms() / 86_400_000
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn log_files_are_for_their_owner_alone() -> anyhow::Result<()> {
        let home = tempfile::tempdir()?;
        let folder = folder(home.path());
        let mut files = Files::open(folder.clone())?;
        files.write_all(b"a line\n")?;
        let mode = |path: &Path| anyhow::Ok(path.metadata()?.permissions().mode() & 0o777);
        assert_eq!(mode(&folder)?, 0o700);
        let found: Vec<_> = read_dir(&folder)?.flatten().map(|it| it.path()).collect();
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!(mode(&found[0])?, 0o600);
        assert_eq!(std::fs::read_to_string(&found[0])?, "a line\n");
        Ok(())
    }
}
