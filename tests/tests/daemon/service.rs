//! The daemon below a service manager: sockets that are open already, and word of how far it is.

use std::fs::{self, File};
use std::os::fd::OwnedFd;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use rustix::process::Signal;
use serde_json::{Value, json};
use shard_testkit::{Client, Home, Http, ScriptedModel, reply, signal, text, tool, until};
use tokio::net::{UnixDatagram, UnixStream};
use tokio::process::{Child, Command};
use tokio::time::timeout;

const DEADLINE: Duration = Duration::from_secs(20);

/// Starts a daemon as a service manager does: the sockets are its third file and those that
/// follow. What it prints goes into `daemon.out` of the home's root.
fn start(home: &Home, sockets: Vec<OwnedFd>, args: &str, env: &[(&str, &str)]) -> Child {
    let output = home.root().join("daemon.out");
    let mut command = Command::new("sh");
    command
        .current_dir(home.work())
        .env_clear()
        .envs(home.env())
        .envs(env.iter().copied())
        .env("BIN", home.binary())
        .env("OUT", &output)
        .kill_on_drop(true);
    // A child has files of its own choice only as its standard ones, so they come as these.
    let (moves, count) = (["", " 3<&0", " 3<&0 4<&1"], sockets.len());
    let mut sockets = sockets.into_iter().map(Stdio::from);
    command.stdin(sockets.next().unwrap_or_else(Stdio::null));
    command.stdout(sockets.next().unwrap_or_else(Stdio::null));
    command.stderr(Stdio::from(
        File::create(home.root().join("daemon.err")).unwrap(),
    ));
    let script = format!(
        "export LISTEN_PID=$$ LISTEN_FDS={count}; exec \"$BIN\" daemon {args}{} 0</dev/null 1>\"$OUT\"",
        moves[count]
    );
    command.args(["-c", &script]);
    command.spawn().unwrap()
}

fn complaint(home: &Home) -> String {
    fs::read_to_string(home.root().join("daemon.err")).unwrap()
}

/// The sockets as the units of this repository have them, on any free port.
fn sockets(home: &Home) -> (UnixListener, std::net::TcpListener) {
    fs::create_dir_all(home.shard_home()).unwrap();
    let unix = UnixListener::bind(home.shard_home().join("daemon.sock")).unwrap();
    (unix, std::net::TcpListener::bind("127.0.0.1:0").unwrap())
}

async fn ended(child: &mut Child, home: &Home) -> Option<i32> {
    match timeout(DEADLINE, child.wait()).await {
        Ok(status) => status.unwrap().code(),
        Err(_) => panic!("it still runs: {}", complaint(home)),
    }
}

async fn connect(path: &Path) -> Client {
    Client::over_unix(UnixStream::connect(path).await.unwrap())
}

#[tokio::test]
async fn sockets_that_are_open_already_are_taken_over_and_stay() {
    let looks = tool("bash", json!({ "command": "env; ls -l /proc/$$/fd" }));
    let model = ScriptedModel::start([reply![looks], reply![text("done")]]);
    let home = Home::new(&model);
    let (unix, tcp) = sockets(&home);
    let (path, port) = (
        home.shard_home().join("daemon.sock"),
        tcp.local_addr().unwrap().port(),
    );
    let notices = home.root().join("notices");
    let _notices = UnixDatagram::bind(&notices).unwrap();
    // Whoever comes before the daemon is there waits for it.
    let early = connect(&path).await;
    let fds = vec![
        unix.try_clone().unwrap().into(),
        tcp.try_clone().unwrap().into(),
    ];
    let env = [
        ("LISTEN_FDNAMES", "unix:tcp"),
        ("NOTIFY_SOCKET", notices.to_str().unwrap()),
    ];
    let mut daemon = start(&home, fds, "--port 1", &env);
    early.hello().await;
    let file = fs::read(home.shard_home().join("daemon.json")).unwrap();
    let file: Value = serde_json::from_slice(&file).unwrap();
    assert_eq!(
        (&file["socketPath"], &file["httpPort"]),
        (&json!(path), &json!(port))
    );
    assert_eq!(Http::get(port, "/healthz").send().await.status, 200);
    until("it says whose port counts", DEADLINE, || {
        complaint(&home).contains("--port is passed over")
    })
    .await;
    // Neither agents nor what they start see any of it.
    let id = early.create(json!({ "cwd": home.work() })).await;
    let agent = early.attach(&id).await;
    agent.turn("look").await;
    let seen = model.request(1).await.tool_results();
    let seen = format!("{seen:?}");
    assert!(seen.contains("PATH="), "{seen}");
    for hidden in ["LISTEN_", "NOTIFY_SOCKET", "socket:"] {
        assert!(!seen.contains(hidden), "{hidden} in {seen}");
    }
    early.ok("daemon.shutdown", json!({})).await;
    assert_eq!(
        ended(&mut daemon, &home).await,
        Some(0),
        "{}",
        complaint(&home)
    );
    assert!(!home.shard_home().join("daemon.json").exists());
    // The next connection would start the next daemon.
    assert!(path.exists());
    UnixStream::connect(&path).await.unwrap();
}

#[tokio::test]
async fn one_socket_is_enough_and_the_other_is_its_own() {
    let model = ScriptedModel::silent();
    let home = Home::new(&model);
    let (unix, tcp) = sockets(&home);
    drop(tcp);
    let path = home.shard_home().join("daemon.sock");
    let mut daemon = start(&home, vec![unix.into()], "--port 0", &[]);
    let client = connect(&path).await;
    client.hello().await;
    let file = fs::read(home.shard_home().join("daemon.json")).unwrap();
    let file: Value = serde_json::from_slice(&file).unwrap();
    let port = file["httpPort"].as_u64().unwrap();
    let port = u16::try_from(port).unwrap();
    assert_eq!(Http::get(port, "/healthz").send().await.status, 200);
    client.ok("daemon.shutdown", json!({})).await;
    assert_eq!(ended(&mut daemon, &home).await, Some(0));
}

#[tokio::test]
async fn a_socket_that_is_of_no_use_is_refused_with_what_is_wrong() {
    let model = ScriptedModel::silent();
    let home = Home::new(&model);
    let path = |name: &str| home.root().join(name);
    let unix = |name: &str| -> OwnedFd { UnixListener::bind(path(name)).unwrap().into() };
    let tcp = |address: &str| -> OwnedFd { std::net::TcpListener::bind(address).unwrap().into() };
    let datagrams = std::os::unix::net::UnixDatagram::bind(path("datagrams")).unwrap();
    let name = format!("shard-test-{}", std::process::id());
    let nameless = UnixListener::bind_addr(&SocketAddr::from_abstract_name(name).unwrap()).unwrap();
    let listening = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let connected = std::net::TcpStream::connect(listening.local_addr().unwrap()).unwrap();
    for (sockets, why) in [
        (vec![connected.into()], "does not listen"),
        (vec![tcp("0.0.0.0:0")], "only 127.0.0.1 is served"),
        (vec![tcp("127.0.0.2:0")], "only 127.0.0.1 is served"),
        (vec![datagrams.into()], "of no use"),
        (vec![File::open(home.root()).unwrap().into()], "of no use"),
        (vec![nameless.into()], "has no path"),
        (vec![unix("a"), unix("b")], "two unix sockets"),
        (
            vec![tcp("127.0.0.1:0"), tcp("127.0.0.1:0")],
            "two TCP sockets",
        ),
    ] {
        let mut daemon = start(&home, sockets, "", &[]);
        assert_eq!(ended(&mut daemon, &home).await, Some(1), "{why}");
        let said = complaint(&home);
        assert!(said.contains(why), "{why}: {said}");
        assert_eq!(said.trim().lines().count(), 1, "{said}");
    }
}

#[tokio::test]
async fn sockets_that_are_meant_for_another_process_are_left_alone() {
    let model = ScriptedModel::silent();
    let home = Home::builder()
        .model(&model)
        .env("LISTEN_FDS", "1")
        .env("LISTEN_PID", "1")
        .build();
    let daemon = shard_testkit::DaemonProcess::start(&home, &[]).await;
    daemon.connect().await.hello().await;
}

#[tokio::test]
async fn the_service_manager_hears_how_far_it_is() {
    let model = ScriptedModel::silent();
    let home = Home::new(&model);
    let path = home.root().join("notices");
    let notices = UnixDatagram::bind(&path).unwrap();
    let heard = async || {
        let mut buffer = [0; 512];
        let read = timeout(DEADLINE, notices.recv(&mut buffer)).await;
        let length = read.expect("it says something").unwrap();
        String::from_utf8_lossy(&buffer[..length]).into_owned()
    };
    let env = [("NOTIFY_SOCKET", path.to_str().unwrap())];
    let mut daemon = start(&home, Vec::new(), "--port 0", &env);
    assert_eq!(heard().await, "READY=1\n");
    // It is as it says.
    connect(&home.shard_home().join("daemon.sock"))
        .await
        .hello()
        .await;
    let pid = daemon.id().unwrap();
    signal(pid, Signal::HUP);
    let reloading = heard().await;
    assert!(reloading.contains("RELOADING=1\n"), "{reloading}");
    assert!(reloading.contains("MONOTONIC_USEC="), "{reloading}");
    assert_eq!(heard().await, "READY=1\n");
    signal(pid, Signal::TERM);
    assert_eq!(heard().await, "STOPPING=1\n");
    assert_eq!(
        ended(&mut daemon, &home).await,
        Some(0),
        "{}",
        complaint(&home)
    );
}

#[test]
fn the_units_of_the_documentation_are_well_formed() {
    let units = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/systemd");
    let folder = tempfile::tempdir().unwrap();
    for name in ["shard.service", "shard.socket"] {
        let text = fs::read_to_string(units.join(name)).unwrap();
        // A program that is there, in the place of one that may not be installed.
        let text = text.replace("%h/.cargo/bin/shard", "/bin/sh");
        fs::write(folder.path().join(name), text).unwrap();
    }
    let verify = std::process::Command::new("systemd-analyze")
        .args(["verify", "--user", "--man=no", "--recursive-errors=no"])
        .args(["shard.service", "shard.socket"].map(|name| folder.path().join(name)))
        .env("XDG_RUNTIME_DIR", folder.path())
        .env("HOME", folder.path())
        .output();
    // Where systemd is not installed there is nobody to ask.
    let Ok(output) = verify else { return };
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && said.trim().is_empty(), "{said}");
}
