//! Logs. On stderr, for stdout belongs to the protocol and to output; the daemon's also in files.

use std::fs::{DirBuilder, DirEntry, Permissions, read_dir, set_permissions};
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

/// How large the log of one day gets, in bytes. Only a fault that repeats itself, or everything that
/// can be logged, comes near.
const OF_ONE_DAY: u64 = 64 << 20;

/// Stands at the end of a log that is full.
const FULL: &str = "the log of this day is full; it goes on tomorrow\n";

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
/// says otherwise. In the background there is nobody to read stderr, which only grows.
pub(crate) fn start_daemon(state_home: &Path, in_background: bool) {
    let (files, failed) = match Files::open(folder(state_home)) {
        Ok(files) => (Some(files), None),
        Err(error) => (None, Some(error)),
    };
    let stderr = (files.is_none() || !in_background).then(stderr);
    let file = files.map(|files| {
        tracing_subscriber::fmt::layer()
            .with_writer(Mutex::new(files))
            .with_ansi(false)
            .with_filter(filter(LevelFilter::INFO))
    });
    tracing_subscriber::registry()
        .with(stderr)
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
    /// What that file has, in bytes.
    written: u64,
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
        let mut files = Self {
            appender,
            folder,
            day: today(),
            written: 0,
        };
        files.written = files.size();
        files.close_to_others();
        Ok(files)
    }

    /// How large the file of today is: the newest, since their names begin with the year.
    fn size(&self) -> u64 {
        let names = read_dir(&self.folder).into_iter().flatten().flatten();
        let logs = names.filter(|it| it.file_name().to_string_lossy().ends_with(NAME.1));
        let newest = logs.max_by_key(DirEntry::file_name);
        let size = newest.and_then(|newest| newest.metadata().ok());
        size.map_or(0, |size| size.len())
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
        let today = today();
        let is_first = std::mem::replace(&mut self.day, today) != today;
        if is_first {
            self.written = 0;
        }
        if self.written > OF_ONE_DAY {
            return Ok(bytes.len()); // an error would be printed for each line
        }
        let written = self.appender.write(bytes)?;
        self.written += written as u64;
        if self.written > OF_ONE_DAY {
            self.appender.write_all(FULL.as_bytes())?;
        }
        if is_first {
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

    #[test]
    fn the_log_of_a_day_has_an_end_also_for_a_daemon_that_starts_again() -> anyhow::Result<()> {
        let home = tempfile::tempdir()?;
        let mut files = Files::open(folder(home.path()))?;
        let line = [b'x'; 1 << 20];
        for _ in 0..(OF_ONE_DAY >> 20) + 2 {
            files.write_all(&line)?;
        }
        let full = files.size();
        assert!(full < OF_ONE_DAY + (2 << 20), "{full}");
        let mut again = Files::open(folder(home.path()))?;
        again.write_all(&line)?;
        assert_eq!(again.size(), full);
        Ok(())
    }
}
