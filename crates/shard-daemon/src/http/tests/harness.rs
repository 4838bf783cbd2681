//! A server on a free port, and a client that sends exactly what a test says.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use axum::extract::ws::WebSocket;
use futures_util::future::BoxFuture;
use serde_json::{Value, json};
use shard_types::PrincipalId;
use tempfile::TempDir;
use tokio::io::AsyncWriteExt as _;
use tokio::net::{TcpListener, TcpStream};
use tokio_util::sync::CancellationToken;

use super::wire::{Answer, Ask, read_answer};
use crate::http::connections::Bounds;
use crate::http::serve::serve_router;
use crate::http::site::Site;
use crate::http::{Http, Sockets, router_with};
use crate::security::access::{WebAccess, WebOptions};
use crate::security::{Clock, Policy, SecretDigest, Security};

pub(super) const DEV_ORIGIN: &str = "http://localhost:5173";
pub(super) const METRICS_TOKEN: &str = "metrics-token";

/// Echoes until it is told to close.
#[derive(Default)]
pub(super) struct Echo {
    /// One socket for each browser.
    one_each: bool,
    open: Arc<Mutex<HashMap<PrincipalId, CancellationToken>>>,
}

impl Echo {
    pub(super) fn one_each() -> Self {
        Self {
            one_each: true,
            ..Self::default()
        }
    }
}

impl Sockets for Echo {
    fn connected(&self, mut socket: WebSocket, principal: PrincipalId) -> BoxFuture<'static, ()> {
        let closed = CancellationToken::new();
        self.open.lock().unwrap().insert(principal, closed.clone());
        Box::pin(async move {
            let echo = async {
                while let Some(Ok(message)) = socket.recv().await {
                    _ = socket.send(message).await;
                }
            };
            tokio::select! {
                () = echo => {}
                () = closed.cancelled() => {}
            }
        })
    }

    fn has_room(&self, principal: &PrincipalId) -> bool {
        !self.open.lock().unwrap().contains_key(principal) || !self.one_each
    }

    fn close(&self, principal: &PrincipalId) {
        if let Some(closed) = self.open.lock().unwrap().remove(principal) {
            closed.cancel();
        }
    }
}

pub(super) struct Server {
    address: SocketAddr,
    pub(super) port: u16,
    pub(super) origin: String,
    pub(super) security: Security,
    pub(super) shutdown: CancellationToken,
    pub(super) ended: tokio::task::JoinHandle<()>,
    now: Arc<AtomicU64>,
    home: TempDir,
}

/// A browser that is in.
pub(super) struct Browser {
    pub(super) cookie: String,
    pub(super) secret: String,
}

impl Server {
    pub(super) async fn start() -> Self {
        Self::with(512).await
    }

    pub(super) async fn with(max_connections: usize) -> Self {
        let options = WebOptions {
            allowed_origins: vec![DEV_ORIGIN.to_owned()],
            ..WebOptions::default()
        };
        Self::reached(options, max_connections).await
    }

    /// A server that is reached as these options say.
    pub(super) async fn reached(options: WebOptions, max_connections: usize) -> Self {
        Self::serving(Arc::new(Echo::default()), options, max_connections).await
    }

    /// A server whose sockets go there.
    pub(super) async fn serving(
        sockets: Arc<dyn Sockets>,
        options: WebOptions,
        max_connections: usize,
    ) -> Self {
        let access = WebAccess::new(options).unwrap();
        let listener = TcpListener::bind((access.address(), 0)).await.unwrap();
        let address = listener.local_addr().unwrap();
        let port = address.port();
        let policy = Policy::new(&access, address);
        let home = tempfile::tempdir().unwrap();
        let now = Arc::new(AtomicU64::new(1_700_000_000_000));
        let clock = Arc::clone(&now);
        let security = Security::open(
            &home.path().join("security-v1.json"),
            policy.clone(),
            Clock::from_fn(move || clock.load(Ordering::Relaxed)),
        )
        .unwrap();
        let http = Http {
            security: security.clone(),
            sockets,
            version: "1.2.3".to_owned(),
            metrics: Arc::new(|| "shard_up 1\n".to_owned()),
            metrics_token: SecretDigest::of(METRICS_TOKEN),
        };
        let site = Site::of(&[
            ("index.html", "text/html", "<script>go()</script>page"),
            ("index.html.br", "application/octet-stream", "brotli page"),
            ("_app/immutable/a.1f3.js", "text/javascript", "plain"),
            (
                "_app/immutable/a.1f3.js.br",
                "application/octet-stream",
                "brotli",
            ),
            ("_app/immutable/a.1f3.js.gz", "application/gzip", "gzip"),
            ("robots.txt", "text/plain", "none"),
        ]);
        let shutdown = CancellationToken::new();
        let router = router_with(http, site);
        let bounds = Bounds {
            all: max_connections,
            of_one_address: max_connections,
        };
        let stop = shutdown.clone();
        let ended = tokio::spawn(async move {
            serve_router(listener, router, &policy, stop, bounds).await;
        });
        Self {
            address,
            port,
            origin: security.policy().own_origin().to_owned(),
            security,
            shutdown,
            ended,
            now,
            home,
        }
    }

    pub(super) fn advance(&self, ms: u64) {
        self.now.fetch_add(ms, Ordering::Relaxed);
    }

    pub(super) fn lose_the_disk(&self) {
        std::fs::remove_dir_all(self.home.path()).unwrap();
    }

    pub(super) async fn connect(&self) -> TcpStream {
        TcpStream::connect(self.address).await.unwrap()
    }

    pub(super) fn get(&self, path: &str) -> Ask {
        Ask::new("GET", path, self.port)
    }

    pub(super) fn post(&self, path: &str, body: &Value) -> Ask {
        let mut ask = Ask::new("POST", path, self.port)
            .header("Origin", &self.origin)
            .header("Content-Type", "application/json");
        ask.body = body.to_string().into_bytes();
        ask
    }

    pub(super) async fn send(&self, ask: Ask) -> Answer {
        self.send_raw(&ask.bytes()).await.0
    }

    pub(super) async fn send_raw(&self, bytes: &[u8]) -> (Answer, TcpStream) {
        let mut stream = self.connect().await;
        stream.write_all(bytes).await.unwrap();
        let answer = read_answer(&mut stream).await;
        (answer, stream)
    }

    /// Lets a browser in by a setup token.
    pub(super) async fn enroll(&self) -> Browser {
        let token = self.security.setup_token().token;
        let answer = self
            .send(self.post("/enroll/token", &json!({ "token": token })))
            .await;
        assert_eq!(answer.status, 200, "{answer:?}");
        answer.browser()
    }

    pub(super) fn bootstrap(&self, browser: &Browser) -> Ask {
        self.post("/bootstrap", &json!({ "client_secret": browser.secret }))
            .header("Cookie", &browser.cookie)
    }

    pub(super) async fn ticket(&self, browser: &Browser) -> String {
        let answer = self.send(self.bootstrap(browser)).await;
        answer.json()["ticket"].as_str().unwrap().to_owned()
    }

    pub(super) fn upgrade(&self, ticket: &str, cookie: &str) -> Ask {
        self.get("/ws")
            .header("Connection", "Upgrade")
            .header("Upgrade", "websocket")
            .header("Sec-WebSocket-Version", "13")
            .header("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ==")
            .header("Origin", &self.origin)
            .header(
                "Sec-WebSocket-Protocol",
                &format!("shard.v0, ticket.{ticket}"),
            )
            .header("Cookie", cookie)
    }
}
