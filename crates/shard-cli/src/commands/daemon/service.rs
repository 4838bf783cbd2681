//! What a daemon and a service manager such as systemd tell each other: sockets that are open
//! already, and how far the daemon is. Without a manager all of this does nothing.

use anyhow::{Context, bail};
use listenfd::ListenFd;
use sd_notify::NotifyState;
use shard_daemon::Inherited;

/// The sockets that were opened for this process, at most one of each sort.
///
/// # Errors
/// When there is one that the daemon cannot listen on, or more than it can use.
pub(super) fn sockets() -> anyhow::Result<Inherited> {
    let mut passed = ListenFd::from_env();
    let mut sockets = Inherited::default();
    for index in 0..passed.len() {
        if let Ok(Some(unix)) = passed.take_unix_listener(index) {
            if sockets.unix.replace(unix).is_some() {
                bail!("the service manager opened two unix sockets; the daemon listens on one");
            }
            continue;
        }
        let tcp = passed.take_tcp_listener(index);
        let tcp = tcp.with_context(|| {
            format!(
                "socket {} of the service manager is of no use: name one unix stream socket and \
                 one TCP socket on 127.0.0.1",
                index + 1
            )
        })?;
        if tcp.is_some_and(|tcp| sockets.tcp.replace(tcp).is_some()) {
            bail!("the service manager opened two TCP sockets; the daemon listens on one");
        }
    }
    Ok(sockets)
}

/// It serves.
pub(super) fn ready() {
    tell(&[NotifyState::Ready]);
}

/// It reads its configuration again; [`ready`] follows.
pub(super) fn reloading() {
    match NotifyState::monotonic_usec_now() {
        Ok(now) => tell(&[NotifyState::Reloading, now]),
        Err(_) => tell(&[NotifyState::Reloading]),
    }
}

/// It finishes what runs, and ends.
pub(super) fn stopping() {
    tell(&[NotifyState::Stopping]);
}

fn tell(states: &[NotifyState]) {
    if let Err(error) = sd_notify::notify(states) {
        tracing::warn!(%error, "the service manager could not be told how far the daemon is");
    }
}
