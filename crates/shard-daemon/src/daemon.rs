//! The daemon as a whole: starts, listens, ends.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::ws::WebSocket;
use futures_util::future::BoxFuture;
use shard_config::Config;
use shard_transports::websocket;
use shard_types::{PrincipalId, time};
use tokio::net::{TcpListener, UnixListener};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::agent::{Shared, Wish};
use crate::client::{self, Clients, Who, Wire};
use crate::home::{self, DaemonFile, Lock, StartError};
use crate::http::{self, Http, Sockets};
use crate::keys::Keys;
use crate::listeners::{Inherited, Local, Wanted, Web};
use crate::metrics::{Metrics, Standing};
use crate::orchestrator::{Readers, Summaries};
use crate::registry::Registry;
use crate::reload;
use crate::security::{Clock, Policy, Secret, Security};
use crate::settings::{Settings, Tuning};
use crate::unix;
use crate::workspaces::{Record, Workspaces};

/// How long the start waits for workspaces to be recovered.
const RECOVER: Duration = Duration::from_secs(5);

/// How long turns may take to end when the daemon is asked to.
const FINISH_TURNS: Duration = Duration::from_secs(60);

/// How long processes may take to end after that.
const FINISH: Duration = Duration::from_secs(8);

/// How long the last answers may take.
const LAST_ANSWERS: Duration = Duration::from_millis(300);

/// Sockets that one browser may have: one for each of its tabs.
const MAX_SOCKETS: usize = 64;

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
    /// Milliseconds since the epoch.
    started_at: u64,
    /// Asks for the configuration to be read again.
    reload: mpsc::Sender<reload::Asked>,
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
        let (agents, asks_open) = self.registry.count();
        let (websocket_clients, unix_clients) = self.shared.clients.count();
        let standing = Standing {
            agents,
            asks_open,
            unix_clients,
            websocket_clients,
        };
        self.shared.metrics.text(&standing, self.started_at)
    }
}

/// A daemon that listens.
pub struct Running {
    daemon: Arc<Daemon>,
    lock: Lock,
    unix: UnixListener,
    /// The socket's file, if it goes with the daemon.
    own_socket: Option<PathBuf>,
    tcp: TcpListener,
    http: Http,
    port: u16,
    reloads: mpsc::Receiver<reload::Asked>,
    config: Config,
}

/// Starts a daemon: from here on local programs find it. Nothing is served until
/// [`Running::run`].
///
/// # Errors
/// [`StartError`], with nothing left behind that a living daemon needs.
pub async fn start(
    settings: Settings,
    config: &Config,
    inherited: Inherited,
) -> Result<Running, StartError> {
    let state_home = settings.state_home.clone();
    let lock = Lock::take(&state_home)?;
    let wanted = Wanted {
        host: settings.web.address(),
        flag: settings.port,
        configured: config.daemon.port,
    };
    let web = Web::listen(inherited.tcp, wanted).await?;
    let tuning = Tuning::of(&settings, config);
    let policy = Policy::new(&settings.web, web.address);
    let workspaces = Workspaces::load(&settings)
        .map_err(StartError::files("read the workspaces in", &state_home))?;
    let security = Security::open(&state_home.join("security-v1.json"), policy, Clock::wall())?;
    let local = Local::find(inherited.unix, &settings)?;
    let metrics = Arc::new(Metrics::default());
    let shared = Arc::new(Shared {
        tuning: watch::Sender::new(tuning),
        settings,
        socket_path: local.path.clone(),
        clients: Clients::new(Arc::clone(&metrics)),
        metrics,
        responders: watch::Sender::new(()),
        workspaces,
    });
    let registry = Registry::load(Arc::clone(&shared))
        .map_err(StartError::files("read the agents in", &state_home))?;
    let (reload, reloads) = mpsc::channel(1);
    let daemon = Arc::new(Daemon {
        shared,
        registry,
        security,
        keys: Keys::default(),
        summaries: Arc::default(),
        readers: Arc::default(),
        connections: TaskTracker::new(),
        ending: watch::Sender::new(None),
        started_at: time::now_ms(),
        reload,
    });
    recover_workspaces(&daemon).await;
    let token = Secret::generate();
    let (socket_path, own_socket) = (local.path.clone(), local.own_file());
    let unix = local.listen()?;
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
        http_port: web.address.port(),
        token: token.expose().to_owned(),
    };
    file.write(&state_home)
        .map_err(StartError::files("write", &DaemonFile::path(&state_home)))?;
    Ok(Running {
        daemon,
        lock,
        unix,
        own_socket,
        tcp: web.listener,
        http,
        port: web.address.port(),
        reloads,
        config: config.clone(),
    })
}

/// Finishes or undoes what an earlier daemon left. What takes longer than a moment goes on behind:
/// until then nobody can use those workspaces.
async fn recover_workspaces(daemon: &Arc<Daemon>) {
    let daemon = Arc::clone(daemon);
    let recovering = tokio::spawn(async move {
        let has_agent = |record: &Record| !daemon.registry.all_by(|it| record.holds(it)).is_empty();
        daemon.shared.workspaces.recover(has_agent).await;
    });
    if timeout(RECOVER, recovering).await.is_err() {
        tracing::warn!("workspaces are still being recovered");
    }
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

    /// What may be asked of the daemon while it runs.
    #[must_use]
    pub fn control(&self) -> Control {
        Control(Arc::clone(&self.daemon))
    }

    /// Serves until the daemon is asked to end, and ends it.
    pub async fn run(self) {
        let Self {
            daemon,
            lock,
            unix,
            own_socket,
            tcp,
            http,
            reloads,
            config,
            ..
        } = self;
        let closing = CancellationToken::new();
        let listening = tokio::spawn(http::serve(tcp, http, closing.clone()));
        let local = tokio::spawn(unix::serve(Arc::clone(&daemon), unix, closing.clone()));
        let following = reload::follow(Arc::clone(&daemon), reloads, config);
        let following = tokio::spawn(following);
        let mut ending = daemon.ending.subscribe();
        // The sender is in `daemon`, so this ends only with a value.
        _ = ending.wait_for(Option::is_some).await;
        end_agents(ending, async |force| daemon.tell_agents(force).await).await;
        closing.cancel();
        daemon.shared.clients.close_all();
        daemon.connections.close();
        _ = timeout(LAST_ANSWERS, daemon.connections.wait()).await;
        local.abort();
        following.abort();
        _ = timeout(LAST_ANSWERS, listening).await;
        home::remove(&daemon.shared.settings.state_home, own_socket.as_deref());
        drop(lock);
    }
}

/// What may be asked of a daemon from outside its loop.
#[derive(Clone)]
pub struct Control(Arc<Daemon>);

impl Control {
    /// Asks the daemon to end: the first time once its turns are done, the second time at once.
    pub fn stop(&self) {
        let again = self.0.ending.borrow().is_some();
        self.0.shut_down(again);
    }

    /// Has the configuration read again; resolves when what it says is in force, or was refused.
    pub async fn reload(&self) {
        let (asked, done) = oneshot::channel();
        if self.0.reload.send(asked).await.is_ok() {
            _ = done.await;
        }
    }

    /// Resolves when the daemon was asked to end, by whomever.
    pub async fn ending(&self) {
        // The sender is in the daemon, so this ends only with a value.
        _ = self.0.ending.subscribe().wait_for(Option::is_some).await;
    }
}

impl Daemon {
    /// Asks all processes to end, and waits until they have.
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

/// Ends all processes: those that work when their turn is done, unless that is to be forced.
/// `tell` asks them to, by force or not, and waits until they have ended; it is not waited for
/// longer than may be.
async fn end_agents(mut ending: watch::Receiver<Option<End>>, tell: impl AsyncFn(bool)) {
    let force = *ending.borrow_and_update() == Some(End::Forced);
    if !force {
        tokio::select! {
            done = timeout(FINISH_TURNS, tell(false)) => if done.is_ok() { return },
            _ = ending.wait_for(|end| *end == Some(End::Forced)) => {}
        }
    }
    if timeout(FINISH, tell(true)).await.is_err() {
        tracing::error!("some agents did not end in time");
    }
}

/// Hands the sockets of browsers to connections.
struct Browsers(Arc<Daemon>);

impl Sockets for Browsers {
    fn connected(&self, socket: WebSocket, principal: PrincipalId) -> BoxFuture<'static, ()> {
        let daemon = Arc::clone(&self.0);
        let limit = daemon.shared.tuning.borrow().client_queue_bytes;
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

    fn has_room(&self, principal: &PrincipalId) -> bool {
        self.0.shared.clients.count_of(principal) < MAX_SOCKETS
    }

    fn close(&self, principal: &PrincipalId) {
        self.0.shared.clients.close_browser(principal);
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use tokio::time::{Instant, sleep};

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn the_end_comes_in_time_whatever_agents_do() {
        const NEVER: Duration = Duration::from_secs(100_000);
        let seconds = Duration::from_secs;
        // What was asked for, how long a gentle and a forced end take, and when force is asked for
        // as well; then what is told, and when it is over.
        for (first, gentle, forced, force_at, told, over) in [
            (End::Gently, seconds(3), NEVER, NEVER, &[false][..], 3),
            (End::Gently, seconds(59), NEVER, NEVER, &[false], 59),
            (End::Gently, NEVER, seconds(1), NEVER, &[false, true], 61),
            (End::Gently, NEVER, NEVER, NEVER, &[false, true], 68),
            (
                End::Gently,
                NEVER,
                seconds(1),
                seconds(5),
                &[false, true],
                6,
            ),
            (End::Gently, NEVER, NEVER, seconds(5), &[false, true], 13),
            (End::Forced, NEVER, seconds(1), NEVER, &[true], 1),
            (End::Forced, NEVER, NEVER, NEVER, &[true], 8),
        ] {
            let ending = watch::Sender::new(Some(first));
            let (began, heard) = (Instant::now(), RefCell::new(Vec::new()));
            let tell = async |force: bool| {
                heard.borrow_mut().push(force);
                sleep(if force { forced } else { gentle }).await;
            };
            let insist = async {
                sleep(force_at).await;
                ending.send_replace(Some(End::Forced));
                std::future::pending::<()>().await;
            };
            tokio::select! {
                () = end_agents(ending.subscribe(), tell) => {}
                () = insist => {}
            }
            assert_eq!(*heard.borrow(), told, "{first:?}, {gentle:?}, {force_at:?}");
            assert_eq!(
                began.elapsed().as_secs(),
                over,
                "{first:?}, {gentle:?}, {force_at:?}"
            );
        }
    }
}
