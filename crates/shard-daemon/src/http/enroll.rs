//! `POST /enroll/…`: how a browser gets in.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::http::header::SET_COOKIE;
use axum::response::{IntoResponse as _, Response};
use serde::Deserialize;
use serde_json::json;

use super::headers::user_agent;
use super::posted::{Nothing, Posted};
use super::{App, answer};
use crate::security::cookie::{Scheme, set_cookie};
use crate::security::{Claimed, Enrolled};

/// The body of `/enroll/token`. A token that is not there is as wrong as any other.
#[derive(Deserialize)]
pub(super) struct Token {
    #[serde(default)]
    token: String,
}

/// The body of `/enroll/claim`.
#[derive(Deserialize)]
pub(super) struct Nonce {
    #[serde(default)]
    nonce: String,
}

/// `POST /enroll/start`: a code for the screen and a nonce for the page.
pub(super) async fn start(State(app): State<Arc<App>>, _: Posted<Nothing>) -> Response {
    match app.http.security.start_enrollment() {
        Ok(started) => Json(json!({
            "code": started.code,
            "nonce": started.nonce.expose(),
            "expires_at": started.expires_at,
        }))
        .into_response(),
        Err(failure) => answer::security(&failure, ""),
    }
}

/// `POST /enroll/claim`: asks whether the code has been approved.
pub(super) async fn claim(State(app): State<Arc<App>>, request: Posted<Nonce>) -> Response {
    let agent = user_agent(&request.headers);
    match app
        .http
        .security
        .claim(&request.body.nonce, agent.as_deref())
        .await
    {
        Ok(Claimed::Pending) => {
            (StatusCode::ACCEPTED, Json(json!({ "status": "pending" }))).into_response()
        }
        Ok(Claimed::Enrolled(enrolled)) => welcome(&app, request.scheme, &enrolled),
        Ok(Claimed::Gone) => answer::error(
            StatusCode::GONE,
            "this enrollment has expired or was used: reload the page for another code",
        ),
        Err(failure) => answer::security(&failure, ""),
    }
}

/// `POST /enroll/token`: trades a setup token in.
pub(super) async fn token(State(app): State<Arc<App>>, request: Posted<Token>) -> Response {
    let agent = user_agent(&request.headers);
    match app
        .http
        .security
        .redeem_token(&request.body.token, agent.as_deref())
        .await
    {
        Ok(enrolled) => welcome(&app, request.scheme, &enrolled),
        Err(failure) => answer::security(
            &failure,
            "this setup token is wrong, used or expired: run `shard auth token` for another one",
        ),
    }
}

fn welcome(app: &App, scheme: Scheme, enrolled: &Enrolled) -> Response {
    for principal in &enrolled.put_out {
        app.http.sockets.close(principal);
    }
    let port = app.http.security.policy().port();
    let cookie = set_cookie(scheme, port, &enrolled.cookie);
    let secret = json!({ "client_secret": enrolled.client_secret.expose() });
    ([(SET_COOKIE, cookie)], Json(secret)).into_response()
}
