//! The accept loop of the unix socket. Whoever may open it is this user; whether it is a person's
//! program or something that an agent started is judged when it connects.

use std::sync::Arc;
use std::time::Duration;

use shard_process::Peer;
use shard_transports::unix::{self, ByteRecords};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;

use crate::client::{self, Who, Wire};
use crate::daemon::Daemon;

/// Connections that are served at once; more wait in the system's queue.
const MAX_CONNECTIONS: usize = 1024;

/// Those among them of what agents started. More are refused, and take no place of a person's: a
/// command that keeps opening connections must not shut its owner out.
const MAX_TOOLS: usize = 64;

/// How long to wait when the system has no room for a connection.
const ACCEPT_PAUSE: Duration = Duration::from_millis(200);

pub(crate) async fn serve(daemon: Arc<Daemon>, listener: UnixListener, closing: CancellationToken) {
    let permits = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    let tools = Arc::new(Semaphore::new(MAX_TOOLS));
    loop {
        // Never closed, so this only waits.
        let Ok(permit) = Arc::clone(&permits).acquire_owned().await else {
            return;
        };
        let accepted = tokio::select! {
            () = closing.cancelled() => return,
            accepted = listener.accept() => accepted,
        };
        match accepted {
            Ok((stream, _)) => {
                let (daemon, tools) = (Arc::clone(&daemon), Arc::clone(&tools));
                tokio::spawn(converse(daemon, stream, permit, tools));
            }
            Err(error) => {
                tracing::warn!(%error, "a local connection could not be accepted");
                tokio::time::sleep(ACCEPT_PAUSE).await;
            }
        }
    }
}

async fn converse(
    daemon: Arc<Daemon>,
    stream: UnixStream,
    mut permit: OwnedSemaphorePermit,
    tools: Arc<Semaphore>,
) {
    let who = match Peer::of(&stream) {
        Ok(Peer::Stranger) => Who::Terminal,
        Ok(Peer::Descendant) => Who::Tool,
        Err(error) => {
            tracing::warn!(%error, "a local connection is refused");
            return;
        }
    };
    if who == Who::Tool {
        permit = match tools.try_acquire_owned() {
            Ok(permit) => permit,
            Err(_) => return tracing::warn!("what agents started has too many connections"),
        };
    }
    let limit = daemon.shared.tuning.borrow().client_queue_bytes;
    let client = daemon.shared.clients.join(who, limit);
    let (reader, sink) = stream.into_split();
    let writer = Arc::clone(&client);
    let wire = Wire {
        records: ByteRecords::new(reader),
        writing: async move { unix::write(&writer.outbox, sink).await },
    };
    client::serve(daemon, client, wire).await;
    drop(permit);
}
