//! A model whose answers a test writes: a real HTTP server with the wire formats of OpenAI chat
//! completions (`/v1/chat/completions`), OpenAI Responses (`/v1/responses`) and Anthropic Messages
//! (`/v1/messages`).
//!
//! It is as strict as the strictest provider: a request that one of them would refuse gets a
//! 400, and fails the test when the model is dropped. It runs on a thread of its own, so that a
//! test may block without stopping it.

mod dialect;
mod gate;
mod http;
mod log;
mod play;
mod reply;
mod request;
mod script;
mod server;
mod step;
mod validity;

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::{Arc, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use tokio::sync::oneshot;

use log::{End, Log};
use script::Script;
use server::Shared;

pub use gate::Gate;
pub use reply::{Reply, UsageShape};
pub use request::{Provider, Request};
pub use step::{
    Hold, HttpError, Step, Text, Thinking, Tool, Usage, comment, cut, error, error_event, hang_up,
    hold, pause, raw, stamp, text, thinking, tool, usage,
};

/// How long the waiting methods wait.
const DEADLINE: Duration = Duration::from_secs(10);

/// A running scripted model. Dropping it stops the server and fails the test if a request was
/// not valid or had no reply; see [`ScriptedModel::assert_valid`].
pub struct ScriptedModel {
    address: SocketAddr,
    shared: Arc<Shared>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl ScriptedModel {
    /// Starts a model that gives these replies, one for each chat request that is valid.
    #[must_use]
    pub fn start<R: Into<Reply>>(replies: impl IntoIterator<Item = R>) -> Self {
        Self::run(Script::List(replies.into_iter().map(Into::into).collect()))
    }

    /// Starts a model that has no reply, until [`ScriptedModel::add`] gives it one.
    #[must_use]
    pub fn silent() -> Self {
        Self::run(Script::List(VecDeque::new()))
    }

    /// Starts a model that asks a closure for each reply. It runs on the server's thread, so it
    /// must not block (a [`hold`] waits); a panic in it is a violation.
    #[must_use]
    pub fn answering(closure: impl FnMut(&Request) -> Reply + Send + 'static) -> Self {
        Self::run(Script::Closure(Box::new(closure)))
    }

    fn run(script: Script) -> Self {
        let models = ["m1", "m2", "plain"].map(str::to_owned).to_vec();
        let shared = Arc::new(Shared::new(script, models));
        let (stop, stopped) = oneshot::channel();
        let start = || {
            let listener = std::net::TcpListener::bind(("127.0.0.1", 0))?;
            listener.set_nonblocking(true)?;
            let address = listener.local_addr()?;
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()?;
            let shared = shared.clone();
            let thread = std::thread::Builder::new().name("scripted-model".to_owned());
            let thread = thread.spawn(move || {
                runtime.block_on(async {
                    if let Ok(listener) = tokio::net::TcpListener::from_std(listener) {
                        server::serve(listener, shared, stopped).await;
                    }
                });
            })?;
            std::io::Result::Ok((address, thread))
        };
        let (address, thread) =
            start().unwrap_or_else(|error| panic!("cannot start the scripted model: {error}"));
        Self {
            address,
            shared,
            stop: Some(stop),
            thread: Some(thread),
        }
    }

    /// The base URL as a provider of that kind is configured with it.
    #[must_use]
    pub fn base_url(&self, provider: Provider) -> String {
        match provider {
            Provider::OpenAi | Provider::Responses => format!("http://{}/v1", self.address),
            Provider::Anthropic => format!("http://{}", self.address),
        }
    }

    /// Where the server listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Adds a reply to the end of the list.
    ///
    /// # Panics
    /// When the model answers by a closure.
    pub fn add(&self, reply: impl Into<Reply>) {
        let script = self.shared.script.lock();
        match &mut *script.unwrap_or_else(PoisonError::into_inner) {
            Script::List(list) => list.push_back(reply.into()),
            Script::Closure(_) => {
                panic!("a model that answers by a closure takes no further reply")
            }
        }
    }

    /// The chat requests so far, those that were refused among them.
    #[must_use]
    pub fn requests(&self) -> Vec<Request> {
        let log = self.shared.log.borrow();
        log.chats.iter().map(|chat| chat.request.clone()).collect()
    }

    /// The requests so far that were no chat requests, such as those for the model list.
    #[must_use]
    pub fn other_requests(&self) -> Vec<Request> {
        self.shared.log.borrow().others.clone()
    }

    /// How many connections clients have opened so far.
    #[must_use]
    pub fn connections(&self) -> usize {
        self.shared.log.borrow().connections
    }

    /// The chat request with that number, from 0. Waits for it, and fails the test after 10 s.
    pub async fn request(&self, number: usize) -> Request {
        let what = format!("chat request {number}");
        self.wait_for(&what, |log| log.chats.len() > number).await;
        self.shared.log.borrow().chats[number].request.clone()
    }

    /// Waits until the client of that chat request has gone away before the reply was over. Fails
    /// the test after 10 s.
    ///
    /// The server notices while the reply waits (a hold, a pause, a delay) or by a write.
    pub async fn client_gone(&self, number: usize) {
        let gone = |log: &Log| Self::end_of(log, number) == Some(End::ClientGone);
        let what = format!("the client of chat request {number} to go away");
        self.wait_for(&what, gone).await;
    }

    /// Waits until the reply to that chat request was sent as scripted; gives the moment when its
    /// last byte was. Fails the test after 10 s.
    pub async fn played(&self, number: usize) -> Instant {
        let played = |log: &Log| Self::end_of(log, number) == Some(End::Played);
        let what = format!("the reply to chat request {number} to be sent");
        self.wait_for(&what, played).await;
        let log = self.shared.log.borrow();
        let end = log.chats.get(number).and_then(|chat| chat.end);
        end.map_or_else(Instant::now, |(_, when)| when)
    }

    /// Whether the client of that chat request has gone away before the reply was over.
    #[must_use]
    pub fn is_client_gone(&self, number: usize) -> bool {
        Self::end_of(&self.shared.log.borrow(), number) == Some(End::ClientGone)
    }

    fn end_of(log: &Log, number: usize) -> Option<End> {
        log.chats.get(number)?.end.map(|(end, _)| end)
    }

    async fn wait_for(&self, what: &str, condition: impl FnMut(&Log) -> bool) {
        let mut log = self.shared.log.subscribe();
        let came = tokio::time::timeout(DEADLINE, log.wait_for(condition))
            .await
            .is_ok();
        if !came {
            let log = self.shared.log.borrow();
            let chats = 0..log.chats.len();
            let ends: Vec<_> = chats.map(|number| Self::end_of(&log, number)).collect();
            panic!(
                "waited {DEADLINE:?} for {what}; chat requests ended {ends:?}, violations: {:?}",
                log.violations
            );
        }
    }

    /// What was wrong with requests so far, each as a sentence.
    #[must_use]
    pub fn violations(&self) -> Vec<String> {
        self.shared.log.borrow().violations.clone()
    }

    /// Takes the violations out, for a test that means to cause them.
    pub fn take_violations(&self) -> Vec<String> {
        let mut taken = Vec::new();
        let log = &self.shared.log;
        log.send_modify(|log| taken = std::mem::take(&mut log.violations));
        taken
    }

    /// Fails the test if a request was not valid or had no reply. Dropping the model does the
    /// same, unless the test is failing already.
    ///
    /// # Panics
    /// When there are violations.
    pub fn assert_valid(&self) {
        let violations = self.take_violations();
        assert!(
            violations.is_empty(),
            "the scripted model got requests that it could not accept:\n- {}",
            violations.join("\n- ")
        );
    }
}

impl Drop for ScriptedModel {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            let _panicked = thread.join();
        }
        if !std::thread::panicking() {
            self.assert_valid();
        }
    }
}

impl std::fmt::Debug for ScriptedModel {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ScriptedModel")
            .field("address", &self.address)
            .finish_non_exhaustive()
    }
}
