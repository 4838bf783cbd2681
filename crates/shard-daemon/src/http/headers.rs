//! Reading request headers strictly.

use axum::http::header::{COOKIE, ORIGIN, USER_AGENT};
use axum::http::{HeaderMap, HeaderName, HeaderValue};

use crate::security::cookie::find_cookie;
use crate::security::{Policy, Secret};

/// The value of a header that has to be there once. Two of it are as good as none: programs on
/// the way disagree on which of them counts.
pub(super) fn single(headers: &HeaderMap, name: HeaderName) -> Option<&HeaderValue> {
    let mut values = headers.get_all(name).iter();
    let first = values.next()?;
    values.next().is_none().then_some(first)
}

/// The request's origin, if it is an allowed one.
pub(super) fn accepted_origin<'h>(policy: &Policy, headers: &'h HeaderMap) -> Option<&'h str> {
    policy.accepted_origin(single(headers, ORIGIN)?.as_bytes())
}

/// The session cookie, if there is exactly one.
pub(super) fn session_cookie(policy: &Policy, headers: &HeaderMap) -> Option<Secret> {
    // Other servers on this host share the header, and may put anything at all into it.
    let cookies = headers.get_all(COOKIE).iter();
    let texts: Vec<_> = cookies
        .map(|value| String::from_utf8_lossy(value.as_bytes()))
        .collect();
    let texts = texts.iter().map(AsRef::as_ref);
    let value = find_cookie(texts, policy.scheme(), policy.port())?;
    Some(Secret::presented(value))
}

/// What the browser calls itself.
pub(super) fn user_agent(headers: &HeaderMap) -> Option<String> {
    let value = headers.get(USER_AGENT)?;
    Some(String::from_utf8_lossy(value.as_bytes()).into_owned())
}
