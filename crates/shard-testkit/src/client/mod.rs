//! One connection to a daemon: the same over its unix socket and over a WebSocket.

mod attached;
mod wire;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::net::{TcpStream, UnixStream};
use tokio::sync::{Mutex, watch};
use tokio::task::AbortHandle;
use tokio_tungstenite::WebSocketStream;

use crate::messages::{Mark, Messages};

pub use attached::Attached;
use wire::Sink;

/// How long one message may take.
const DEADLINE: Duration = Duration::from_secs(20);

/// A connection. Every message that comes is kept, in order; one that is none fails whatever
/// waits. It is closed on drop.
#[derive(Debug)]
pub struct Client {
    messages: Arc<Messages>,
    sink: Mutex<Sink>,
    reading: watch::Sender<bool>,
    close_code: Arc<watch::Sender<Option<u16>>>,
    /// Holds the connection open for as long as it reads.
    reader: Option<AbortHandle>,
    last_id: AtomicU64,
}

impl Drop for Client {
    fn drop(&mut self) {
        if let Some(reader) = &self.reader {
            reader.abort();
        }
    }
}

impl Client {
    /// A client over the daemon's unix socket.
    #[must_use]
    pub fn over_unix(stream: UnixStream) -> Self {
        let (reader, writer) = stream.into_split();
        Self::new(Sink::Unix(writer), |messages, reading, _| async move {
            wire::read_lines(reader, &messages, reading).await
        })
    }

    /// A client over a WebSocket.
    #[must_use]
    pub fn over_websocket(socket: WebSocketStream<TcpStream>) -> Self {
        let (sink, stream) = futures_util::StreamExt::split(socket);
        Self::new(
            Sink::WebSocket(sink),
            |messages, reading, code| async move {
                wire::read_frames(stream, &messages, reading, &code).await;
            },
        )
    }

    fn new<F>(
        sink: Sink,
        read: impl FnOnce(Arc<Messages>, watch::Receiver<bool>, Arc<watch::Sender<Option<u16>>>) -> F,
    ) -> Self
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let mut client = Self {
            messages: Arc::default(),
            sink: Mutex::new(sink),
            reading: watch::Sender::new(true),
            close_code: Arc::default(),
            reader: None,
            last_id: AtomicU64::new(0),
        };
        let messages = client.messages.clone();
        let reading = read(
            messages.clone(),
            client.reading.subscribe(),
            client.close_code.clone(),
        );
        let reader = tokio::spawn(async move {
            reading.await;
            messages.close();
        });
        client.reader = Some(reader.abort_handle());
        client
    }

    /// The first message, which must be `hello`.
    pub async fn hello(&self) -> Value {
        let hello = self.wait_for(Mark::START, "hello", |_| true).await;
        assert_eq!(hello["type"], "hello", "the first message: {hello}");
        hello
    }

    /// The place after everything that came so far.
    #[must_use]
    pub fn mark(&self) -> Mark {
        self.messages.mark()
    }

    /// All messages from a place on, as far as they came.
    #[must_use]
    pub fn messages_since(&self, mark: Mark) -> Vec<Value> {
        self.messages.range(mark, Mark(usize::MAX))
    }

    /// The messages from a place on, as far as they came; the place moves behind them.
    ///
    /// # Panics
    /// When a line was no message.
    pub fn take_since(&self, mark: &mut Mark) -> Vec<Value> {
        let broken = self.messages.broken();
        assert_eq!(broken, None, "a line that is no message");
        let end = self.messages.mark();
        let taken = self.messages.range(*mark, end);
        *mark = end;
        taken
    }

    /// Whether a message came after the mark, or the connection ended, before so much time passed.
    pub async fn has_news(&self, mark: Mark, patience: Duration) -> bool {
        let first = self.messages.first(mark, patience, |_| true).await;
        first.is_ok() || self.messages.is_closed()
    }

    /// The first message from the mark on that the predicate takes. After 20 s, or when the
    /// connection ends before, the test fails with the sentence and the last messages.
    pub async fn wait_for(
        &self,
        mark: Mark,
        what: &str,
        predicate: impl FnMut(&Value) -> bool,
    ) -> Value {
        self.find(mark, what, predicate).await.1
    }

    /// The first message of that type from the mark on.
    pub async fn wait_for_type(&self, mark: Mark, kind: &str) -> Value {
        self.wait_for(mark, kind, |message| message["type"] == kind)
            .await
    }

    async fn find(
        &self,
        mark: Mark,
        what: &str,
        predicate: impl FnMut(&Value) -> bool,
    ) -> (Mark, Value) {
        let found = self.messages.first(mark, DEADLINE, predicate).await;
        found.unwrap_or_else(|why| panic!("waiting for {what}: {why}"))
    }

    /// Waits until an agent is in that state, as `agent_status_changed` tells everybody. What was
    /// told before the mark does not count.
    pub async fn runtime_state(&self, mark: Mark, agent_id: &str, state: &str) -> Value {
        let what = format!("{agent_id} to be {state}");
        self.wait_for(mark, &what, |m| {
            m["type"] == "agent_status_changed"
                && m["agent_id"] == agent_id
                && m["runtime_state"] == state
        })
        .await
    }

    /// Sends one message.
    pub async fn send(&self, message: Value) {
        self.send_text(&message.to_string()).await;
    }

    /// Sends a text as one message: a line, or a text frame.
    ///
    /// # Panics
    /// When the daemon does not take it.
    pub async fn send_text(&self, text: &str) {
        let sent = self.try_send_text(text).await;
        sent.unwrap_or_else(|why| panic!("cannot send: {why}\n{}", self.messages.tail()));
    }

    /// The same, for a message that the daemon may cut short.
    ///
    /// # Errors
    /// Why it was not sent as a whole.
    pub async fn try_send_text(&self, text: &str) -> Result<(), String> {
        let mut sink = self.sink.lock().await;
        let sent = tokio::time::timeout(DEADLINE, sink.text(text)).await;
        sent.unwrap_or_else(|_| Err(format!("it was not taken within {DEADLINE:?}")))
    }

    /// Sends bytes that are no text: as they are, or in a binary frame.
    ///
    /// # Errors
    /// Why they were not sent as a whole.
    pub async fn try_send_bytes(&self, bytes: &[u8]) -> Result<(), String> {
        self.sink.lock().await.bytes(bytes).await
    }

    /// Sends a command with an id of its own and waits for its response.
    pub async fn request(&self, kind: &str, fields: Value) -> Value {
        self.find_response(kind, fields).await.1
    }

    async fn find_response(&self, kind: &str, mut fields: Value) -> (Mark, Value) {
        let id = format!("test-{}", self.last_id.fetch_add(1, Ordering::Relaxed) + 1);
        fields["type"] = kind.into();
        fields["id"] = id.as_str().into();
        let mark = self.mark();
        self.send(fields).await;
        let what = format!("the response to {kind}");
        let answers = |m: &Value| m["type"] == "response" && m["id"] == id.as_str();
        let found = self.find(mark, &what, answers).await;
        assert_eq!(found.1["command"], kind, "the command of {}", found.1);
        found
    }

    /// Sends a command that must succeed; gives the `data` of its response.
    pub async fn ok(&self, kind: &str, fields: Value) -> Value {
        succeeded(kind, self.request(kind, fields).await)
    }

    /// Sends a command that must fail; gives the `error` of its response.
    pub async fn err(&self, kind: &str, fields: Value) -> Value {
        let mut response = self.request(kind, fields).await;
        assert_eq!(response["success"], false, "{kind} should fail: {response}");
        response["error"].take()
    }

    /// Sends a command that must fail with this code; gives its message.
    pub async fn refused(&self, code: &str, kind: &str, fields: Value) -> String {
        let error = self.err(kind, fields).await;
        assert_eq!(error["code"], code, "{kind}: {error}");
        error["message"].as_str().unwrap_or_default().to_owned()
    }

    /// Makes an agent, as `agent.create` with these fields does; gives its id.
    pub async fn create(&self, fields: Value) -> String {
        let data = self.ok("agent.create", fields).await;
        data["agent_id"].as_str().unwrap_or_default().to_owned()
    }

    /// All agents, as they are listed.
    pub async fn agents(&self) -> Vec<Value> {
        let mut data = self.ok("agent.list", json!({})).await;
        match data["agents"].take() {
            Value::Array(agents) => agents,
            other => panic!("no list of agents: {other}"),
        }
    }

    /// How one agent is listed.
    pub async fn agent(&self, agent_id: &str) -> Value {
        let mut data = self
            .ok("agent.status", json!({ "agent_id": agent_id }))
            .await;
        data["agents"][0].take()
    }

    /// Attaches to an agent, as one that answers questions.
    pub async fn attach(&self, agent_id: &str) -> Attached<'_> {
        Attached::new(self, agent_id, "interactive").await
    }

    /// Attaches to an agent without a say in what it asks.
    pub async fn observe(&self, agent_id: &str) -> Attached<'_> {
        Attached::new(self, agent_id, "observer").await
    }

    /// Stops to read, like a client that hangs. What was read already is kept.
    pub fn stop_reading(&self) {
        self.reading.send_replace(false);
    }

    /// Reads again.
    pub fn go_on_reading(&self) {
        self.reading.send_replace(true);
    }

    /// Waits until the daemon has ended the connection; gives the WebSocket's close code. Fails
    /// the test after 20 s.
    pub async fn ended(&self) -> Option<u16> {
        let ended = self.messages.drained(DEADLINE).await;
        assert!(ended, "waited {DEADLINE:?} until the connection ends");
        *self.close_code.borrow()
    }

    /// The close code of a WebSocket that has ended, if there was one.
    #[must_use]
    pub fn close_code(&self) -> Option<u16> {
        *self.close_code.borrow()
    }

    /// Whether the connection is still there.
    #[must_use]
    pub fn is_open(&self) -> bool {
        !self.messages.is_closed()
    }
}

fn succeeded(kind: &str, mut response: Value) -> Value {
    assert_eq!(
        response["success"], true,
        "{kind} should succeed: {response}"
    );
    response["data"].take()
}
