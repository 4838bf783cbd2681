//! Addresses of servers.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize, Serializer};

use crate::secret::MASK;

/// The address that requests go to. Displaying, debugging and serializing hide a password in it;
/// only [`as_str`](Self::as_str) tells it.
#[derive(Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(transparent)]
#[schemars(inline)]
pub struct Endpoint(String);

/// The parts of `scheme://userinfo@authority/rest`.
pub(crate) struct Parts<'a> {
    pub(crate) scheme: &'a str,
    pub(crate) userinfo: Option<&'a str>,
    /// Host and port.
    pub(crate) authority: &'a str,
    /// From the first `/`, `?` or `#` on.
    pub(crate) rest: &'a str,
}

/// Whether this is an origin as browsers send it; anything else would silently match nothing.
#[must_use]
pub fn is_origin(text: &str) -> bool {
    split(text).is_some_and(|parts| {
        let plain = |c: char| c.is_ascii_graphic() && c != '*' && !c.is_ascii_uppercase();
        let full = !parts.host().is_empty() && parts.authority.chars().all(plain);
        let usual_port = match parts.scheme {
            "https" => ":443",
            _ => ":80",
        };
        parts.is_web()
            && full
            && !parts.authority.ends_with(usual_port)
            && parts.userinfo.is_none()
            && parts.rest.is_empty()
    })
}

impl Endpoint {
    /// Wraps an address; [`crate::parse`] and [`crate::use_provider`] check it.
    pub fn new(address: impl Into<String>) -> Self {
        Self(address.into())
    }

    /// The address without a trailing slash, as requests need it: with the password. People are
    /// shown the endpoint itself.
    #[must_use]
    pub fn as_str(&self) -> &str {
        self.0.trim_end_matches('/')
    }

    /// Whether requests stay on this machine.
    #[must_use]
    pub fn is_loopback(&self) -> bool {
        split(&self.0).is_some_and(|parts| {
            let host = parts.host();
            host.eq_ignore_ascii_case("localhost") || host == "[::1]" || is_loopback_v4(host)
        })
    }

    /// Whether requests are encrypted.
    #[must_use]
    pub fn is_encrypted(&self) -> bool {
        split(&self.0).is_some_and(|parts| parts.scheme.eq_ignore_ascii_case("https"))
    }

    /// What is wrong with the address, if anything is.
    pub(crate) fn problem(&self) -> Option<&'static str> {
        match split(&self.0) {
            Some(parts) if !parts.is_web() => {
                Some("expected an address that begins with http:// or https://")
            }
            Some(parts) if parts.host().is_empty() => Some("expected a host after ://"),
            Some(parts) if parts.rest.contains(['?', '#']) => {
                Some("expected an address without ? and #")
            }
            Some(_)
                if self
                    .0
                    .contains(|c: char| c.is_whitespace() || c.is_control()) =>
            {
                Some("expected an address without spaces")
            }
            Some(_) => None,
            None => Some("expected an address that begins with http:// or https://"),
        }
    }
}

impl Parts<'_> {
    pub(crate) fn is_web(&self) -> bool {
        ["http", "https"]
            .iter()
            .any(|web| self.scheme.eq_ignore_ascii_case(web))
    }

    /// The host without its port.
    pub(crate) fn host(&self) -> &str {
        match self.authority.rsplit_once(':') {
            Some((host, port)) if port.bytes().all(|b| b.is_ascii_digit()) => host,
            _ => self.authority,
        }
    }
}

/// Takes an address apart; `None` when it has no scheme.
pub(crate) fn split(address: &str) -> Option<Parts<'_>> {
    let (scheme, after) = address.split_once("://")?;
    let end = after.find(['/', '?', '#']).unwrap_or(after.len());
    let (before, rest) = after.split_at(end);
    let (userinfo, authority) = match before.rsplit_once('@') {
        Some((userinfo, authority)) => (Some(userinfo), authority),
        None => (None, before),
    };
    Some(Parts {
        scheme,
        userinfo,
        authority,
        rest,
    })
}

/// The address without a password and without a query, either of which may be a key.
pub(crate) fn masked(address: &str) -> String {
    let Some(Parts {
        scheme,
        userinfo,
        authority,
        rest,
    }) = split(address)
    else {
        return address.to_owned();
    };
    let user = if userinfo.is_some() {
        format!("{MASK}@")
    } else {
        String::new()
    };
    let path = match rest.find(['?', '#']) {
        Some(at) => format!("{}{MASK}", &rest[..=at]),
        None => rest.to_owned(),
    };
    format!("{scheme}://{user}{authority}{path}")
}

fn is_loopback_v4(host: &str) -> bool {
    host.parse::<std::net::Ipv4Addr>()
        .is_ok_and(|address| address.is_loopback())
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&masked(&self.0))
    }
}

impl fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", masked(&self.0))
    }
}

impl Serialize for Endpoint {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&masked(&self.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_and_queries_are_masked() {
        let cases = [
            ("https://u:p@h.example:8/v1", "https://***@h.example:8/v1"),
            ("https://a@b@h/v1?key=sk", "https://***@h/v1?***"),
            ("http://[::1]:80/v1", "http://[::1]:80/v1"),
            ("no address", "no address"),
        ];
        for (address, expect) in cases {
            assert_eq!(Endpoint::new(address).to_string(), expect);
        }
    }

    #[test]
    fn only_this_machine_is_loopback() {
        for here in [
            "http://127.0.0.1:1/v1",
            "http://LOCALHOST",
            "https://[::1]:9/",
            "http://127.9.9.9",
        ] {
            assert!(Endpoint::new(here).is_loopback(), "{here}");
        }
        for away in [
            "http://127.0.0.1.example",
            "http://localhost@evil.example",
            "http://10.0.0.1",
        ] {
            assert!(!Endpoint::new(away).is_loopback(), "{away}");
        }
    }
}
