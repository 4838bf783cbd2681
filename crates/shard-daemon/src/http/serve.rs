//! The accept loop.
//!
//! `axum::serve` has neither a deadline for the head of a request nor a bound on connections, so
//! that one program that opens sockets and says nothing would hold them for ever; hyper has both.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{Service as _, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::connections::{Bounds, Connections, Open};
use super::{Http, router};
use crate::security::Policy;

/// Connections that are open at once; more wait in the system's queue.
const BOUNDS: Bounds = Bounds {
    all: 512,
    of_one_address: 64,
};

/// How long a request's head may take to arrive, and how long an idle connection is kept.
const HEAD_TIMEOUT: Duration = Duration::from_secs(15);

/// How long an answer that is under way may take when the daemon stops.
const GRACE: Duration = Duration::from_secs(2);

/// How long a connection is used for requests. It ends clients that never read their answers; to
/// others it means connecting again now and then.
const MAX_AGE: Duration = Duration::from_secs(600);

/// How long the answer may take that is under way at that age.
const LAST_ANSWER: Duration = Duration::from_secs(60);

/// How long to wait when the system has no room for a connection (no file descriptors, mostly).
const ACCEPT_PAUSE: Duration = Duration::from_millis(200);

/// Largest head of a request. Browsers send one or two KiB, cookies of other servers on this host
/// included.
const MAX_HEAD: usize = 32 * 1024;

/// Headers of a request.
const MAX_HEADERS: usize = 100;

/// Where a request comes from: the other end of its connection, a proxy's included.
#[derive(Debug, Clone, Copy)]
pub(super) struct Peer(pub(super) IpAddr);

/// Serves until `shutdown`; then answers what is under way and ends. Sockets that were handed over
/// are their owner's to close.
pub(crate) async fn serve(listener: TcpListener, http: Http, shutdown: CancellationToken) {
    let policy = http.security.policy().clone();
    serve_router(listener, router(http), &policy, shutdown, BOUNDS).await;
}

pub(super) async fn serve_router(
    listener: TcpListener,
    router: Router,
    policy: &Policy,
    shutdown: CancellationToken,
    bounds: Bounds,
) {
    let open = Connections::new(bounds);
    let connections = TaskTracker::new();
    let accept_all = async {
        loop {
            match listener.accept().await {
                Ok((stream, peer)) => {
                    let address = Some(peer.ip()).filter(|ip| !policy.speaks_for_many(*ip));
                    let Some(open) = open.admit(address).await else {
                        tracing::debug!(%peer, "an address has too many connections");
                        continue;
                    };
                    let serve = connection(stream, peer, router.clone(), shutdown.clone(), open);
                    connections.spawn(serve);
                }
                Err(error) if is_about_one_connection(&error) => {}
                Err(error) => {
                    tracing::warn!(%error, "no connection could be accepted");
                    tokio::time::sleep(ACCEPT_PAUSE).await;
                }
            }
        }
    };
    tokio::select! {
        () = accept_all => {}
        () = shutdown.cancelled() => {}
    }
    connections.close();
    connections.wait().await;
}

async fn connection(
    stream: TcpStream,
    peer: SocketAddr,
    router: Router,
    shutdown: CancellationToken,
    open: Open,
) {
    // Small messages of a WebSocket must not wait for the answer to the one before.
    _ = stream.set_nodelay(true);
    let open = Arc::new(open);
    let router = TowerToHyperService::new(router);
    let service = service_fn(|mut request: hyper::Request<Incoming>| {
        let busy = open.busy();
        request.extensions_mut().insert(Peer(peer.ip()));
        let answer = router.call(request);
        async move {
            let answer = answer.await;
            drop(busy);
            answer
        }
    });
    let serve = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIMEOUT)
        .max_headers(MAX_HEADERS)
        .max_header_size(MAX_HEAD)
        .serve_connection(TokioIo::new(stream), service)
        .with_upgrades();
    tokio::pin!(serve);
    // How a connection ends is the client's business: nothing is lost that somebody waits for. A
    // socket that was handed over ends it here, and lives as long as its owner likes.
    let grace = tokio::select! {
        _ = serve.as_mut() => return,
        () = shutdown.cancelled() => GRACE,
        grace = open.gives_way() => grace,
        () = tokio::time::sleep(MAX_AGE) => LAST_ANSWER,
    };
    serve.as_mut().graceful_shutdown();
    _ = tokio::time::timeout(grace, serve).await;
}

fn is_about_one_connection(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::ConnectionAborted
            | io::ErrorKind::ConnectionReset
            | io::ErrorKind::ConnectionRefused
            | io::ErrorKind::Interrupted
    )
}
