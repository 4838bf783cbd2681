//! Reading request headers strictly.

use std::borrow::Cow;

use axum::http::header::{COOKIE, ORIGIN, USER_AGENT};
use axum::http::{HeaderMap, HeaderName, HeaderValue};

use crate::security::cookie::{Scheme, find_cookie, has_secure_cookie};
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

/// The session cookie for this scheme, if there is exactly one.
pub(super) fn session_cookie(
    policy: &Policy,
    scheme: Scheme,
    headers: &HeaderMap,
) -> Option<Secret> {
    let texts = cookies(headers);
    let value = find_cookie(texts.iter().map(AsRef::as_ref), scheme, policy.port())?;
    Some(Secret::presented(value))
}

/// Whether a cookie came in plaintext that browsers send over TLS alone.
pub(super) fn has_stray_cookie(scheme: Scheme, headers: &HeaderMap) -> bool {
    scheme == Scheme::Http && has_secure_cookie(cookies(headers).iter().map(AsRef::as_ref))
}

fn cookies(headers: &HeaderMap) -> Vec<Cow<'_, str>> {
    // Other servers on this host share the header, and may put anything at all into it.
    let cookies = headers.get_all(COOKIE).iter();
    cookies
        .map(|value| String::from_utf8_lossy(value.as_bytes()))
        .collect()
}

/// What the browser calls itself.
pub(super) fn user_agent(headers: &HeaderMap) -> Option<String> {
    let value = headers.get(USER_AGENT)?;
    Some(String::from_utf8_lossy(value.as_bytes()).into_owned())
}
