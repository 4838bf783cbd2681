//! A client of the daemon, over its unix socket.
//!
//! One task owns a connection: it sends commands and takes what comes. [`Client::call`] waits for
//! an answer; what else comes meanwhile is kept for [`Client::next`].

mod failures;
pub(crate) mod lookup;

use std::collections::VecDeque;
use std::io::ErrorKind;
use std::path::PathBuf;
use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use shard_core::gate::visible;
use shard_daemon::DaemonFile;
use shard_protocol::codec::{self, Record};
use shard_protocol::{
    AgentAttach, AgentCommand, AgentList, Agents, AttachRole, Attached, DaemonCommand, ErrorBody,
    Response, ServerMessage, with_agent_id,
};
use shard_transports::Records;
use shard_transports::unix::UnixRecords;
use shard_types::event::{AgentEvent, Sync};
use shard_types::{AgentId, AgentInfo, ErrorCode};
use tokio::io::AsyncWriteExt;
use tokio::net::UnixStream;
use tokio::net::unix::OwnedWriteHalf;
use tokio::time::{Instant, sleep, timeout};

pub(crate) use self::failures::lost;
use self::failures::{gone, no_daemon, other_version, silent, unreachable};
use crate::failure::{FAILED, Failure, REFUSED};
use crate::places::Places;

/// How long a daemon may take to say who it is.
const HELLO: Duration = Duration::from_secs(5);

/// How long a command may take to be taken in.
const SENDING: Duration = Duration::from_secs(10);

/// How long a usual answer may take.
pub(crate) const ANSWER: Duration = Duration::from_secs(15);

/// How long an answer may take for which a process may have to be started.
pub(crate) const START: Duration = Duration::from_secs(45);

/// How long another daemon may take to be there after one went away in the middle of a command.
const COMING_BACK: Duration = Duration::from_secs(10);

/// The pause between two looks for it.
const LOOKING: Duration = Duration::from_millis(100);

/// The code of an answer that does not fit into a message.
const TOO_LARGE: &str = "TOO_LARGE";

/// A connection to a daemon of a version that this program understands.
pub(crate) struct Client {
    records: UnixRecords,
    writer: OwnedWriteHalf,
    /// What the daemon calls its own version.
    pub(crate) server_version: String,
    /// The number of the last command.
    last: u64,
    /// The daemon has ended the connection.
    lost: bool,
    /// What came while an answer was waited for, which is never for long.
    early: VecDeque<ServerMessage>,
}

/// What is needed of a `hello`, whatever version it is of.
#[derive(serde::Deserialize)]
struct Greeting {
    protocol_version: String,
    #[serde(default)]
    server_version: String,
}

impl Client {
    /// Connects to the daemon of this user.
    ///
    /// # Errors
    /// With exit code 3: no daemon runs, it does not answer, or it is of another major version.
    /// Then nothing was sent.
    pub(crate) async fn connect(places: &Places) -> Result<Self, Failure> {
        let path = socket_path(places);
        let stream = match UnixStream::connect(&path).await {
            Ok(stream) => stream,
            Err(error) => {
                return Err(match error.kind() {
                    // One whose path would be too long is elsewhere, and named in the file.
                    ErrorKind::NotFound
                    | ErrorKind::ConnectionRefused
                    | ErrorKind::InvalidInput => no_daemon(),
                    _ => unreachable(&path, &error),
                });
            }
        };
        let (reader, writer) = stream.into_split();
        let mut records = UnixRecords::new(reader);
        let first = timeout(HELLO, records.next()).await;
        let first = match first.map_err(|_| silent())? {
            Some(Record::Line(line)) => line,
            _ => return Err(lost()),
        };
        let greeting: Greeting = serde_json::from_str(&first).map_err(|_| silent())?;
        if !understood(&greeting.protocol_version) {
            return Err(other_version(&greeting.protocol_version));
        }
        Ok(Self {
            records,
            writer,
            server_version: greeting.server_version,
            last: 0,
            lost: false,
            early: VecDeque::new(),
        })
    }

    /// Connects to the daemon that takes the place of one that went away.
    ///
    /// # Errors
    /// As [`connect`](Self::connect), when there is none within 10 s.
    pub(crate) async fn come_back(places: &Places) -> Result<Self, Failure> {
        let deadline = Instant::now() + COMING_BACK;
        loop {
            match Self::connect(places).await {
                Err(_) if Instant::now() < deadline => sleep(LOOKING).await,
                done => return done.map_err(gone),
            }
        }
    }

    /// Whether the daemon has ended the connection.
    pub(crate) fn is_lost(&self) -> bool {
        self.lost
    }

    /// Does what has a request key, and so happens once however often it is sent. If the daemon goes
    /// away before it has answered, it is sent to the next one.
    ///
    /// # Errors
    /// Those of the attempt, and of [`come_back`](Self::come_back).
    pub(crate) async fn start<T>(
        &mut self,
        places: &Places,
        mut attempt: impl AsyncFnMut(&mut Self) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        loop {
            match attempt(self).await {
                Err(_) if self.lost => *self = Self::come_back(places).await?,
                done => return done,
            }
        }
    }

    /// Sends a command to the daemon; gives the `id` that its answer will have.
    pub(crate) async fn send(&mut self, command: DaemonCommand) -> Result<String, Failure> {
        self.write(print(&command)?).await
    }

    /// Sends a command to an agent; gives the `id` that its answer will have.
    pub(crate) async fn send_to(
        &mut self,
        agent_id: &AgentId,
        command: AgentCommand,
    ) -> Result<String, Failure> {
        self.write(with_agent_id(&print(&command)?, agent_id)).await
    }

    async fn write(&mut self, json: String) -> Result<String, Failure> {
        self.last += 1;
        let id = format!("cli-{}", self.last);
        let body = json.strip_prefix('{').unwrap_or(&json);
        let line = format!("{{\"id\":\"{id}\",{body}\n");
        match timeout(SENDING, self.writer.write_all(line.as_bytes())).await {
            Ok(Ok(())) => Ok(id),
            Ok(Err(_)) => {
                self.lost = true;
                Err(lost())
            }
            Err(_) => Err(silent()),
        }
    }

    /// The next message; `None` once the daemon has ended the connection. Cancel safe.
    pub(crate) async fn next(&mut self) -> Option<ServerMessage> {
        match self.early.pop_front() {
            Some(message) => Some(message),
            None => self.read().await,
        }
    }

    /// The next event of an agent; what else comes is passed over. Cancel safe.
    ///
    /// # Errors
    /// When the daemon has ended the connection.
    pub(crate) async fn next_of(&mut self, agent_id: &AgentId) -> Result<AgentEvent, Failure> {
        loop {
            match self.next().await {
                Some(ServerMessage::Agent(Some(from), event)) if from == *agent_id => {
                    return Ok(event);
                }
                Some(_) => {}
                None => return Err(lost()),
            }
        }
    }

    async fn read(&mut self) -> Option<ServerMessage> {
        loop {
            let Some(record) = self.records.next().await else {
                self.lost = true;
                return None;
            };
            match record {
                Record::Line(line) => match ServerMessage::read(&line) {
                    Ok(message) => return Some(message),
                    Err(error) => tracing::warn!(%error, "a message cannot be read"),
                },
                Record::NotUtf8 => tracing::warn!("a message is no UTF-8 text"),
                Record::TooLong(head) => {
                    if let Some(id) = codec::field_of_oversized(&head, "id") {
                        return Some(ServerMessage::Response(too_large(id)));
                    }
                    tracing::warn!("a message is too large");
                }
            }
        }
    }

    /// Sends a command to the daemon and gives the answer's `data`.
    pub(crate) async fn call<T: DeserializeOwned>(
        &mut self,
        command: impl Into<DaemonCommand>,
        patience: Duration,
    ) -> Result<T, Failure> {
        let id = self.send(command.into()).await?;
        let data = self.answer(&id, patience).await?;
        let data = data.map_err(Failure::from_answer)?;
        Ok(serde_json::from_value(data)?)
    }

    /// The answer to a command that was sent.
    pub(crate) async fn answer(
        &mut self,
        id: &str,
        patience: Duration,
    ) -> Result<Result<Value, ErrorBody>, Failure> {
        let waiting = async {
            loop {
                match self.read().await {
                    Some(ServerMessage::Response(response)) if response.id == id => {
                        return Ok(outcome(response));
                    }
                    Some(message) => self.early.push_back(message),
                    None => return Err(lost()),
                }
            }
        };
        timeout(patience, waiting).await.map_err(|_| silent())?
    }

    /// All agents.
    pub(crate) async fn agents(&mut self) -> Result<Vec<AgentInfo>, Failure> {
        let Agents { agents } = self.call(AgentList {}, ANSWER).await?;
        Ok(agents)
    }

    /// The agent that a person names by a prefix of its id, or by its name.
    pub(crate) async fn find(&mut self, wanted: &str) -> Result<AgentInfo, Failure> {
        let agents = self.agents().await?;
        Ok(lookup::find(&agents, wanted)?.clone())
    }

    /// Attaches to an agent. What it does from the `sync` on comes as messages.
    pub(crate) async fn attach(
        &mut self,
        agent_id: &AgentId,
        role: AttachRole,
    ) -> Result<(Attached, Sync), Failure> {
        let attach = AgentAttach {
            agent_id: agent_id.clone(),
            role: Some(role),
        };
        let attached = self.call(attach, START).await?;
        let synced = async {
            loop {
                // What else comes before it, it reflects.
                if let AgentEvent::Sync(sync) = self.next_of(agent_id).await? {
                    return Ok::<_, Failure>(sync);
                }
            }
        };
        let sync = timeout(ANSWER, synced).await.map_err(|_| silent())??;
        Ok((attached, sync))
    }
}

fn socket_path(places: &Places) -> PathBuf {
    match DaemonFile::read(&places.state_home) {
        Ok(file) => file.socket_path,
        Err(_) => places.state_home.join("daemon.sock"),
    }
}

/// Whether a daemon is there, though it may not be one that can be talked to.
pub(crate) fn listens(places: &Places) -> bool {
    std::os::unix::net::UnixStream::connect(socket_path(places)).is_ok()
}

/// Whether a version of the protocol has the major number of this program's.
fn understood(version: &str) -> bool {
    let major = |version: &str| version.split('.').next().map(str::to_owned);
    major(version) == major(shard_protocol::PROTOCOL_VERSION)
}

fn print(command: &impl Serialize) -> Result<String, Failure> {
    Ok(serde_json::to_string(command)?)
}

/// What came of a command.
pub(crate) fn outcome(response: Response) -> Result<Value, ErrorBody> {
    match (response.success, response.error) {
        (true, _) => Ok(response.data.unwrap_or_default()),
        (false, Some(error)) => Err(error),
        (false, None) => Err(ErrorBody::new(
            ErrorCode::InternalError,
            "the daemon gave no reason",
        )),
    }
}

fn too_large(id: String) -> Response {
    let code = ErrorCode::Other(TOO_LARGE.to_owned());
    let error = ErrorBody::new(code, "the answer does not fit into one message");
    Response::to(id, String::new(), Err(error))
}

/// Whether less should be asked for at a time.
pub(crate) fn is_too_large(error: &ErrorBody) -> bool {
    matches!(&error.code, ErrorCode::Other(code) if code == TOO_LARGE)
}

impl Failure {
    /// What a daemon or an agent said no to.
    pub(crate) fn from_answer(error: ErrorBody) -> Self {
        let code = match error.code {
            ErrorCode::PermissionDenied => REFUSED,
            _ => FAILED,
        };
        Self {
            code,
            message: visible(&error.message),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_major_number_of_a_version_counts() {
        assert!(understood(shard_protocol::PROTOCOL_VERSION) && understood("0.9.7"));
        assert!(!understood("9.4.0") && !understood("1") && !understood(""));
    }

    #[test]
    fn a_refusal_has_an_exit_code_of_its_own() {
        let code = |code| Failure::from_answer(ErrorBody::new(code, "no")).code;
        assert_eq!(code(ErrorCode::PermissionDenied), 4);
        assert_eq!(code(ErrorCode::NotFound), 1);
    }
}
