//! Which `Host` and which `Origin` the daemon listens to.
//!
//! Both are compared as they stand, byte for byte. Nothing is normalized: no alternate spelling of
//! loopback, no suffix, no forwarded value ever becomes a match.

use std::sync::{Arc, PoisonError, RwLock};

use super::cookie::Scheme;

/// What the daemon is called from outside, and which pages may speak to it.
#[derive(Debug, Clone)]
pub(crate) struct Policy {
    port: u16,
    host: String,
    own_origin: String,
    scheme: Scheme,
    /// Behind a lock that is held to compare: the configuration may change.
    allowed_origins: Arc<RwLock<Vec<String>>>,
}

impl Policy {
    /// The policy of a listener on `127.0.0.1:port`: that host alone, its own origin, and those
    /// that the configuration names.
    #[must_use]
    pub(crate) fn loopback(port: u16, allowed_origins: impl IntoIterator<Item = String>) -> Self {
        // A browser leaves the default port of http out of both headers.
        let host = match port {
            80 => "127.0.0.1".to_owned(),
            port => format!("127.0.0.1:{port}"),
        };
        let own_origin = format!("http://{host}");
        let policy = Self {
            port,
            host,
            own_origin,
            scheme: Scheme::Http,
            allowed_origins: Arc::default(),
        };
        policy.allow(allowed_origins);
        policy
    }

    /// From now on these origins are accepted, beside its own, and no others.
    pub(crate) fn allow(&self, origins: impl IntoIterator<Item = String>) {
        // `null` is what every sandboxed frame and local file calls itself: it names nobody.
        let origins = origins.into_iter().filter(|o| o != "null" && o != "*");
        let own = std::iter::once(self.own_origin.clone());
        let mut allowed = self
            .allowed_origins
            .write()
            .unwrap_or_else(PoisonError::into_inner);
        *allowed = own.chain(origins).collect();
    }

    /// Whether this is the one `Host` that is served.
    #[must_use]
    pub(crate) fn accepts_host(&self, host: &[u8]) -> bool {
        host == self.host.as_bytes()
    }

    /// This header value, if it equals an allowed origin.
    #[must_use]
    pub(crate) fn accepted_origin<'h>(&self, origin: &'h [u8]) -> Option<&'h str> {
        let allowed = self.allowed_origins.read();
        let allowed = allowed.unwrap_or_else(PoisonError::into_inner);
        let accepted = allowed.iter().any(|allowed| allowed.as_bytes() == origin);
        accepted.then(|| std::str::from_utf8(origin).ok()).flatten()
    }

    /// The address to open in a browser, without a slash at its end.
    #[must_use]
    pub(crate) fn own_origin(&self) -> &str {
        &self.own_origin
    }

    /// How requests arrive, as far as the browser is concerned.
    #[must_use]
    pub(crate) fn scheme(&self) -> Scheme {
        self.scheme
    }

    /// The port of the listener.
    #[must_use]
    pub(crate) fn port(&self) -> u16 {
        self.port
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_exact_host_and_origins_are_accepted() {
        let dev = "http://localhost:5173".to_owned();
        let policy = Policy::loopback(7411, [dev.clone(), "null".into(), "*".into()]);
        assert!(policy.accepts_host(b"127.0.0.1:7411"));
        for host in [
            "localhost:7411",
            "127.0.0.1",
            "127.0.0.1:7411.evil.example",
            "127.0.0.2:7411",
            "[::1]:7411",
            "127.1:7411",
            "0.0.0.0:7411",
            "127.0.0.1:07411",
            "127.0.0.1:7411.",
            "",
        ] {
            assert!(!policy.accepts_host(host.as_bytes()), "{host}");
        }
        for origin in ["http://127.0.0.1:7411", dev.as_str()] {
            assert_eq!(policy.accepted_origin(origin.as_bytes()), Some(origin));
        }
        for origin in [
            "http://evil.example",
            "https://127.0.0.1:7411",
            "http://localhost:7411",
            "http://127.0.0.1:7411/",
            "http://127.0.0.1:7411.evil.example",
            "http://localhost:51730",
            "HTTP://LOCALHOST:5173",
            "null",
            "*",
            "",
        ] {
            assert_eq!(policy.accepted_origin(origin.as_bytes()), None, "{origin}");
        }
    }

    #[test]
    fn origins_may_change_and_its_own_stays() {
        let policy = Policy::loopback(7411, ["http://a.example".to_owned()]);
        policy.allow(["http://b.example".to_owned(), "*".to_owned()]);
        for (origin, accepted) in [
            ("http://127.0.0.1:7411", true),
            ("http://a.example", false),
            ("http://b.example", true),
            ("*", false),
        ] {
            let found = policy.accepted_origin(origin.as_bytes());
            assert_eq!(found, accepted.then_some(origin));
        }
    }

    #[test]
    fn the_default_port_is_left_out_as_browsers_do() {
        let policy = Policy::loopback(80, []);
        assert!(policy.accepts_host(b"127.0.0.1"));
        assert!(!policy.accepts_host(b"127.0.0.1:80"));
        assert_eq!(policy.own_origin(), "http://127.0.0.1");
    }
}
