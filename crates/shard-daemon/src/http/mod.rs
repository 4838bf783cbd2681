//! The daemon's listener: a thin layer over [`crate::security`] that serves the web client, lets
//! browsers in and hands their WebSockets over.
//!
//! Order of every request: the exact `Host`, then what a proxy says about it (`gate`), the route, and for requests that change
//! something the `Origin`, then the content type (`posted`), then what is asked for. No request
//! gets past the gate without the security headers on its answer.

mod answer;
mod connections;
mod encoding;
mod enroll;
mod gate;
mod headers;
mod posted;
mod serve;
mod session;
mod site;
mod status;
mod upgrade;

use std::sync::Arc;

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::extract::ws::WebSocket;
use axum::http::HeaderValue;
use axum::middleware::from_fn_with_state;
use axum::routing::{get, post};
use futures_util::future::BoxFuture;
use shard_types::PrincipalId;

use crate::security::{SecretDigest, Security};

pub(crate) use serve::serve;
use site::Site;

/// Largest body of a request: none holds more than a secret.
const MAX_BODY: usize = 16 * 1024;

/// Who takes over the WebSockets.
pub(crate) trait Sockets: Send + Sync {
    /// Takes over the socket of an enrolled browser; the future ends with the connection.
    ///
    /// The socket has to be known to [`Sockets::close`] when this returns, not only when the
    /// future is polled: the listener then asks whether the browser is still in, and closes it if
    /// it was put out meanwhile.
    fn connected(&self, socket: WebSocket, principal: PrincipalId) -> BoxFuture<'static, ()>;

    /// Whether that browser may have one socket more.
    fn has_room(&self, principal: &PrincipalId) -> bool;

    /// Closes all sockets of a browser that is out.
    fn close(&self, principal: &PrincipalId);
}

/// Gives the daemon's metrics as Prometheus text.
pub(crate) type Metrics = Arc<dyn Fn() -> String + Send + Sync>;

/// What the listener needs.
#[derive(Clone)]
pub(crate) struct Http {
    /// Decides who is let in.
    pub(crate) security: Security,
    /// Takes over the WebSockets.
    pub(crate) sockets: Arc<dyn Sockets>,
    /// The version of this program.
    pub(crate) version: String,
    /// What `/metrics` answers.
    pub(crate) metrics: Metrics,
    /// Of the bearer that `/metrics` takes.
    pub(crate) metrics_token: SecretDigest,
}

/// What every handler shares.
struct App {
    http: Http,
    site: Site,
    content_security_policy: HeaderValue,
}

/// Everything that is answered on the listener, with the embedded web client.
fn router(http: Http) -> Router {
    router_with(http, Site::embedded())
}

fn router_with(http: Http, site: Site) -> Router {
    let app = Arc::new(App {
        http,
        content_security_policy: gate::content_security_policy(site.inline_scripts()),
        site,
    });
    let routes = Router::new()
        .route("/healthz", get(status::healthz))
        .route("/metrics", get(status::metrics))
        .route("/enroll/start", post(enroll::start))
        .route("/enroll/claim", post(enroll::claim))
        .route("/enroll/token", post(enroll::token))
        .route("/bootstrap", post(session::bootstrap))
        .route("/logout", post(session::logout))
        .route("/ws", get(upgrade::upgrade))
        .fallback(site::asset)
        .method_not_allowed_fallback(answer::method_not_allowed)
        .layer(DefaultBodyLimit::max(MAX_BODY))
        .with_state(Arc::clone(&app));
    // Around the router, not in it: the gate is passed before any path is looked at.
    Router::new()
        .fallback_service(routes)
        .layer(from_fn_with_state(app, gate::gate))
}

#[cfg(test)]
mod tests;
