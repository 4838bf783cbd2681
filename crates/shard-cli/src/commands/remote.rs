//! The flags by which a daemon is reached from elsewhere, for `shard daemon` and `shard web`.

use shard_config::Config;
use shard_daemon::{WebAccess, WebOptions};

use crate::args::RemoteArgs;
use crate::failure::Failure;

impl RemoteArgs {
    /// How the daemon is reached, with the origins of the configuration.
    ///
    /// # Errors
    /// A wrong or incomplete combination is a wrong use of the command.
    pub(crate) fn access(&self, config: &Config) -> Result<WebAccess, Failure> {
        let mut allowed_origins = self.allowed_origins.clone();
        allowed_origins.extend(config.daemon.allowed_origins.iter().cloned());
        let options = WebOptions {
            web_host: self.web_host,
            public_host: self.public_host.clone(),
            allowed_origins,
            trust_proxy: self.trust_proxy.clone(),
            allow_insecure_remote: self.allow_insecure_remote,
            proxy_scheme_header: self.proxy_scheme_header.clone(),
            proxy_host_header: self.proxy_host_header.clone(),
        };
        WebAccess::new(options).map_err(|error| Failure::usage(error.to_string()))
    }

    /// The same flags again, for a daemon that is started with them.
    pub(crate) fn flags(&self) -> Vec<String> {
        let Self {
            web_host,
            public_host,
            allowed_origins,
            trust_proxy,
            allow_insecure_remote,
            proxy_scheme_header,
            proxy_host_header,
        } = self;
        let web_host = web_host.map(|address| address.to_string());
        let mut flags = Vec::new();
        for (flag, value) in [
            ("--web-host", &web_host),
            ("--public-host", public_host),
            ("--trust-proxy", trust_proxy),
            ("--proxy-scheme-header", proxy_scheme_header),
            ("--proxy-host-header", proxy_host_header),
        ] {
            // In one word: a value may begin with a dash.
            flags.extend(value.iter().map(|value| format!("{flag}={value}")));
        }
        let origins = allowed_origins.iter();
        flags.extend(origins.map(|origin| format!("--allowed-origin={origin}")));
        if *allow_insecure_remote {
            flags.push("--allow-insecure-remote".to_owned());
        }
        flags
    }
}
