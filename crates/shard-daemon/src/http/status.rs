//! `GET /healthz` and `GET /metrics`: for whoever watches the daemon.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::header::{AUTHORIZATION, CONTENT_TYPE, WWW_AUTHENTICATE};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse as _, Response};
use serde_json::json;

use super::headers::single;
use super::{App, answer};
use crate::security::SecretDigest;

/// `GET /healthz`: that the daemon answers, and its version.
pub(super) async fn healthz(State(app): State<Arc<App>>) -> Response {
    Json(json!({ "ok": true, "version": app.http.version })).into_response()
}

/// `GET /metrics`: Prometheus text, for the bearer of `daemon.json`.
pub(super) async fn metrics(State(app): State<Arc<App>>, headers: HeaderMap) -> Response {
    let token = &app.http.metrics_token;
    if !bearer(&headers).is_some_and(|presented| SecretDigest::of(presented).matches(token)) {
        let text = "metrics need `Authorization: Bearer TOKEN` with the token of daemon.json";
        let response = answer::line(StatusCode::UNAUTHORIZED, text);
        return ([(WWW_AUTHENTICATE, "Bearer")], response).into_response();
    }
    let prometheus = "text/plain; version=0.0.4; charset=utf-8";
    ([(CONTENT_TYPE, prometheus)], (app.http.metrics)()).into_response()
}

fn bearer(headers: &HeaderMap) -> Option<&str> {
    let (scheme, token) = single(headers, AUTHORIZATION)?
        .to_str()
        .ok()?
        .split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}
