//! Telling descendants from strangers.

#![expect(
    clippy::unwrap_used,
    reason = "the helpers of a test fail like the test itself"
)]

use std::io::{BufRead, BufReader};
use std::os::unix::net::{UnixListener, UnixStream};
use std::process::{Child, Command, Stdio};

use shard_process::{Peer, PeerError};

const CONNECT: &str =
    "import socket,sys;s=socket.socket(socket.AF_UNIX);s.connect(sys.argv[1]);sys.stdin.read()";

fn judged(listener: &UnixListener) -> Peer {
    let (socket, _) = listener.accept().unwrap();
    Peer::of(&socket).unwrap()
}

fn start(shell: &str, path: &std::path::Path) -> Child {
    Command::new("sh")
        .args(["-c", shell, "sh", CONNECT])
        .arg(path)
        .stdin(Stdio::piped())
        .spawn()
        .unwrap()
}

#[test]
fn children_and_their_children_are_descendants_however_they_start() {
    shard_process::harden().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s");
    let listener = UnixListener::bind(&path).unwrap();
    for shell in [
        "exec python3 -c \"$1\" \"$2\"",
        "python3 -c \"$1\" \"$2\"; true",
        "setsid python3 -c \"$1\" \"$2\"; true",
        // Its parent is gone by the time it is judged.
        "exec 3<&0; (setsid python3 -c \"$1\" \"$2\" <&3 &) ; true",
    ] {
        let mut child = start(shell, &path);
        assert_eq!(judged(&listener), Peer::Descendant, "{shell}");
        drop(child.stdin.take());
        child.wait().unwrap();
    }
}

const LISTEN_AT: &str = "SHARD_TEST_LISTEN_AT";

/// The part of the daemon in the test below; by itself it does nothing.
#[test]
fn role_listener() {
    let Some(path) = std::env::var_os(LISTEN_AT) else {
        return;
    };
    let listener = UnixListener::bind(path).unwrap();
    println!("SAYS listening");
    println!("SAYS {:?}", judged(&listener));
}

#[test]
fn who_started_this_process_is_a_stranger() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s");
    let mut listener = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "role_listener", "--nocapture"])
        .env(LISTEN_AT, &path)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(listener.stdout.take().unwrap()).lines();
    let mut said = lines.filter_map(|line| Some(line.unwrap().strip_prefix("SAYS ")?.to_owned()));
    assert_eq!(said.next().as_deref(), Some("listening"));
    let _held = UnixStream::connect(&path).unwrap();
    assert_eq!(said.next().as_deref(), Some("Stranger"));
    listener.wait().unwrap();
}

#[test]
fn who_is_gone_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s");
    let listener = UnixListener::bind(&path).unwrap();
    let mut child = start("exec python3 -c \"$1\" \"$2\"", &path);
    let (socket, _) = listener.accept().unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(matches!(
        Peer::of(&socket),
        Err(PeerError::Gone | PeerError::Unknown(_))
    ));
}
