//! `shard agent`, driven over its standard input and output.

use std::process::{ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::process::{Child, ChildStdin, ChildStdout};
use tokio::sync::Mutex;

use crate::child::{self, Collected};
use crate::home::Home;
use crate::messages::{Mark, Messages};
use crate::turn::{Answer, Turn};

/// How long one message may take.
const DEADLINE: Duration = Duration::from_secs(10);

/// How long a turn may go on without a question or its end.
const TURN_DEADLINE: Duration = Duration::from_secs(20);

/// How long the process may take to end.
const EXIT_DEADLINE: Duration = Duration::from_secs(6);

/// How long what a process wrote before its end may take to be read.
const LAST_WORDS: Duration = Duration::from_secs(2);

/// A running `shard agent`. Every line that it prints is kept, in order; a line that is no
/// message fails whatever waits. The process is killed and waited for on drop.
#[derive(Debug)]
pub struct AgentProcess {
    child: Mutex<Child>,
    pid: u32,
    stdin: Mutex<Option<ChildStdin>>,
    messages: Arc<Messages>,
    stderr: Collected,
    last_id: AtomicU64,
    deadline: Duration,
    turn_deadline: Duration,
}

impl AgentProcess {
    /// Starts `shard agent ARGS` in the home's work directory. `--cwd` is added unless given.
    ///
    /// # Panics
    /// When the binary cannot be started.
    #[must_use]
    pub fn start(home: &Home, args: &[&str]) -> Self {
        let work = home.work();
        let work = work.to_string_lossy();
        let mut all = vec!["agent"];
        if !args.iter().any(|arg| arg.starts_with("--cwd")) {
            all.extend(["--cwd", &*work]);
        }
        all.extend(args);
        let mut child = child::spawn(home, &all, Stdio::piped());
        let (Some(stdout), Some(stderr)) = (child.stdout.take(), child.stderr.take()) else {
            panic!("the agent has no pipes");
        };
        let messages = Arc::new(Messages::default());
        tokio::spawn(read_lines(stdout, messages.clone()));
        Self {
            pid: child.id().unwrap_or_default(),
            stdin: Mutex::new(child.stdin.take()),
            child: Mutex::new(child),
            messages,
            stderr: Collected::from(stderr).0,
            last_id: AtomicU64::new(0),
            deadline: DEADLINE,
            turn_deadline: TURN_DEADLINE,
        }
    }

    /// Waits that long for a message, and for the end of a turn, instead of 10 s and 20 s: a real
    /// model on a busy machine thinks for longer.
    #[must_use]
    pub fn patient(mut self, deadline: Duration) -> Self {
        (self.deadline, self.turn_deadline) = (deadline, deadline);
        self
    }

    /// The process id.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// What was written to standard error so far.
    #[must_use]
    pub fn stderr(&self) -> String {
        self.stderr.text()
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

    /// The first message, which must be `hello`.
    pub async fn hello(&self) -> Value {
        let hello = self.wait_for(Mark::START, "hello", |_| true).await;
        assert_eq!(hello["type"], "hello", "the first message: {hello}");
        hello
    }

    /// The first `sync`.
    pub async fn sync(&self) -> Value {
        self.wait_for_type(Mark::START, "sync").await
    }

    /// The first message from the mark on that the predicate takes. After 10 s, or when the
    /// output ends before, the test fails with the sentence, the last messages and the end of
    /// standard error.
    pub async fn wait_for(
        &self,
        mark: Mark,
        what: &str,
        predicate: impl FnMut(&Value) -> bool,
    ) -> Value {
        self.find(mark, self.deadline, what, predicate).await.1
    }

    /// The first message of that type from the mark on.
    pub async fn wait_for_type(&self, mark: Mark, kind: &str) -> Value {
        self.wait_for(mark, kind, |message| message["type"] == kind)
            .await
    }

    async fn find(
        &self,
        mark: Mark,
        deadline: Duration,
        what: &str,
        predicate: impl FnMut(&Value) -> bool,
    ) -> (Mark, Value) {
        let found = self.messages.first(mark, deadline, predicate).await;
        found.unwrap_or_else(|why| {
            panic!("waiting for {what}: {why}\nstderr: {}", self.stderr.tail())
        })
    }

    /// Sends one message.
    pub async fn send(&self, message: Value) {
        self.send_raw(format!("{message}\n").as_bytes()).await;
    }

    /// Sends bytes as they are; a message ends with a line feed.
    pub async fn send_raw(&self, bytes: &[u8]) {
        let mut stdin = self.stdin.lock().await;
        let Some(pipe) = stdin.as_mut() else {
            panic!("the agent's input was closed by the test before it sent more");
        };
        let written = tokio::time::timeout(DEADLINE, pipe.write_all(bytes)).await;
        let failure = match written {
            Ok(Ok(())) => return,
            Ok(Err(error)) => error.to_string(),
            Err(_) => format!("it was not read within {DEADLINE:?}"),
        };
        panic!(
            "cannot write to the agent: {failure}\n{}\nstderr: {}",
            self.messages.tail(),
            self.stderr.tail()
        );
    }

    /// Sends a command with an id of its own and waits for its response.
    pub async fn request(&self, kind: &str, mut fields: Value) -> Value {
        let id = format!("test-{}", self.last_id.fetch_add(1, Ordering::Relaxed) + 1);
        fields["type"] = kind.into();
        fields["id"] = id.as_str().into();
        let mark = self.mark();
        self.send(fields).await;
        let what = format!("the response to {kind}");
        let response = self
            .wait_for(mark, &what, |m| {
                m["type"] == "response" && m["id"] == id.as_str()
            })
            .await;
        assert_eq!(response["command"], kind, "the command of {response}");
        response
    }

    /// Sends a command that must succeed; gives the `data` of its response.
    pub async fn ok(&self, kind: &str, fields: Value) -> Value {
        let mut response = self.request(kind, fields).await;
        assert_eq!(
            response["success"], true,
            "{kind} should succeed: {response}"
        );
        response["data"].take()
    }

    /// Sends a command that must fail; gives the `error` of its response.
    pub async fn err(&self, kind: &str, fields: Value) -> Value {
        let mut response = self.request(kind, fields).await;
        assert_eq!(response["success"], false, "{kind} should fail: {response}");
        response["error"].take()
    }

    /// Sends a prompt and waits for the end of its turn. A permission request fails the test.
    pub async fn turn(&self, message: &str) -> Turn {
        let unexpected = |ask: &Value| panic!("nobody was to be asked in this turn: {ask}");
        self.turn_with(message, unexpected).await
    }

    /// Sends a prompt, has the closure answer each permission request, and waits for the end of
    /// the turn: `agent.turn_with("delete it", |_| Answer::Deny)`.
    pub async fn turn_with(&self, message: &str, answers: impl FnMut(&Value) -> Answer) -> Turn {
        let mark = self.mark();
        self.ok("prompt", json!({"message": message})).await;
        self.follow(mark, answers).await
    }

    /// Waits for the end of a turn that began after the mark, and has the closure answer the
    /// permission requests in it.
    pub async fn follow(&self, mark: Mark, mut answers: impl FnMut(&Value) -> Answer) -> Turn {
        let notable = |m: &Value| m["type"] == "permission_request" || m["type"] == "turn_end";
        let mut from = mark;
        loop {
            let (after, message) = self
                .find(from, self.turn_deadline, "the end of the turn", notable)
                .await;
            if message["type"] == "turn_end" {
                return Turn::new(self.messages.range(mark, after));
            }
            if let Some(answer) = answers(&message).to_message(&message) {
                self.send(answer).await;
            }
            from = after;
        }
    }

    /// Closes standard input and leaves the process to end by itself.
    pub async fn close_stdin(&self) {
        drop(self.stdin.lock().await.take());
    }

    /// Closes standard input and waits for the end. After 6 s the test fails.
    pub async fn quit(&self) -> ExitStatus {
        self.close_stdin().await;
        self.exited().await
    }

    /// Waits for the process to end by itself. After 6 s the test fails.
    pub async fn exited(&self) -> ExitStatus {
        let mut child = self.child.lock().await;
        let status = tokio::time::timeout(EXIT_DEADLINE, child.wait()).await;
        let Ok(status) = status else {
            panic!(
                "the agent still runs after {EXIT_DEADLINE:?}; {}\nstderr: {}",
                self.messages.tail(),
                self.stderr.tail()
            );
        };
        // The end of the process may be known before its last words are read.
        _ = self.messages.drained(LAST_WORDS).await;
        assert_eq!(self.messages.broken(), None, "a line that is no message");
        status.unwrap_or_else(|error| panic!("cannot wait for the agent: {error}"))
    }

    /// Ends the process with SIGKILL, and only it, and waits for that.
    pub async fn kill9(&self) {
        let killed = self.child.lock().await.kill().await;
        killed.unwrap_or_else(|error| panic!("cannot kill the agent: {error}"));
        _ = self.messages.drained(LAST_WORDS).await;
    }
}

impl Drop for AgentProcess {
    fn drop(&mut self) {
        child::end(self.child.get_mut());
    }
}

/// Takes lines apart at line feeds only: other line separators are part of a message.
async fn read_lines(stdout: ChildStdout, messages: Arc<Messages>) {
    let mut stdout = BufReader::new(stdout);
    let mut line = Vec::new();
    while let Ok(1..) = stdout.read_until(b'\n', &mut line).await {
        match line.strip_suffix(b"\n") {
            Some(whole) => messages.push_line(whole),
            // The process died in the middle of a line. That is no fault of what came before.
            None => break,
        }
        line.clear();
    }
    messages.close();
}
