//! What the daemon listens on: sockets of its own, or those that a service manager opened for it.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::AsFd;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use rustix::net::sockopt::socket_acceptconn;
use tokio::net::{TcpListener, UnixListener};

use crate::home::{self, StartError};
use crate::settings::Settings;

/// Sockets that somebody else opened, each in the place of one that the daemon would open. They are
/// closed in whatever the daemon starts (`FD_CLOEXEC`).
#[derive(Debug, Default)]
pub struct Inherited {
    /// For local programs. Its file stays when the daemon ends.
    pub unix: Option<std::os::unix::net::UnixListener>,
    /// For browsers, on the address that is listened on otherwise.
    pub tcp: Option<std::net::TcpListener>,
}

/// For browsers.
pub(crate) struct Web {
    pub(crate) listener: TcpListener,
    pub(crate) address: SocketAddr,
}

/// Where browsers are to find the daemon.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Wanted {
    pub(crate) host: IpAddr,
    /// The command line's port.
    pub(crate) flag: Option<u16>,
    /// The configuration's.
    pub(crate) configured: u16,
}

/// For local programs.
pub(crate) struct Local {
    pub(crate) path: PathBuf,
    inherited: Option<std::os::unix::net::UnixListener>,
}

impl Web {
    pub(crate) async fn listen(
        inherited: Option<std::net::TcpListener>,
        wanted: Wanted,
    ) -> Result<Self, StartError> {
        let Wanted {
            host,
            flag,
            configured,
        } = wanted;
        let Some(inherited) = inherited else {
            let address = SocketAddr::new(host, flag.unwrap_or(configured));
            let failed = |source| StartError::Listen { address, source };
            let listener = TcpListener::bind(address).await.map_err(failed)?;
            let address = listener.local_addr().map_err(failed)?;
            return Ok(Self { listener, address });
        };
        let address = inherited.local_addr().map_err(unusable("TCP"))?;
        if address.ip() != host {
            let why = format!("it listens on {address}, and only {host} is served");
            return Err(unusable("TCP")(io::Error::other(why)));
        }
        listens(&inherited).map_err(unusable("TCP"))?;
        if flag.is_some_and(|flag| flag != address.port()) {
            tracing::warn!(
                port = address.port(),
                "--port is passed over: the service manager opened the socket"
            );
        }
        let listener = inherited.set_nonblocking(true);
        let listener = listener.and_then(|()| TcpListener::from_std(inherited));
        Ok(Self {
            listener: listener.map_err(unusable("TCP"))?,
            address,
        })
    }
}

impl Local {
    /// Says where it is, and touches nothing yet.
    pub(crate) fn find(
        inherited: Option<std::os::unix::net::UnixListener>,
        settings: &Settings,
    ) -> Result<Self, StartError> {
        let path = match &inherited {
            None => home::socket_path(&settings.state_home, settings.runtime_dir.as_deref()),
            Some(socket) => {
                listens(socket).map_err(unusable("unix"))?;
                let address = socket.local_addr().map_err(unusable("unix"))?;
                let path = address.as_pathname().ok_or_else(|| {
                    let why = "it has no path, so that anybody could connect to it";
                    unusable("unix")(io::Error::other(why))
                })?;
                if path.is_relative() {
                    let why = format!("its path {path:?} is not absolute");
                    return Err(unusable("unix")(io::Error::other(why)));
                }
                path.to_owned()
            }
        };
        Ok(Self { path, inherited })
    }

    /// The file that goes when the daemon ends: of a socket of its own.
    pub(crate) fn own_file(&self) -> Option<PathBuf> {
        self.inherited.is_none().then(|| self.path.clone())
    }

    /// From here on local programs are heard.
    pub(crate) fn listen(self) -> Result<UnixListener, StartError> {
        let Some(inherited) = self.inherited else {
            return home::listen(&self.path);
        };
        let listener = inherited
            .set_nonblocking(true)
            // As for one of its own: for its owner alone.
            .and_then(|()| std::fs::set_permissions(&self.path, PermissionsExt::from_mode(0o600)))
            .and_then(|()| UnixListener::from_std(inherited));
        listener.map_err(unusable("unix"))
    }
}

/// Nobody ever comes in by a socket that does not listen, and each try to let somebody in fails.
fn listens(socket: impl AsFd) -> io::Result<()> {
    match socket_acceptconn(socket)? {
        true => Ok(()),
        false => Err(io::Error::other("it does not listen")),
    }
}

fn unusable(kind: &'static str) -> impl Fn(io::Error) -> StartError {
    move |source| StartError::Inherited { kind, source }
}
