//! The daemon as a whole: starts, listens, ends.

use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::ws::WebSocket;
use futures_util::future::BoxFuture;
use shard_transports::websocket;
use shard_types::PrincipalId;
use tokio::net::{TcpListener, UnixListener};
use tokio::sync::{oneshot, watch};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::agent::{Shared, Wish};
use crate::client::{self, Clients, Who, Wire};
use crate::home::{self, DaemonFile, Lock, StartError};
use crate::http::{self, Http, Sockets};
use crate::keys::Keys;
use crate::orchestrator::{Readers, Summaries};
use crate::registry::Registry;
use crate::security::{Clock, Policy, Secret, Security};
use crate::settings::Settings;
use crate::unix;

/// How long turns may take to end when the daemon is asked to.
const FINISH_TURNS: Duration = Duration::from_secs(60);

/// How long processes may take to end after that.
const FINISH: Duration = Duration::from_secs(8);

/// How long the last answers may take.
const LAST_ANSWERS: Duration = Duration::from_millis(300);

/// What the parts of a daemon share.
pub(crate) struct Daemon {
    pub(crate) shared: Arc<Shared>,
    pub(crate) registry: Registry,
    pub(crate) security: Security,
    /// Request keys that are under way.
    pub(crate) keys: Keys,
    pub(crate) summaries: Arc<Summaries>,
    pub(crate) readers: Arc<Readers>,
    /// Connections that are served, from their first message to their last.
    pub(crate) connections: TaskTracker,
    ending: watch::Sender<Option<End>>,
}

/// How the daemon is to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    /// Turns are finished.
    Gently,
    /// Now.
    Forced,
}

impl Daemon {
    /// Begins to end the daemon.
    pub(crate) fn shut_down(&self, force: bool) {
        self.ending.send_if_modified(|end| {
            let wanted = if force { End::Forced } else { End::Gently };
            let changes = *end != Some(End::Forced) && *end != Some(wanted);
            if changes {
                *end = Some(wanted);
            }
            changes
        });
    }

    fn metrics(&self) -> String {
        let (agents, running) = self.registry.count();
        let clients = self.shared.clients.count();
        format!(
            "# HELP shard_agents Agents that exist.\n# TYPE shard_agents gauge\nshard_agents {agents}\n\
             # HELP shard_runtimes Processes that serve agents.\n# TYPE shard_runtimes gauge\nshard_runtimes {running}\n\
             # HELP shard_clients Connections.\n# TYPE shard_clients gauge\nshard_clients {clients}\n"
        )
    }
}

/// A daemon that listens.
pub struct Running {
    daemon: Arc<Daemon>,
    lock: Lock,
    unix: UnixListener,
    tcp: TcpListener,
    http: Http,
    port: u16,
}

/// Starts a daemon: from here on local programs find it. Nothing is served until
/// [`Running::run`].
///
/// # Errors
/// [`StartError`], with nothing left behind that a living daemon needs.
pub async fn start(settings: Settings) -> Result<Running, StartError> {
    let state_home = settings.state_home.clone();
    let lock = Lock::take(&state_home)?;
    let tcp = TcpListener::bind((Ipv4Addr::LOCALHOST, settings.port)).await;
    let port_taken = |source| StartError::Port {
        port: settings.port,
        source,
    };
    let tcp = tcp.map_err(port_taken)?;
    let port = tcp.local_addr().map_err(port_taken)?.port();
    let socket_path = home::socket_path(&state_home, settings.runtime_dir.as_deref());
    let policy = Policy::loopback(port, settings.allowed_origins.iter().cloned());
    let security = Security::open(&state_home.join("security-v1.json"), policy, Clock::wall())?;
    let shared = Arc::new(Shared {
        settings,
        socket_path: socket_path.clone(),
        clients: Clients::default(),
    });
    let registry = Registry::load(Arc::clone(&shared))
        .map_err(StartError::files("read the agents in", &state_home))?;
    let daemon = Arc::new(Daemon {
        shared,
        registry,
        security,
        keys: Keys::default(),
        summaries: Arc::default(),
        readers: Arc::default(),
        connections: TaskTracker::new(),
        ending: watch::Sender::new(None),
    });
    let token = Secret::generate();
    let unix = home::listen(&socket_path)?;
    let metrics = Arc::clone(&daemon);
    let http = Http {
        security: daemon.security.clone(),
        sockets: Arc::new(Browsers(Arc::clone(&daemon))),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        metrics: Arc::new(move || metrics.metrics()),
        metrics_token: token.digest(),
    };
    let file = DaemonFile {
        pid: std::process::id(),
        socket_path,
        http_port: port,
        token: token.expose().to_owned(),
    };
    file.write(&state_home)
        .map_err(StartError::files("write", &DaemonFile::path(&state_home)))?;
    Ok(Running {
        daemon,
        lock,
        unix,
        tcp,
        http,
        port,
    })
}

impl Running {
    /// The port of the listener.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The page that lets one browser in, with a token that works once. For a person's eyes only.
    #[must_use]
    pub fn setup_url(&self) -> String {
        self.daemon.security.setup_token().url
    }

    /// Asks the daemon to end; a second time it does not wait for turns.
    #[must_use]
    pub fn stopper(&self) -> Stopper {
        Stopper(Arc::clone(&self.daemon))
    }

    /// Serves until the daemon is asked to end, and ends it.
    pub async fn run(self) {
        let Self {
            daemon,
            lock,
            unix,
            tcp,
            http,
            ..
        } = self;
        let closing = CancellationToken::new();
        let listening = tokio::spawn(http::serve(tcp, http, closing.clone()));
        let local = tokio::spawn(unix::serve(Arc::clone(&daemon), unix, closing.clone()));
        let mut ending = daemon.ending.subscribe();
        // The sender is in `daemon`, so this ends only with a value.
        _ = ending.wait_for(Option::is_some).await;
        daemon.end_agents(ending).await;
        closing.cancel();
        daemon.shared.clients.close_all();
        daemon.connections.close();
        _ = timeout(LAST_ANSWERS, daemon.connections.wait()).await;
        local.abort();
        _ = timeout(LAST_ANSWERS, listening).await;
        let shared = &daemon.shared;
        home::remove(&shared.settings.state_home, &shared.socket_path);
        drop(lock);
    }
}

/// Ends a daemon from outside its loop.
#[derive(Clone)]
pub struct Stopper(Arc<Daemon>);

impl Stopper {
    /// Asks the daemon to end: the first time once its turns are done, the second time at once.
    pub fn stop(&self) {
        let again = self.0.ending.borrow().is_some();
        self.0.shut_down(again);
    }
}

impl Daemon {
    /// Ends all processes: those that work when their turn is done, unless that is to be forced.
    async fn end_agents(&self, mut ending: watch::Receiver<Option<End>>) {
        let force = *ending.borrow_and_update() == Some(End::Forced);
        if !force {
            let done = self.tell_agents(false);
            tokio::select! {
                done = timeout(FINISH_TURNS, done) => if done.is_ok() { return },
                _ = ending.wait_for(|end| *end == Some(End::Forced)) => {}
            }
        }
        if timeout(FINISH, self.tell_agents(true)).await.is_err() {
            tracing::error!("some agents did not end in time");
        }
    }

    async fn tell_agents(&self, force: bool) {
        let mut ends = Vec::new();
        for agent in self.registry.awake() {
            let (done, ended) = oneshot::channel();
            agent.ask(Wish::ShutDown { force, done }).await;
            ends.push(ended);
        }
        for ended in ends {
            _ = ended.await;
        }
    }
}

/// Hands the sockets of browsers to connections.
struct Browsers(Arc<Daemon>);

impl Sockets for Browsers {
    fn connected(&self, socket: WebSocket, principal: PrincipalId) -> BoxFuture<'static, ()> {
        let daemon = Arc::clone(&self.0);
        let limit = daemon.shared.settings.client_queue_bytes;
        let client = daemon.shared.clients.join(Who::Browser(principal), limit);
        Box::pin(async move {
            let (records, sink) = websocket::split(socket);
            let writer = Arc::clone(&client);
            let wire = Wire {
                records,
                writing: async move { sink.write(&writer.outbox).await },
            };
            client::serve(daemon, client, wire).await;
        })
    }

    fn close(&self, principal: &PrincipalId) {
        self.0.shared.clients.close_browser(principal);
    }
}
