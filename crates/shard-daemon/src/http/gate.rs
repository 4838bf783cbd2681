//! What every request passes and every answer gets.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::header::{
    ACCESS_CONTROL_ALLOW_CREDENTIALS, ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS,
    ACCESS_CONTROL_ALLOW_ORIGIN, CACHE_CONTROL, CONTENT_SECURITY_POLICY, HOST, REFERRER_POLICY,
    VARY, X_CONTENT_TYPE_OPTIONS,
};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};

use super::headers::{accepted_origin, single};
use super::{App, answer};
use crate::security::Policy;

/// Refuses what is not addressed to this daemon, answers preflights, and puts the headers on that
/// every answer has, whoever gave it.
pub(super) async fn gate(State(app): State<Arc<App>>, request: Request, next: Next) -> Response {
    let policy = app.http.security.policy();
    if !is_addressed_to_us(policy, &request) {
        let mut response = misdirected(policy);
        protect(&app, response.headers_mut());
        return response;
    }
    let origin = accepted_origin(policy, request.headers()).map(HeaderValue::from_str);
    let origin = origin.and_then(Result::ok);
    let mut response = match *request.method() {
        Method::OPTIONS => preflight(origin.is_some()),
        _ => next.run(request).await,
    };
    protect(&app, response.headers_mut());
    if let Some(origin) = origin {
        let headers = response.headers_mut();
        headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin);
        headers.insert(
            ACCESS_CONTROL_ALLOW_CREDENTIALS,
            HeaderValue::from_static("true"),
        );
    }
    response
}

/// A page at a name that was made to point here must get nothing, so the one `Host` has to be the
/// right one, byte for byte. A target with a host of its own would be a second opinion on it.
fn is_addressed_to_us(policy: &Policy, request: &Request) -> bool {
    let own_host = |host: &HeaderValue| policy.accepts_host(host.as_bytes());
    request.uri().authority().is_none() && single(request.headers(), HOST).is_some_and(own_host)
}

fn misdirected(policy: &Policy) -> Response {
    let text = format!(
        "this daemon answers only at {}/ : open that address",
        policy.own_origin()
    );
    answer::line(StatusCode::MISDIRECTED_REQUEST, &text)
}

/// Answers `OPTIONS` for any path: what is allowed is the same everywhere.
fn preflight(is_allowed: bool) -> Response {
    if !is_allowed {
        let text = "this origin is not allowed: add it to daemon.allowed_origins in config.json";
        return answer::line(StatusCode::FORBIDDEN, text);
    }
    let headers = [
        (ACCESS_CONTROL_ALLOW_METHODS, "GET, POST, OPTIONS"),
        (ACCESS_CONTROL_ALLOW_HEADERS, "Authorization, Content-Type"),
    ];
    (StatusCode::NO_CONTENT, headers).into_response()
}

fn protect(app: &App, headers: &mut HeaderMap) {
    headers.insert(CONTENT_SECURITY_POLICY, app.content_security_policy.clone());
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    // Whatever does not say that it may be kept holds something of this moment or this browser.
    headers
        .entry(CACHE_CONTROL)
        .or_insert(HeaderValue::from_static("no-store"));
    // Every answer depends on the origin, if only by the headers above. One line, because some
    // clients read only one.
    let vary = match headers.get(VARY).and_then(|v| v.to_str().ok()) {
        Some(other) => HeaderValue::try_from(format!("{other}, Origin")).ok(),
        None => None,
    };
    headers.insert(VARY, vary.unwrap_or(HeaderValue::from_static("Origin")));
}

/// The policy that every page runs under: nothing from elsewhere, in particular no image, with
/// which text of a model could send something out; and no script but the client's own.
pub(super) fn content_security_policy(inline_scripts: &[String]) -> HeaderValue {
    let mut scripts = String::from("'self'");
    for hash in inline_scripts {
        scripts.push_str(&format!(" 'sha256-{hash}'"));
    }
    let policy = format!(
        "default-src 'none'; script-src {scripts}; connect-src 'self'; font-src 'self'; \
         img-src 'self' data: blob:; style-src 'self' 'unsafe-inline'; base-uri 'none'; \
         form-action 'none'; frame-ancestors 'none'"
    );
    // A hash is base64, so this is always a header value; if it were not, no script would run.
    HeaderValue::try_from(policy).unwrap_or(HeaderValue::from_static("default-src 'none'"))
}
