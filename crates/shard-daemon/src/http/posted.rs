//! Requests that change something: what is demanded of all of them.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Bytes;
use axum::extract::{FromRequest, Request};
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::Response;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::headers::{accepted_origin, single};
use super::{App, answer};
use crate::security::Effective;
use crate::security::cookie::Scheme;

/// How long a body may take to arrive: it is a few hundred bytes from the same machine or, by a
/// proxy, from a browser far away.
const BODY_TIMEOUT: Duration = Duration::from_secs(10);

/// A request that changes something: from an allowed origin, with a bounded JSON object.
///
/// The origin comes first: a page elsewhere must not learn more than that it is not allowed. The
/// content type is the second wall: without a preflight no foreign page can send this one.
pub(super) struct Posted<T> {
    /// How the browser sent it.
    pub(super) scheme: Scheme,
    /// The allowed origin that it came from.
    pub(super) origin: String,
    /// Its headers.
    pub(super) headers: HeaderMap,
    /// What it says.
    pub(super) body: T,
}

/// The body of a request that has nothing to say.
#[derive(Deserialize)]
pub(super) struct Nothing {}

impl<T: DeserializeOwned> FromRequest<Arc<App>> for Posted<T> {
    type Rejection = Response;

    async fn from_request(request: Request, app: &Arc<App>) -> Result<Self, Response> {
        let headers = request.headers().clone();
        let Some(origin) = accepted_origin(app.http.security.policy(), &headers) else {
            return Err(answer::error(
                StatusCode::FORBIDDEN,
                "this needs an allowed Origin: open the daemon's own address, or name the page's origin with --allowed-origin, or in daemon.allowed_origins of config.json",
            ));
        };
        if !single(&headers, CONTENT_TYPE).is_some_and(is_json) {
            return Err(answer::error(
                StatusCode::UNSUPPORTED_MEDIA_TYPE,
                "send the body as Content-Type: application/json",
            ));
        }
        // The gate lets nothing past without it.
        let effective = request.extensions().get::<Effective>().copied();
        let scheme = effective.map_or(Scheme::Http, |effective| effective.scheme);
        let body = parse(&read(request, app).await?).ok_or_else(|| {
            answer::error(
                StatusCode::BAD_REQUEST,
                "send a JSON object with the fields of this request",
            )
        })?;
        Ok(Self {
            scheme,
            origin: origin.to_owned(),
            headers,
            body,
        })
    }
}

async fn read(request: Request, app: &Arc<App>) -> Result<Bytes, Response> {
    let read = tokio::time::timeout(BODY_TIMEOUT, Bytes::from_request(request, app)).await;
    let late = || {
        answer::error(
            StatusCode::REQUEST_TIMEOUT,
            "the body did not arrive: try again",
        )
    };
    read.map_err(|_| late())?.map_err(|rejection| {
        let text = "the body is too large or was cut off: send a small JSON object";
        answer::error(rejection.status(), text)
    })
}

/// Whether a content type is JSON, with whatever parameters.
fn is_json(value: &HeaderValue) -> bool {
    let media_type = value
        .as_bytes()
        .split(|&b| b == b';')
        .next()
        .unwrap_or_default();
    media_type
        .trim_ascii()
        .eq_ignore_ascii_case(b"application/json")
}

fn parse<T: DeserializeOwned>(bytes: &[u8]) -> Option<T> {
    // An object first: a struct would be read from an array as well.
    let object: Map<String, Value> = serde_json::from_slice(bytes).ok()?;
    T::deserialize(Value::Object(object)).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_is_recognized_with_parameters_and_in_any_case() {
        for (value, is) in [
            ("application/json", true),
            ("Application/JSON ; charset=utf-8", true),
            ("application/jsonp", false),
            ("text/plain", false),
            ("text/plain;application/json", false),
            ("", false),
        ] {
            assert_eq!(is_json(&HeaderValue::from_static(value)), is, "{value}");
        }
    }

    #[test]
    fn only_an_object_is_a_body() {
        for (text, is) in [
            ("{}", true),
            ("{\"x\":1}", true),
            ("[]", false),
            ("", false),
            ("null", false),
        ] {
            assert_eq!(parse::<Nothing>(text.as_bytes()).is_some(), is, "{text}");
        }
    }
}
