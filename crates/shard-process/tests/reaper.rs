//! What a reaper holds, and what happens when it or its owner is killed.
//!
//! A part of the tests runs in a process of its own: this test binary, started again for one
//! test that does nothing otherwise.
#![expect(
    clippy::unwrap_used,
    reason = "a helper that fails is a test that fails"
)]

mod support;

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Read};
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdout, Command, Stdio};

use rustix::fs::{FlockOperation, flock};
use shard_process::Exit;
use support::*;

const ROLE: &str = "SHARD_PROCESS_TEST_ROLE";

/// Another process of this binary, which plays one of the roles below.
struct Player {
    child: Child,
    rest: BufReader<ChildStdout>,
}

impl Player {
    fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    fn ends_well(mut self) -> bool {
        // Who can't print its result would fail for that alone.
        io::copy(&mut self.rest, &mut io::sink()).unwrap();
        self.child.wait().unwrap().success()
    }
}

/// Starts a player; gives the words it says first.
fn play(role: &str, adjust: impl FnOnce(&mut Command)) -> (Player, Vec<String>) {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(["--exact", role, "--nocapture"])
        .env(ROLE, role)
        .stdout(Stdio::piped());
    adjust(&mut command);
    let mut child = command.spawn().unwrap();
    let mut rest = BufReader::new(child.stdout.take().unwrap());
    let said = rest.by_ref().lines().map(Result::unwrap).find_map(|line| {
        line.split_once("SAYS ")
            .map(|(_, said)| said.split(' ').map(str::to_owned).collect())
    });
    (
        Player { child, rest },
        said.expect("the role ended without a word"),
    )
}

fn plays(role: &str) -> bool {
    std::env::var(ROLE).is_ok_and(|played| played == role)
}

fn numbers(said: &[String]) -> Vec<u32> {
    said.iter().map(|word| word.parse().unwrap()).collect()
}

#[tokio::test]
async fn role_owner() {
    if !plays("role_owner") {
        return;
    }
    shard_process::harden().unwrap();
    let mut running =
        start("trap '' TERM; sleep 400 & a=$!; setsid sleep 401 & b=$!; echo $$ $a $b; wait");
    let mut all = pids(&mut running).await;
    all.push(running.process.reaper());
    // Stopping the reaper must not help to survive the owner.
    if std::env::var_os("STOP").is_some() {
        rustix::process::kill_process(
            rustix::process::Pid::from_raw(running.process.reaper().cast_signed()).unwrap(),
            rustix::process::Signal::STOP,
        )
        .unwrap();
    }
    let all: Vec<String> = all.iter().map(u32::to_string).collect();
    println!("SAYS {}", all.join(" "));
    running.exited().await;
    std::future::pending::<()>().await;
}

#[tokio::test]
async fn when_the_owner_is_killed_everything_is_gone() {
    let (owner, said) = play("role_owner", |_| ());
    let all = numbers(&said);
    assert_eq!(all.len(), 4);
    assert!(all.iter().all(|pid| exists(*pid)));
    owner.kill();
    until("only zombies of init's are left", || {
        all.iter()
            .all(|pid| matches!(state(*pid), None | Some('Z')))
    })
    .await;
}

#[tokio::test]
async fn when_the_owner_of_a_stopped_reaper_is_killed_everything_is_gone() {
    let (owner, said) = play("role_owner", |command| _ = command.env("STOP", "1"));
    let all = numbers(&said);
    owner.kill();
    until("only zombies of init's are left", || {
        all.iter()
            .all(|pid| matches!(state(*pid), None | Some('Z')))
    })
    .await;
}

#[tokio::test]
async fn role_keeper() {
    if !plays("role_keeper") {
        return;
    }
    shard_process::harden().unwrap();
    let bystander = Command::new("sleep").arg("402").spawn().unwrap();
    let (owner, said) = play("role_owner", |_| ());
    let all = numbers(&said);
    // The worst order: the reaper first, so that nobody below is told of the owner's end.
    let pid = |raw: u32| rustix::process::Pid::from_raw(raw.cast_signed()).unwrap();
    let kill =
        |raw| rustix::process::kill_process(pid(raw), rustix::process::Signal::KILL).unwrap();
    rustix::process::kill_process(pid(owner.child.id()), rustix::process::Signal::STOP).unwrap();
    kill(all[3]);
    owner.kill();
    until("nothing adopted is left", || {
        shard_process::sweep_adopted() == 0
    })
    .await;
    until_gone(&all).await;
    assert!(
        exists(bystander.id()),
        "what it started itself is not touched"
    );
    let mut bystander = bystander;
    bystander.kill().unwrap();
    bystander.wait().unwrap();

    // The common order: the reaper does its work, and leaves itself to be waited for.
    let (owner, said) = play("role_owner", |_| ());
    owner.kill();
    until("nothing adopted is left", || {
        shard_process::sweep_adopted() == 0
    })
    .await;
    until_gone(&numbers(&said)).await;
    println!("SAYS well");
}

#[tokio::test]
async fn who_starts_owners_takes_care_of_what_they_leave() {
    let (keeper, said) = play("role_keeper", |_| ());
    assert!(keeper.ends_well());
    assert_eq!(said, ["well"]);
}

#[tokio::test]
async fn role_loser() {
    if !plays("role_loser") {
        return;
    }
    shard_process::harden().unwrap();
    let mut bystander = Command::new("sleep").arg("403").spawn().unwrap();
    let mut other = start("sleep 404 & echo $!; exit 0");
    let other_pid = pids(&mut other).await[0];
    assert_eq!(other.exited().await, Exit::Code(0));
    let mut running = start(
        "trap '' TERM; sleep 405 & a=$!; setsid sleep 406 & b=$!; echo $$ $a $b; \
         until [ -d /proc/$b ]; do :; done; kill -9 $PPID; sleep 407",
    );
    let mut all = pids(&mut running).await;
    all.push(running.process.reaper());
    assert_eq!(running.exited().await, Exit::Lost);
    until_gone(&all).await;
    assert!(
        exists(bystander.id()) && exists(other_pid),
        "others are not touched"
    );
    running.end().await;

    // The command may be over already: then its end is known, and what it left still ends.
    let mut running = start("(sleep 0.1; kill -9 $PPID; sleep 408) & setsid sleep 409 & exit 3");
    assert_eq!(running.exited().await, Exit::Code(3));
    until("both run", || running.left_behind().len() >= 2).await;
    let left: Vec<u32> = running.left_behind().iter().map(|it| it.pid).collect();
    let reaper = rustix::process::Pid::from_raw(running.process.reaper().cast_signed()).unwrap();
    rustix::process::kill_process(reaper, rustix::process::Signal::KILL).unwrap();
    until_gone(&left).await;
    assert!(
        exists(bystander.id()) && exists(other_pid),
        "others are not touched"
    );
    other.end().await;
    bystander.kill().unwrap();
    bystander.wait().unwrap();
    println!("SAYS well");
}

#[tokio::test]
async fn when_a_command_kills_its_reaper_it_and_all_below_it_end() {
    let (loser, said) = play("role_loser", |_| ());
    assert!(loser.ends_well());
    assert_eq!(said, ["well"]);
}

#[tokio::test]
async fn role_plain_user() {
    if !plays("role_plain_user") {
        return;
    }
    shard_process::harden().unwrap();
    let running = start("sleep 410");
    let reaper = running.process.reaper();
    let owner = |pid| fs::metadata(format!("/proc/{pid}/environ")).unwrap().uid();
    let command = running.left_behind()[0].pid;
    println!(
        "SAYS {} {} {}",
        owner(std::process::id()),
        owner(reaper),
        owner(command)
    );
    running.end().await;
}

#[tokio::test]
async fn neither_owner_nor_reaper_can_be_read_by_the_same_user() {
    if !rustix::process::geteuid().is_root() {
        return; // Only root may start something as another user, and root reads everything.
    }
    let place = tempfile::tempdir().unwrap();
    // The build's folder may be closed to others.
    let copy = place.path().join("test");
    fs::copy(std::env::current_exe().unwrap(), &copy).unwrap();
    fs::set_permissions(
        place.path(),
        std::os::unix::fs::PermissionsExt::from_mode(0o755),
    )
    .unwrap();
    let mut command = Command::new(copy);
    command
        .args(["--exact", "role_plain_user", "--nocapture"])
        .env(ROLE, "role_plain_user");
    let said = command
        .uid(65534)
        .gid(65534)
        .current_dir("/")
        .output()
        .unwrap();
    let said = String::from_utf8(said.stdout).unwrap();
    // What is not dumpable belongs to root in /proc.
    assert!(said.contains("SAYS 0 0 65534"), "{said}");
}

#[tokio::test]
async fn role_hardened() {
    if !plays("role_hardened") {
        return;
    }
    shard_process::harden().unwrap();
    let dumpable = rustix::process::dumpable_behavior().unwrap();
    assert_eq!(dumpable, rustix::process::DumpableBehavior::NotDumpable);
    assert!(rustix::process::child_subreaper().unwrap().is_some());
    let ignored = || {
        let status = fs::read_to_string("/proc/self/status").unwrap();
        let line = status
            .lines()
            .find_map(|line| line.strip_prefix("SigIgn:\t"))
            .unwrap();
        u64::from_str_radix(line, 16).unwrap()
    };
    // 13 is SIGPIPE, 25 is SIGXFSZ.
    let both = 1 << 12 | 1 << 24;
    assert_eq!(ignored() & both, both);
    let (text, _) = run("grep SigIgn /proc/self/status").await;
    assert_eq!(
        text, "SigIgn:\t0000000000000000\n",
        "commands start with the defaults"
    );
    println!("SAYS well");
}

#[tokio::test]
async fn hardening_holds_and_is_not_passed_on_to_commands() {
    let (hardened, said) = play("role_hardened", |_| ());
    assert!(hardened.ends_well());
    assert_eq!(said, ["well"]);
}

#[tokio::test]
async fn a_reaper_holds_nothing_but_its_two_pipes() {
    if !rustix::process::geteuid().is_root() {
        return; // Nobody else may look, which is what the test above is about.
    }
    let running = start("sleep 411");
    let reaper = running.process.reaper();
    let held = || -> Vec<String> {
        let mut held: Vec<String> = fs::read_dir(format!("/proc/{reaper}/fd"))
            .unwrap()
            .filter_map(|entry| fs::read_link(entry.unwrap().path()).ok())
            .map(|target| {
                target
                    .to_str()
                    .unwrap()
                    .split('[')
                    .next()
                    .unwrap()
                    .to_owned()
            })
            .collect();
        held.sort_unstable();
        held
    };
    let expected = ["/dev/null", "/dev/null", "/dev/null", "pipe:", "pipe:"];
    until("it has closed the rest", || held() == expected).await;
    let place = format!("/proc/{reaper}/cwd");
    until("it has left the directory", || {
        fs::read_link(&place).unwrap().to_str() == Some("/")
    })
    .await;
    assert_eq!(
        fs::read_to_string(format!("/proc/{reaper}/comm")).unwrap(),
        "shard-reaper\n"
    );
    running.end().await;
}

#[tokio::test]
async fn a_lock_of_the_owner_is_free_once_the_owner_drops_it() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let lock = File::open(file.path()).unwrap();
    flock(&lock, FlockOperation::LockExclusive).unwrap();
    let mut running = start("sleep 412 & echo done");
    running.exited().await;
    let background = running.keep();
    drop(lock);
    let other = File::open(file.path()).unwrap();
    // Other tests fork too, and hold for a moment what this one held.
    let is_free = || flock(&other, FlockOperation::NonBlockingLockExclusive).is_ok();
    until("the lock is free", is_free).await;
    assert_eq!(background.left_behind().len(), 1);
}
