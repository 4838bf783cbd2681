//! `POST /bootstrap` and `POST /logout`: the beginning and the end of a browser's session.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::http::header::SET_COOKIE;
use axum::response::{IntoResponse as _, Response};
use serde::Deserialize;
use serde_json::json;
use shard_protocol::PROTOCOL_VERSION;

use super::headers::{has_stray_cookie, session_cookie};
use super::posted::{Nothing, Posted};
use super::{App, answer};
use crate::security::cookie::{clear_cookie, set_cookie};

/// The body of `/bootstrap`.
#[derive(Deserialize)]
pub(super) struct ClientSecret {
    #[serde(default)]
    client_secret: String,
}

/// `POST /bootstrap`: a ticket for whoever has the cookie and the client secret.
pub(super) async fn bootstrap(
    State(app): State<Arc<App>>,
    request: Posted<ClientSecret>,
) -> Response {
    let security = &app.http.security;
    let policy = security.policy();
    if has_stray_cookie(request.scheme, &request.headers) {
        return answer::stray_cookie();
    }
    let Some(cookie) = session_cookie(policy, request.scheme, &request.headers) else {
        return answer::error(StatusCode::UNAUTHORIZED, answer::ENROLL);
    };
    let secret = &request.body.client_secret;
    match security
        .bootstrap(cookie.expose(), secret, &request.origin)
        .await
    {
        Ok(issued) => {
            // Set again at each visit, so that its 90 days start anew.
            let cookie = set_cookie(request.scheme, policy.port(), &cookie);
            let body = json!({
                "ticket": issued.ticket.expose(),
                "expires_at": issued.expires_at,
                "protocol_version": PROTOCOL_VERSION,
            });
            ([(SET_COOKIE, cookie)], Json(body)).into_response()
        }
        Err(failure) => answer::security(&failure, answer::ENROLL),
    }
}

/// `POST /logout`: ends this browser's session. One that has none is told the same: the cookie is
/// gone afterwards, which is all that it wanted.
pub(super) async fn logout(State(app): State<Arc<App>>, request: Posted<Nothing>) -> Response {
    let security = &app.http.security;
    let policy = security.policy();
    let removed = match session_cookie(policy, request.scheme, &request.headers) {
        Some(cookie) => security.logout(cookie.expose()).await,
        None => Ok(None),
    };
    let mut response = StatusCode::NO_CONTENT.into_response();
    match removed {
        Ok(None) => {}
        Ok(Some(removed)) => {
            app.http.sockets.close(&removed.principal_id);
            if let Err(failure) = removed.stored {
                response = answer::security(&failure, answer::ENROLL);
            }
        }
        // Nothing has been ended, so the browser keeps its cookie and can try again.
        Err(failure) => return answer::security(&failure, answer::ENROLL),
    }
    let cookie = clear_cookie(request.scheme, policy.port());
    ([(SET_COOKIE, cookie)], response).into_response()
}
