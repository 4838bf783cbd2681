//! Answers that several handlers give: an error says what to do next and nothing else.

use axum::Json;
use axum::http::header::RETRY_AFTER;
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse as _, Response};
use serde_json::json;

use crate::security::SecurityError;

/// What somebody reads who is not enrolled.
pub(super) const ENROLL: &str = "this browser is not enrolled, or no longer: run `shard auth token` and open the address that it prints";

/// An error for a script: `{ "error": … }`.
pub(super) fn error(status: StatusCode, what_to_do: &str) -> Response {
    (status, Json(json!({ "error": what_to_do }))).into_response()
}

/// An error for a person at an address bar: one line.
pub(super) fn line(status: StatusCode, what_to_do: &str) -> Response {
    (status, format!("{what_to_do}\n")).into_response()
}

/// Answers a page that shows, in plaintext, the cookie that belongs to TLS.
pub(super) fn stray_cookie() -> Response {
    error(
        StatusCode::UNAUTHORIZED,
        "this cookie is for https alone, and the request came in plaintext: open the https address, or have the proxy say that it takes TLS off (X-Forwarded-Proto: https)",
    )
}

/// Answers a known path that does not take this method.
pub(super) async fn method_not_allowed() -> Response {
    line(
        StatusCode::METHOD_NOT_ALLOWED,
        "this address does not take that method: see the Allow header",
    )
}

/// Answers what the security rules refuse; `refused` says what to do about wrong credentials.
pub(super) fn security(failure: &SecurityError, refused: &str) -> Response {
    match failure {
        SecurityError::Throttled(wait) => {
            let mut response = error(StatusCode::TOO_MANY_REQUESTS, &failure.to_string());
            let seconds = HeaderValue::from(wait.ms.div_ceil(1_000));
            response.headers_mut().insert(RETRY_AFTER, seconds);
            response
        }
        SecurityError::Refused => error(StatusCode::UNAUTHORIZED, refused),
        SecurityError::Store(_) => {
            // The error names a path: that is for the log, not for whoever asks.
            tracing::error!(error = %failure, "enrolled browsers could not be stored");
            error(
                StatusCode::INTERNAL_SERVER_ERROR,
                "the daemon could not store that: its log says why (`shard doctor` names the file)",
            )
        }
        SecurityError::Interrupted => error(
            StatusCode::SERVICE_UNAVAILABLE,
            "the daemon is busy or stopping: try again",
        ),
    }
}
