//! What every request passes and every answer gets.

use std::net::IpAddr;
use std::sync::Arc;

use axum::Extension;
use axum::extract::{Request, State};
use axum::http::header::{
    ACCESS_CONTROL_ALLOW_CREDENTIALS, ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS,
    ACCESS_CONTROL_ALLOW_ORIGIN, CACHE_CONTROL, CONTENT_SECURITY_POLICY, REFERRER_POLICY, VARY,
    X_CONTENT_TYPE_OPTIONS,
};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};

use super::headers::{accepted_origin, has_stray_cookie};
use super::serve::Peer;
use super::{App, answer};
use crate::security::cookie::Scheme;
use crate::security::{Effective, Policy, Refusal};

/// Refuses what is not for this daemon, answers preflights, and puts the headers on that every
/// answer has, whoever gave it.
pub(super) async fn gate(
    State(app): State<Arc<App>>,
    Extension(Peer(peer)): Extension<Peer>,
    mut request: Request,
    next: Next,
) -> Response {
    let policy = app.http.security.policy();
    let effective = match judge(policy, peer, &request) {
        Ok(effective) => effective,
        Err(mut response) => {
            protect(&app, response.headers_mut());
            return *response;
        }
    };
    request.extensions_mut().insert(effective);
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
fn judge(policy: &Policy, peer: IpAddr, request: &Request) -> Result<Effective, Box<Response>> {
    if request.uri().authority().is_some() {
        return Err(Box::new(refuse(policy, Refusal::Misdirected)));
    }
    let headers = request.headers();
    let values = |name: &str| headers.get_all(name).into_iter().map(HeaderValue::as_bytes);
    match (policy.judge(peer, values), request.uri().path()) {
        // Whoever watches the daemon may be told that it lives; nobody's secret is in that.
        (Err(Refusal::Plaintext), "/healthz") => Ok(Effective {
            scheme: Scheme::Http,
        }),
        // The cookie is wrong whatever else is.
        (Err(Refusal::Plaintext), "/bootstrap") if has_stray_cookie(Scheme::Http, headers) => {
            Err(Box::new(answer::stray_cookie()))
        }
        (judged, _) => judged.map_err(|refusal| Box::new(refuse(policy, refusal))),
    }
}

fn refuse(policy: &Policy, refusal: Refusal) -> Response {
    let own_origin = policy.own_origin();
    let (status, text) = match refusal {
        Refusal::Misdirected => (
            StatusCode::MISDIRECTED_REQUEST,
            format!("this daemon answers only at {own_origin}/ : open that address"),
        ),
        Refusal::ForwardedTwice => (
            StatusCode::BAD_REQUEST,
            "a forwarded header came twice: have the proxy set it, not add to it".to_owned(),
        ),
        Refusal::ForwardedHost => (
            StatusCode::BAD_REQUEST,
            format!("the proxy was asked for another host than {own_origin}/ : open that address"),
        ),
        Refusal::Plaintext => (
            StatusCode::FORBIDDEN,
            format!(
                "this came in plaintext: open {own_origin}/ ; if that is where this came from, have the proxy set the header with the scheme, such as X-Forwarded-Proto: https"
            ),
        ),
    };
    answer::line(status, &text)
}

/// Answers `OPTIONS` for any path: what is allowed is the same everywhere.
fn preflight(is_allowed: bool) -> Response {
    if !is_allowed {
        let text = "this origin is not allowed: name it with --allowed-origin, or in daemon.allowed_origins of config.json";
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
