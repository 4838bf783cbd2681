//! Which requests the daemon listens to: what they call it, which page they come from, and whether
//! a proxy's word about them counts.
//!
//! Hosts and origins are compared as they stand, byte for byte. Nothing is normalized: no alternate
//! spelling of loopback, no suffix, no forwarded value ever becomes a match.

use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, PoisonError, RwLock};

use super::access::{Proxy, WebAccess};
use super::cookie::Scheme;
use super::public_host::PublicHost;

/// What the daemon is called from outside, and who may speak to it.
#[derive(Debug, Clone)]
pub(crate) struct Policy {
    port: u16,
    host: Host,
    own_origin: String,
    /// Pages that may speak to it whatever the configuration says: its own, in loopback.
    always_allowed: Vec<String>,
    /// Behind a lock that is held to compare: the configuration may change.
    allowed_origins: Arc<RwLock<Vec<String>>>,
    proxy: Option<Proxy>,
    /// Requests in plaintext are served.
    allows_plaintext: bool,
}

/// What requests have to call the daemon.
#[derive(Debug, Clone)]
enum Host {
    /// The address that it listens on.
    Listener(String),
    /// What it is called elsewhere.
    Public(PublicHost),
}

/// A request that is for this daemon.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Effective {
    /// How the browser sent it.
    pub(crate) scheme: Scheme,
}

/// Why a request is not listened to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// It is for another host.
    Misdirected,
    /// The proxy sent one of its headers twice: programs disagree on which of them counts.
    ForwardedTwice,
    /// The browser asked the proxy for another host.
    ForwardedHost,
    /// It crossed a network in plaintext, which was not agreed to.
    Plaintext,
}

impl Policy {
    /// The policy of a listener that was opened at `listener` for this access.
    #[must_use]
    pub(crate) fn new(access: &WebAccess, listener: SocketAddr) -> Self {
        let (host, own_origin) = match access.public() {
            Some(public) => {
                let own_origin = public.origin(access.public_scheme());
                (Host::Public(public.clone()), own_origin)
            }
            None => {
                // A browser leaves the default port of http out.
                let host = match (listener.port(), listener.ip()) {
                    (80, IpAddr::V4(address)) => address.to_string(),
                    (80, IpAddr::V6(address)) => format!("[{address}]"),
                    _ => listener.to_string(),
                };
                let own_origin = format!("http://{host}");
                (Host::Listener(host), own_origin)
            }
        };
        let mut always_allowed = Vec::new();
        let (proxy, allows_plaintext) = match access {
            WebAccess::Loopback { .. } => {
                always_allowed.push(own_origin.clone());
                (None, true)
            }
            WebAccess::Direct { .. } => (None, true),
            WebAccess::Proxied {
                proxy,
                allows_plaintext,
                ..
            } => (Some(proxy.clone()), *allows_plaintext),
        };
        let policy = Self {
            port: listener.port(),
            host,
            own_origin,
            always_allowed,
            allowed_origins: Arc::default(),
            proxy,
            allows_plaintext,
        };
        policy.allow(access.allowed_origins());
        policy
    }

    /// From now on these origins are accepted, beside its own in loopback, and no others.
    pub(crate) fn allow(&self, origins: &[String]) {
        let mut allowed = self
            .allowed_origins
            .write()
            .unwrap_or_else(PoisonError::into_inner);
        *allowed = [&self.always_allowed, origins].concat();
    }

    /// Looks at a request from `peer`; `values` gives all values of a header, named in lower case.
    ///
    /// # Errors
    /// Why it is not listened to: first of all that it is for another host.
    pub(crate) fn judge<'h, V: Iterator<Item = &'h [u8]>>(
        &self,
        peer: IpAddr,
        values: impl Fn(&str) -> V,
    ) -> Result<Effective, Refusal> {
        let trusted = self.proxy.as_ref().filter(|proxy| proxy.upstream.is(peer));
        let is_https = |value: &[u8]| value.eq_ignore_ascii_case(b"https");
        let scheme = match trusted.is_some_and(|it| values(&it.scheme_header).any(is_https)) {
            true => Scheme::Https,
            false => Scheme::Http,
        };
        let mut hosts = values("host");
        match (hosts.next(), hosts.next()) {
            (Some(host), None) if self.accepts_host(host, scheme) => {}
            _ => return Err(Refusal::Misdirected),
        }
        if let Some(proxy) = trusted {
            let forwarded = [&proxy.scheme_header, &proxy.host_header];
            if forwarded.iter().any(|name| values(name).nth(1).is_some()) {
                return Err(Refusal::ForwardedTwice);
            }
            let host = values(&proxy.host_header).next();
            if host.is_some_and(|host| !self.accepts_host(host, scheme)) {
                return Err(Refusal::ForwardedHost);
            }
        }
        if scheme == Scheme::Http && !self.allows_plaintext {
            return Err(Refusal::Plaintext);
        }
        Ok(Effective { scheme })
    }

    fn accepts_host(&self, presented: &[u8], scheme: Scheme) -> bool {
        match &self.host {
            Host::Listener(host) => presented == host.as_bytes(),
            Host::Public(public) => public.is(presented, scheme),
        }
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

    /// The port of the listener.
    #[must_use]
    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    /// Whether connections from there may be of many people: a proxy's, or this machine's.
    #[must_use]
    pub(crate) fn speaks_for_many(&self, peer: IpAddr) -> bool {
        let is_proxy = |proxy: &Proxy| proxy.upstream.is(peer);
        peer.to_canonical().is_loopback() || self.proxy.as_ref().is_some_and(is_proxy)
    }
}

#[cfg(test)]
mod tests;
