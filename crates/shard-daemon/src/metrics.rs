//! What is counted, and how `GET /metrics` tells it: as Prometheus text.
//!
//! Numbers alone, about the daemon itself: no name of an agent, model or provider, so that whoever
//! may read this learns nothing of what is worked on.

use std::fmt::Write as _;
use std::sync::atomic::{AtomicU64, Ordering};

use shard_types::time;

/// A number that only grows.
#[derive(Debug, Default)]
pub(crate) struct Counter(AtomicU64);

impl Counter {
    pub(crate) fn add(&self, more: usize) {
        self.0.fetch_add(more as u64, Ordering::Relaxed);
    }

    fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// What is counted since the daemon's start.
#[derive(Debug, Default)]
pub(crate) struct Metrics {
    /// Processes of agents that were started.
    pub(crate) runtimes_started: Counter,
    /// Those that did not become ready, or ended by themselves.
    pub(crate) runtimes_failed: Counter,
    /// Events of agents, once for each client that they were sent to.
    pub(crate) events_forwarded: Counter,
    /// Everything that was sent to clients, in bytes.
    pub(crate) sent_bytes: Counter,
    /// Clients that lost their connection because they read too slowly.
    pub(crate) slow_clients: Counter,
}

/// How things stand at one moment.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Standing {
    /// Agents by where their process stands.
    pub(crate) agents: Agents,
    /// Questions that nobody has answered so far.
    pub(crate) asks_open: usize,
    /// Connections over the unix socket.
    pub(crate) unix_clients: usize,
    /// Connections over WebSockets.
    pub(crate) websocket_clients: usize,
}

/// How many agents stand where.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Agents {
    pub(crate) stopped: usize,
    pub(crate) starting: usize,
    pub(crate) running: usize,
    pub(crate) failed: usize,
}

impl Metrics {
    /// All of it, as Prometheus reads it.
    pub(crate) fn text(&self, now: &Standing, started_at_ms: u64) -> String {
        let mut text = Text::default();
        let version = env!("CARGO_PKG_VERSION");
        text.family("shard_build_info", "gauge", "The running version.");
        text.sample("shard_build_info", &format!("{{version=\"{version}\"}}"), 1);
        let up = time::now_ms().saturating_sub(started_at_ms) / 1_000;
        text.gauge("shard_uptime_seconds", "Time since the start.", up);

        let agents = "shard_agents";
        text.family(agents, "gauge", "Agents, by where their process stands.");
        for (state, count) in [
            ("stopped", now.agents.stopped),
            ("starting", now.agents.starting),
            ("running", now.agents.running),
            ("failed", now.agents.failed),
        ] {
            text.sample(agents, &format!("{{state=\"{state}\"}}"), count as u64);
        }
        let help = "Questions that wait for an answer.";
        text.gauge("shard_asks_open", help, now.asks_open as u64);
        let clients = "shard_clients";
        text.family(clients, "gauge", "Connections, by what carries them.");
        for (transport, count) in [
            ("unix", now.unix_clients),
            ("websocket", now.websocket_clients),
        ] {
            let label = format!("{{transport=\"{transport}\"}}");
            text.sample(clients, &label, count as u64);
        }

        for (name, help, counter) in [
            (
                "shard_runtimes_started_total",
                "Processes of agents that were started.",
                &self.runtimes_started,
            ),
            (
                "shard_runtimes_failed_total",
                "Processes of agents that did not become ready or ended by themselves.",
                &self.runtimes_failed,
            ),
            (
                "shard_events_forwarded_total",
                "Events of agents, once for each client that they were sent to.",
                &self.events_forwarded,
            ),
            (
                "shard_sent_bytes_total",
                "What was sent to clients.",
                &self.sent_bytes,
            ),
            (
                "shard_slow_clients_dropped_total",
                "Clients that read too slowly and lost their connection.",
                &self.slow_clients,
            ),
        ] {
            text.family(name, "counter", help);
            text.sample(name, "", counter.get());
        }
        text.0
    }
}

/// The text that it becomes. Writing to a string cannot fail.
#[derive(Default)]
struct Text(String);

impl Text {
    fn family(&mut self, name: &str, kind: &str, help: &str) {
        _ = writeln!(self.0, "# HELP {name} {help}\n# TYPE {name} {kind}");
    }

    fn sample(&mut self, name: &str, labels: &str, value: u64) {
        _ = writeln!(self.0, "{name}{labels} {value}");
    }

    fn gauge(&mut self, name: &str, help: &str, value: u64) {
        self.family(name, "gauge", help);
        self.sample(name, "", value);
    }
}
