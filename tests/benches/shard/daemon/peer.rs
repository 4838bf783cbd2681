//! Both ends that are compared: an agent's process on its own pipes, and an agent behind a daemon.
//! Plain blocking calls, with nothing of a runtime between.

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};
use shard_testkit::Home;

use crate::child::command;

/// How long anything may take.
const PATIENCE: Duration = Duration::from_secs(30);

/// Lines in both directions.
pub(crate) struct Peer {
    reader: Box<dyn BufRead>,
    writer: Box<dyn Write>,
    /// Tells whose lines it wants, on a daemon connection.
    agent_id: Option<String>,
    line: String,
    last_id: u64,
}

impl Peer {
    fn new(reader: impl Read + 'static, writer: impl Write + 'static) -> Self {
        Self {
            reader: Box::new(BufReader::with_capacity(1 << 16, reader)),
            writer: Box::new(writer),
            agent_id: None,
            line: String::new(),
            last_id: 0,
        }
    }

    /// The next line, as it came.
    pub(crate) fn line(&mut self) -> Result<&str> {
        self.line.clear();
        if self.reader.read_line(&mut self.line)? == 0 {
            bail!("the other end is gone");
        }
        Ok(&self.line)
    }

    /// Reads until a message of this type. A look at the text is enough: parsing would be measured.
    pub(crate) fn until(&mut self, kind: &str) -> Result<&str> {
        self.until_text(&format!("\"type\":\"{kind}\""))
    }

    /// Reads until a line that holds this.
    pub(crate) fn until_text(&mut self, wanted: &str) -> Result<&str> {
        while !self.line()?.contains(wanted) {}
        Ok(&self.line)
    }

    /// A connection of its own to an agent, for another thread.
    pub(crate) fn attached(socket: &Path, agent_id: &str) -> Result<Self> {
        let mut peer = connect(socket)?;
        attach(&mut peer, agent_id)?;
        Ok(peer)
    }

    fn send(&mut self, mut message: Value) -> Result<()> {
        if let Some(agent_id) = &self.agent_id {
            message["agent_id"] = json!(agent_id);
        }
        self.writer.write_all(format!("{message}\n").as_bytes())?;
        Ok(())
    }

    /// Asks for something; gives the answer as it came.
    pub(crate) fn answer(&mut self, mut message: Value) -> Result<&str> {
        self.last_id += 1;
        let id = format!("b{}", self.last_id);
        message["id"] = json!(id);
        self.writer.write_all(format!("{message}\n").as_bytes())?;
        let wanted = format!("\"id\":\"{id}\"");
        while !self.line()?.contains(&wanted) {}
        Ok(&self.line)
    }

    fn request(&mut self, message: Value) -> Result<Value> {
        let response: Value = serde_json::from_str(self.answer(message.clone())?)?;
        if response["success"] != true {
            bail!("{message} failed: {response}");
        }
        Ok(response["data"].clone())
    }

    /// Sends a prompt, and waits for nothing.
    pub(crate) fn prompt(&mut self, text: &str) -> Result<()> {
        self.send(json!({ "type": "prompt", "message": text }))
    }
}

/// An agent's process, with its `sync` still to be read.
pub(crate) struct Bare {
    child: Child,
    pub(crate) peer: Peer,
}

impl Bare {
    pub(crate) fn start(home: &Home) -> Result<Self> {
        let mut command = command(home, home.binary());
        command.arg("agent").stdin(Stdio::piped());
        let mut child = command.stdout(Stdio::piped()).spawn()?;
        let stdout = child.stdout.take().context("no output")?;
        let stdin = child.stdin.take().context("no input")?;
        let peer = Peer::new(stdout, stdin);
        Ok(Self { child, peer })
    }
}

impl Drop for Bare {
    fn drop(&mut self) {
        _ = self.child.kill();
        _ = self.child.wait();
    }
}

/// A daemon that listens.
pub(crate) struct Daemon {
    child: Child,
    socket: PathBuf,
    work: String,
}

impl Daemon {
    pub(crate) fn start(home: &Home) -> Result<Self> {
        let mut command = command(home, home.binary());
        command.args(["daemon", "--port", "0"]);
        let child = command.stdout(Stdio::null()).spawn()?;
        let daemon = Self {
            child,
            socket: home.shard_home().join("daemon.sock"),
            work: home.work().to_string_lossy().into_owned(),
        };
        let began = Instant::now();
        while UnixStream::connect(&daemon.socket).is_err() {
            if began.elapsed() > PATIENCE {
                bail!("the daemon does not listen");
            }
            std::thread::yield_now();
        }
        Ok(daemon)
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// A connection that has been greeted.
    pub(crate) fn connect(&self) -> Result<Peer> {
        connect(&self.socket)
    }

    pub(crate) fn socket(&self) -> PathBuf {
        self.socket.clone()
    }

    /// Makes an agent; gives its id.
    pub(crate) fn create(&self, peer: &mut Peer) -> Result<String> {
        let data = peer.request(json!({ "type": "agent.create", "cwd": self.work }))?;
        let id = data["agent_id"].as_str().context("no agent_id")?;
        Ok(id.to_owned())
    }

    /// Attaches a connection to an agent; from then on it speaks to that one.
    pub(crate) fn attach(&self, peer: &mut Peer, agent_id: &str) -> Result<()> {
        attach(peer, agent_id)
    }
}

fn connect(socket: &Path) -> Result<Peer> {
    let stream = UnixStream::connect(socket)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    let mut peer = Peer::new(stream.try_clone()?, stream);
    peer.until("hello")?;
    Ok(peer)
}

fn attach(peer: &mut Peer, agent_id: &str) -> Result<()> {
    peer.request(json!({ "type": "agent.attach", "agent_id": agent_id }))?;
    peer.until("sync")?;
    peer.agent_id = Some(agent_id.to_owned());
    Ok(())
}

impl Drop for Daemon {
    fn drop(&mut self) {
        _ = self.child.kill();
        _ = self.child.wait();
    }
}
