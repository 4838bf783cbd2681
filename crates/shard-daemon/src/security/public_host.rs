//! What browsers call a daemon that is reached from elsewhere.

use std::net::Ipv6Addr;

use super::access::AccessError;
use super::cookie::Scheme;

/// `host` or `host:port`, as a browser writes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PublicHost {
    host: String,
    /// The scheme's own, if left out.
    port: Option<u16>,
}

impl PublicHost {
    /// # Errors
    /// When a browser could not write it so.
    pub(super) fn parse(given: &str) -> Result<Self, AccessError> {
        let wrong = || AccessError::PublicHost {
            given: given.to_owned(),
        };
        let (host, port) = match given.rsplit_once(':') {
            // Within brackets it is a part of the address.
            Some((host, port)) if !port.ends_with(']') => {
                // As it is written in an address bar: `+1` and `01` parse too.
                let canonical = port.parse().ok().filter(|it: &u16| it.to_string() == port);
                let port = canonical.filter(|port| *port != 0).ok_or_else(wrong)?;
                (host, Some(port))
            }
            _ => (given, None),
        };
        let host = match host.strip_prefix('[').and_then(|it| it.strip_suffix(']')) {
            // As browsers shorten it.
            Some(address) => format!("[{}]", address.parse::<Ipv6Addr>().map_err(|_| wrong())?),
            None => {
                let plain = |b: u8| b.is_ascii_alphanumeric() || b".-_".contains(&b);
                if host.is_empty() || !host.bytes().all(plain) {
                    return Err(wrong());
                }
                host.to_ascii_lowercase()
            }
        };
        Ok(Self { host, port })
    }

    /// Whether this is the host in a request that came with this scheme: exactly, but that the
    /// scheme's own port may be said or not.
    pub(crate) fn is(&self, presented: &[u8], scheme: Scheme) -> bool {
        let rest = presented.strip_prefix(self.host.as_bytes());
        let usual = scheme.default_port();
        let port = self.port.unwrap_or(usual);
        match rest {
            Some(b"") => port == usual,
            Some(rest) => rest == format!(":{port}").as_bytes(),
            None => false,
        }
    }

    /// The origin of pages from there, as browsers write it.
    pub(crate) fn origin(&self, scheme: Scheme) -> String {
        let Self { host, port } = self;
        match port.filter(|port| *port != scheme.default_port()) {
            Some(port) => format!("{}://{host}:{port}", scheme.name()),
            None => format!("{}://{host}", scheme.name()),
        }
    }
}
