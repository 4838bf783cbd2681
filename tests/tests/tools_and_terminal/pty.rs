//! `shard` at a terminal of its own.

use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::path::Path;
use std::process::{ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{Mode, OFlags, open};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use shard_testkit::{Home, until};
use tokio::io::AsyncReadExt;
use tokio::process::{Child, Command};

const DEADLINE: Duration = Duration::from_secs(10);

/// A run whose input and messages are at a terminal; its output goes into a pipe.
pub(crate) struct AtTerminal {
    child: Child,
    master: Option<std::fs::File>,
    screen: Option<std::thread::JoinHandle<()>>,
    hung_up: Arc<AtomicBool>,
    shown: Arc<Mutex<Vec<u8>>>,
}

impl AtTerminal {
    /// Starts `shard ARGS` as the leader of the session that has the terminal.
    pub(crate) fn start(home: &Home, args: &[&str]) -> Self {
        Self::start_program(home, home.binary(), args)
    }

    /// The same from a shell; `$0` is `shard` in the script.
    pub(crate) fn start_script(home: &Home, script: &str) -> Self {
        let shard = home.binary().to_str().unwrap();
        Self::start_program(home, Path::new("bash"), &["-c", script, shard])
    }

    fn start_program(home: &Home, program: &Path, args: &[&str]) -> Self {
        let (master, terminal) = pair();
        let child = Command::new("setsid")
            .args(["--ctty", "--wait"])
            .arg(program)
            .args(args)
            .current_dir(home.work())
            .env_clear()
            .envs(home.env())
            .env("TERM", "xterm")
            .stdin(terminal.try_clone().unwrap())
            .stderr(terminal)
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let shown = Arc::new(Mutex::new(Vec::new()));
        let hung_up = Arc::new(AtomicBool::new(false));
        let screen = Screen {
            master: master.try_clone().unwrap(),
            shown: Arc::clone(&shown),
            hung_up: Arc::clone(&hung_up),
        };
        Self {
            child,
            master: Some(master),
            screen: Some(std::thread::spawn(move || screen.read())),
            hung_up,
            shown,
        }
    }

    /// Closes the window: nothing holds the other end of the terminal any more.
    pub(crate) fn hang_up(&mut self) {
        self.hung_up.store(true, Ordering::Release);
        self.screen.take().unwrap().join().unwrap();
        self.master = None;
    }

    /// Everything that the terminal has shown, with the echo of what was typed.
    pub(crate) fn shown(&self) -> String {
        String::from_utf8_lossy(&self.shown.lock().unwrap()).into_owned()
    }

    /// Waits until the terminal has shown these words that often.
    pub(crate) async fn shows(&self, words: &str, times: usize) {
        let seen = || self.shown().matches(words).count() >= times;
        let end = tokio::time::Instant::now() + DEADLINE;
        while !seen() {
            let late = tokio::time::Instant::now() > end;
            assert!(!late, "not shown: {words:?}\n{}", self.shown());
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    pub(crate) fn types(&self, keys: &str) {
        let mut master = self.master.as_ref().unwrap();
        master.write_all(keys.as_bytes()).unwrap();
    }

    /// Waits for the end; gives how it was and what came on standard output.
    pub(crate) async fn ended(&mut self) -> (ExitStatus, String) {
        let mut stdout = String::new();
        let mut pipe = self.child.stdout.take().unwrap();
        let whole = async { tokio::join!(pipe.read_to_string(&mut stdout), self.child.wait()) };
        let ended = tokio::time::timeout(DEADLINE, whole).await;
        let (read, status) = ended.unwrap_or_else(|_| panic!("it runs on:\n{}", self.shown()));
        read.unwrap();
        (status.unwrap(), stdout)
    }
}

/// What reads the terminal.
struct Screen {
    master: std::fs::File,
    shown: Arc<Mutex<Vec<u8>>>,
    hung_up: Arc<AtomicBool>,
}

impl Screen {
    fn read(mut self) {
        let mut part = [0; 4096];
        let soon = Timespec {
            tv_sec: 0,
            tv_nsec: 20_000_000,
        };
        while !self.hung_up.load(Ordering::Acquire) {
            let ready = poll(&mut [PollFd::new(&self.master, PollFlags::IN)], Some(&soon));
            if ready != Ok(0) {
                // An error is how a terminal says that nobody has it open any more.
                let Ok(length @ 1..) = self.master.read(&mut part) else {
                    return;
                };
                self.shown
                    .lock()
                    .unwrap()
                    .extend_from_slice(&part[..length]);
            }
        }
    }
}

/// Waits until a file of the work directory is there.
pub(crate) async fn made(home: &Home, file: &str) {
    until(&format!("{file} is there"), DEADLINE, || home.has(file)).await;
}

fn pair() -> (std::fs::File, OwnedFd) {
    let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).unwrap();
    grantpt(&master).unwrap();
    unlockpt(&master).unwrap();
    let name = ptsname(&master, Vec::new()).unwrap();
    let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC;
    let terminal = open(name.as_c_str(), flags, Mode::empty()).unwrap();
    (master.into(), terminal)
}
