//! How the daemon is reached, as flags and configuration say it: one of three configurations, and
//! nothing in between. What does not add up is refused at the start, with what to add.
//!
//! | configuration | listens on | the browser's TLS |
//! |---|---|---|
//! | loopback | 127.0.0.1 | none; nothing leaves the machine |
//! | direct | an address of the network | none, which has to be agreed to |
//! | proxied | 127.0.0.1, or an address that only the proxy reaches | ends at the proxy |

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use shard_config::is_origin;
use thiserror::Error;

use super::cookie::Scheme;
use super::public_host::PublicHost;

/// What a person asked for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WebOptions {
    /// `--web-host`: the address to listen on.
    pub web_host: Option<IpAddr>,
    /// `--public-host`: what browsers call the daemon.
    pub public_host: Option<String>,
    /// `--allowed-origin`, each; and those of the configuration.
    pub allowed_origins: Vec<String>,
    /// `--trust-proxy`: whose forwarded headers count.
    pub trust_proxy: Option<String>,
    /// `--allow-insecure-remote`: that credentials may travel in plaintext.
    pub allow_insecure_remote: bool,
    /// `--proxy-scheme-header`: in the place of `X-Forwarded-Proto`.
    pub proxy_scheme_header: Option<String>,
    /// `--proxy-host-header`: in the place of `X-Forwarded-Host`.
    pub proxy_host_header: Option<String>,
}

/// How the daemon is reached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WebAccess {
    /// From this machine alone.
    Loopback {
        /// Where to listen.
        address: IpAddr,
        /// Pages that may talk to the daemon besides its own.
        allowed_origins: Vec<String>,
    },
    /// From the network, in plaintext.
    Direct {
        /// Where to listen.
        address: IpAddr,
        /// What browsers call it.
        public: PublicHost,
        /// All pages that may talk to it.
        allowed_origins: Vec<String>,
    },
    /// By way of a proxy, where TLS ends.
    Proxied {
        /// Where to listen.
        address: IpAddr,
        /// Who the proxy is.
        proxy: Proxy,
        /// What browsers call it.
        public: PublicHost,
        /// All pages that may talk to it.
        allowed_origins: Vec<String>,
        /// Whether what came to the proxy in plaintext is served too.
        allows_plaintext: bool,
    },
}

/// A proxy whose word counts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Proxy {
    /// Where its connections come from.
    pub upstream: Upstream,
    /// The header with the scheme that the browser used, in lower case.
    pub scheme_header: String,
    /// The header with the host that the browser asked for, in lower case.
    pub host_header: String,
}

/// Where the connections of a proxy come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Upstream {
    /// `127.0.0.1` and `::1`.
    Loopback,
    /// Exactly this address.
    Address(IpAddr),
}

/// A combination that does not start.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum AccessError {
    /// Something that this configuration needs was not said.
    #[error("{configuration} also needs {}; docs/WEB-DEPLOYMENT.md has whole command lines", missing.join(" and "))]
    Incomplete {
        /// What was said.
        configuration: String,
        /// What to add.
        missing: Vec<&'static str>,
    },
    /// A flag that says something about a remote configuration, without one.
    #[error(
        "{flag} is for access from elsewhere: add --trust-proxy UPSTREAM for a proxy on this machine, or --web-host ADDRESS to listen on the network; or leave it out"
    )]
    OnlyRemote {
        /// The flag.
        flag: &'static str,
    },
    /// A header was renamed without a proxy that sends it.
    #[error("{flag} names a header of a proxy: add --trust-proxy UPSTREAM, or leave it out")]
    OnlyProxied {
        /// The flag.
        flag: &'static str,
    },
    /// No host.
    #[error(
        "--public-host `{given}` is no host: write HOST or HOST:PORT as it stands in the browser's address bar, such as shard.example or [2001:db8::1]:8443"
    )]
    PublicHost {
        /// What was given.
        given: String,
    },
    /// No origin.
    #[error(
        "--allowed-origin `{given}` is no origin: write it as browsers do, in lower case, without a path and without the usual port, such as https://shard.example"
    )]
    AllowedOrigin {
        /// What was given.
        given: String,
    },
    /// No proxy.
    #[error("--trust-proxy `{given}` names no proxy: write `loopback`, or the proxy's IP address")]
    TrustProxy {
        /// What was given.
        given: String,
    },
    /// No header.
    #[error(
        "{flag} `{given}` is no name of a header that a proxy can set: write one such as X-Forwarded-Proto, another one for each flag"
    )]
    Header {
        /// The flag.
        flag: &'static str,
        /// What was given.
        given: String,
    },
}

const SCHEME_HEADER: &str = "x-forwarded-proto";
const HOST_HEADER: &str = "x-forwarded-host";

/// Headers that mean something else already.
const NOT_A_PROXYS: [&str; 6] = [
    "authorization",
    "cookie",
    "forwarded",
    "host",
    "origin",
    "x-forwarded-for",
];

impl WebAccess {
    /// Finds out which configuration was asked for.
    ///
    /// # Errors
    /// Whatever is wrong with it, or missing; never a weaker configuration instead.
    pub fn new(options: WebOptions) -> Result<Self, AccessError> {
        let address = options
            .web_host
            .unwrap_or(IpAddr::V4(Ipv4Addr::LOCALHOST))
            .to_canonical();
        for origin in &options.allowed_origins {
            if !is_origin(origin) {
                let given = origin.clone();
                return Err(AccessError::AllowedOrigin { given });
            }
        }
        let public = options.public_host.as_deref().map(PublicHost::parse);
        let public = public.transpose()?;
        let proxy = options.proxy()?;
        let configuration = match (&proxy, &options.trust_proxy) {
            (Some(_), Some(upstream)) => format!("--trust-proxy {upstream}"),
            _ => format!("--web-host {address}"),
        };
        if proxy.is_none() && address.is_loopback() {
            return Self::loopback(address, options);
        }
        let mut missing = Vec::new();
        if public.is_none() {
            missing.push("--public-host HOST:PORT");
        }
        if options.allowed_origins.is_empty() {
            missing.push("--allowed-origin ORIGIN");
        }
        if proxy.is_none() && !options.allow_insecure_remote {
            missing.push(
                "--allow-insecure-remote, which accepts that cookies cross the network in plaintext",
            );
        }
        let Some(public) = public.filter(|_| missing.is_empty()) else {
            return Err(AccessError::Incomplete {
                configuration,
                missing,
            });
        };
        let allowed_origins = options.allowed_origins;
        Ok(match proxy {
            Some(proxy) => Self::Proxied {
                address,
                proxy,
                public,
                allowed_origins,
                allows_plaintext: options.allow_insecure_remote,
            },
            None => Self::Direct {
                address,
                public,
                allowed_origins,
            },
        })
    }

    fn loopback(address: IpAddr, options: WebOptions) -> Result<Self, AccessError> {
        let only_remote = [
            (options.public_host.is_some(), "--public-host"),
            (options.allow_insecure_remote, "--allow-insecure-remote"),
        ];
        if let Some((_, flag)) = only_remote.into_iter().find(|(given, _)| *given) {
            return Err(AccessError::OnlyRemote { flag });
        }
        Ok(Self::Loopback {
            address,
            allowed_origins: options.allowed_origins,
        })
    }

    /// The address to listen on.
    #[must_use]
    pub fn address(&self) -> IpAddr {
        match self {
            Self::Loopback { address, .. }
            | Self::Direct { address, .. }
            | Self::Proxied { address, .. } => *address,
        }
    }

    /// What browsers call a daemon that is reached from elsewhere.
    pub(crate) fn public(&self) -> Option<&PublicHost> {
        match self {
            Self::Loopback { .. } => None,
            Self::Direct { public, .. } | Self::Proxied { public, .. } => Some(public),
        }
    }

    pub(crate) fn allowed_origins(&self) -> &[String] {
        match self {
            Self::Loopback {
                allowed_origins, ..
            }
            | Self::Direct {
                allowed_origins, ..
            }
            | Self::Proxied {
                allowed_origins, ..
            } => allowed_origins,
        }
    }

    /// The scheme of the address that people open.
    pub(crate) fn public_scheme(&self) -> Scheme {
        match self {
            Self::Loopback { .. } | Self::Direct { .. } => Scheme::Http,
            Self::Proxied {
                allows_plaintext: false,
                ..
            } => Scheme::Https,
            // Either may be: whichever the page's own origin was allowed with.
            Self::Proxied {
                public,
                allowed_origins,
                ..
            } => match allowed_origins.contains(&public.origin(Scheme::Https)) {
                true => Scheme::Https,
                false => Scheme::Http,
            },
        }
    }

    /// What whoever starts the daemon should know, a line each.
    #[must_use]
    pub fn warnings(&self) -> Vec<String> {
        let mut warnings = Vec::new();
        if let Self::Direct { .. }
        | Self::Proxied {
            allows_plaintext: true,
            ..
        } = self
        {
            warnings.push(
                "--allow-insecure-remote: session cookies and all that is said may cross the network in plaintext, where anybody on the way can read and use them; keep to a trusted network, a VPN or an SSH tunnel"
                    .to_owned(),
            );
        }
        if let Self::Proxied { address, proxy, .. } = self
            && let Upstream::Address(upstream) = proxy.upstream
            && address.is_loopback()
            && !upstream.is_loopback()
        {
            warnings.push(format!(
                "the proxy at {upstream} cannot reach {address}; add --web-host with an address of its network, or --trust-proxy loopback"
            ));
        }
        if let Some(public) = self.public() {
            let own = public.origin(self.public_scheme());
            if !self.allowed_origins().contains(&own) {
                warnings.push(format!(
                    "the daemon's own pages cannot talk to it; add --allowed-origin {own}"
                ));
            }
        }
        warnings
    }
}

impl WebOptions {
    fn proxy(&self) -> Result<Option<Proxy>, AccessError> {
        let renamed = [
            ("--proxy-scheme-header", &self.proxy_scheme_header),
            ("--proxy-host-header", &self.proxy_host_header),
        ];
        let Some(upstream) = &self.trust_proxy else {
            let given = renamed.iter().find(|(_, name)| name.is_some());
            return match given {
                Some(&(flag, _)) => Err(AccessError::OnlyProxied { flag }),
                None => Ok(None),
            };
        };
        let [scheme_header, host_header] = renamed.map(|(flag, given)| {
            let usual = match flag {
                "--proxy-scheme-header" => SCHEME_HEADER,
                _ => HOST_HEADER,
            };
            header(flag, given.as_deref().unwrap_or(usual))
        });
        let (scheme_header, host_header) = (scheme_header?, host_header?);
        if scheme_header == host_header {
            return Err(AccessError::Header {
                flag: "--proxy-host-header",
                given: host_header,
            });
        }
        Ok(Some(Proxy {
            upstream: Upstream::parse(upstream)?,
            scheme_header,
            host_header,
        }))
    }
}

/// A header's name in lower case.
fn header(flag: &'static str, given: &str) -> Result<String, AccessError> {
    let name = given.to_ascii_lowercase();
    let plain = |b: u8| b.is_ascii_alphanumeric() || b == b'-' || b == b'_';
    if name.is_empty() || !name.bytes().all(plain) || NOT_A_PROXYS.contains(&&*name) {
        let given = given.to_owned();
        return Err(AccessError::Header { flag, given });
    }
    Ok(name)
}

impl Upstream {
    fn parse(given: &str) -> Result<Self, AccessError> {
        if given == "loopback" {
            return Ok(Self::Loopback);
        }
        let address = given.parse().map(|address: IpAddr| address.to_canonical());
        match address {
            Ok(address) if !address.is_unspecified() && !address.is_multicast() => {
                Ok(Self::Address(address))
            }
            _ => Err(AccessError::TrustProxy {
                given: given.to_owned(),
            }),
        }
    }

    /// Whether a connection from there is the proxy's.
    pub(crate) fn is(self, peer: IpAddr) -> bool {
        let peer = peer.to_canonical();
        match self {
            Self::Loopback => {
                peer == IpAddr::V4(Ipv4Addr::LOCALHOST) || peer == IpAddr::V6(Ipv6Addr::LOCALHOST)
            }
            Self::Address(address) => peer == address,
        }
    }
}

#[cfg(test)]
mod tests;
