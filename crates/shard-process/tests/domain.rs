//! What a confined command can and cannot do. Where the kernel has no Landlock, or too little of
//! it, there is nothing to try and the tests say so.
#![expect(
    clippy::unwrap_used,
    reason = "a helper that fails is a test that fails"
)]
#![expect(clippy::print_stderr, reason = "a test that is skipped says so")]

mod support;

use std::fs;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::path::PathBuf;
use std::sync::Arc;

use shard_process::{CommandSpec, Domain, Exit, Landlock, spawn};
use support::*;

/// A folder `in` that commands may write to, and a folder `out` that they may not.
struct Bench {
    _dir: tempfile::TempDir,
    root: PathBuf,
    domain: Arc<Domain>,
}

impl Bench {
    /// `None` where the kernel lacks what this version of Landlock brought.
    fn new(version: i32) -> Option<Self> {
        if Landlock::here().version() < Some(version) {
            eprintln!("skipped: the kernel has no Landlock of version {version}");
            return None;
        }
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        fs::create_dir_all(root.join("in/sub")).unwrap();
        fs::create_dir(root.join("out")).unwrap();
        fs::write(root.join("in/old"), "old").unwrap();
        fs::write(root.join("out/old"), "old").unwrap();
        let places = [root.join("in"), PathBuf::from("/dev/null")];
        let domain = Domain::writing_only(places.iter().map(PathBuf::as_path));
        Some(Self {
            _dir: dir,
            root,
            domain: Arc::new(domain.unwrap().unwrap()),
        })
    }

    fn spec(&self, script: &str) -> CommandSpec {
        CommandSpec {
            cwd: self.root.join("in"),
            domain: Some(Arc::clone(&self.domain)),
            ..bash(script)
        }
    }

    async fn run(&self, script: &str) -> (String, Exit) {
        finish(spawn(&self.spec(script)).unwrap()).await
    }

    async fn refused(&self, script: &str) {
        let (text, exit) = self.run(script).await;
        assert_ne!(exit, Exit::Code(0), "{script}: {text}");
        assert_eq!(
            fs::read_to_string(self.root.join("out/old")).unwrap(),
            "old",
            "{script}"
        );
        assert_eq!(
            fs::read_dir(self.root.join("out")).unwrap().count(),
            1,
            "{script}"
        );
    }

    async fn done(&self, script: &str) {
        let (text, exit) = self.run(script).await;
        assert_eq!(exit, Exit::Code(0), "{script}: {text}");
    }
}

#[tokio::test]
async fn only_the_places_named_can_be_written_to() {
    let Some(bench) = Bench::new(2) else { return };
    for script in [
        "echo x > new && echo y >> old && cat ../out/old /etc/passwd > /dev/null",
        "mkdir -p a/b && mv old a/b/ && ln a/b/old c && ln -s c d && rm c && mkfifo p && rm -r a p d",
        "echo x > sub/x && mv sub other && rm -r other",
    ] {
        bench.done(script).await;
    }
    for script in [
        "echo x > ../out/new",
        "echo x > ../out/old",
        "echo x >> ../out/old",
        "rm ../out/old",
        "mkdir ../out/new",
        "mkfifo ../out/new",
        "ln -s x ../out/new",
        "mv ../out/old here",
        "ln ../out/old here",
        "echo x > here; mv here ../out/old",
        "echo x > here; ln here ../out/new",
        "mv ../out out",
        "echo x > ../new",
        "mv ../in ../moved",
        "rm -r ../in",
        "ln -s ../out link && echo x > link/new",
        "ln -s ../out/old filelink && echo x > filelink",
    ] {
        bench.refused(script).await;
    }
    assert!(bench.root.join("in").exists() && !bench.root.join("new").exists());
}

#[tokio::test]
async fn files_outside_are_not_truncated() {
    let Some(bench) = Bench::new(3) else { return };
    bench.refused(": > ../out/old").await;
    bench.refused("truncate -s 0 ../out/old").await;
    bench
        .done("echo x > mine; : > mine; truncate -s 5 mine")
        .await;
}

#[tokio::test]
async fn all_that_descends_from_a_command_is_confined_too() {
    let Some(bench) = Bench::new(1) else { return };
    let script = "(setsid bash -c '(echo x > ../out/new; echo done > ok) &' &); \
         until [ -e ok ]; do sleep 0.01; done; ls ../out; exit 1";
    bench.refused(script).await;
}

#[tokio::test]
async fn signals_stay_inside() {
    let Some(bench) = Bench::new(6) else { return };
    let (text, exit) = bench.run("kill -0 $PPID").await;
    assert_eq!(exit, Exit::Code(1), "the reaper: {text}");
    let (text, exit) = bench.run(&format!("kill -0 {}", std::process::id())).await;
    assert_eq!(exit, Exit::Code(1), "the owner: {text}");
    bench
        .done("sleep 60 & kill $!; wait $!; [ $? = 143 ]")
        .await;
}

#[tokio::test]
async fn abstract_sockets_outside_are_out_of_reach() {
    let Some(bench) = Bench::new(6) else { return };
    let name = format!("shard-test-{}", std::process::id());
    let address = SocketAddr::from_abstract_name(&name).unwrap();
    let _listener = UnixListener::bind_addr(&address).unwrap();
    let script = format!(
        "exec python3 -c 'import socket; socket.socket(socket.AF_UNIX).connect(\"\\0{name}\")'"
    );
    let (text, exit) = finish(spawn(&bash(&script)).unwrap()).await;
    if exit != Exit::Code(0) {
        eprintln!("skipped: there is no python3: {text}");
        return;
    }
    let (text, _) = bench.run(&script).await;
    assert!(text.contains("PermissionError"), "{text}");
}

#[tokio::test]
async fn without_restricting_a_file_processes_outside_are_hidden() {
    let Some(domain) = Domain::hiding_only().unwrap() else {
        eprintln!("skipped: the kernel has no such domain");
        return;
    };
    let dir = tempfile::tempdir().unwrap();
    let mut other = start("echo $$; exec sleep 60");
    let other_pid = pids(&mut other).await[0];
    let look = format!(
        "cat /proc/{other_pid}/environ > /dev/null || exit 3; echo x > {}/x",
        dir.path().display()
    );
    let mut spec = bash(&look);
    // Neither is closed nor has more rights, so that it is the domain alone that hides it.
    assert_eq!(finish(spawn(&spec).unwrap()).await.1, Exit::Code(0));
    spec.domain = Some(Arc::new(domain));
    assert_eq!(finish(spawn(&spec).unwrap()).await.1, Exit::Code(3));
    spec.argv[2] = format!(
        "mkdir {0}/a && mv {0}/x {0}/a/y && rm {0}/a/y",
        dir.path().display()
    )
    .into();
    assert_eq!(finish(spawn(&spec).unwrap()).await.1, Exit::Code(0));
}

#[tokio::test]
async fn no_command_gets_hold_of_its_ruleset() {
    let Some(bench) = Bench::new(1) else { return };
    let (text, _) = bench.run("ls -l /proc/self/fd").await;
    assert!(!text.contains("landlock"), "{text}");
    // Nor does the reaper keep it.
    let mut running = spawn(&bench.spec("echo $PPID; read -r < <(sleep 60)")).unwrap();
    let reaper = pids(&mut running).await[0];
    let held = fs::read_dir(format!("/proc/{reaper}/fd"));
    let Ok(held) = held else {
        eprintln!("skipped: only root can look into a reaper");
        return;
    };
    let held: Vec<_> = held
        .map(|fd| fs::read_link(fd.unwrap().path()).unwrap())
        .collect();
    assert_eq!(held.len(), 5, "{held:?}");
    running.end().await;
}

#[tokio::test]
async fn a_place_that_became_a_link_opens_nothing() {
    let Some(bench) = Bench::new(1) else { return };
    let link = bench.root.join("link");
    std::os::unix::fs::symlink("out", &link).unwrap();
    let domain = Domain::writing_only([link.as_path(), bench.root.join("gone").as_path()]);
    let spec = CommandSpec {
        domain: Some(Arc::new(domain.unwrap().unwrap())),
        ..bench.spec("echo x > ../link/new")
    };
    assert_eq!(finish(spawn(&spec).unwrap()).await.1, Exit::Code(1));
    assert!(!bench.root.join("out/new").exists());
}
