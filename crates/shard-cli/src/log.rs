//! Logs, on stderr: stdout belongs to the protocol and to output.

use std::io::IsTerminal;

use tracing::level_filters::LevelFilter;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

/// Starts logging as `SHARD_LOG` says: a level, or `target=level` separated by commas. Warnings
/// and errors otherwise.
pub(crate) fn start() {
    let wish = std::env::var("SHARD_LOG").unwrap_or_default();
    let filter = wish
        .parse::<Targets>()
        .ok()
        .filter(|_| !wish.trim().is_empty());
    let filter = filter.unwrap_or_else(|| Targets::new().with_default(LevelFilter::WARN));
    let lines = tracing_subscriber::fmt::layer()
        .with_writer(std::io::stderr)
        .with_ansi(std::io::stderr().is_terminal())
        .with_target(false)
        .without_time();
    tracing_subscriber::registry()
        .with(filter)
        .with(lines)
        .init();
}
