//! Nothing a command started outlives its handle.
#![expect(
    clippy::unwrap_used,
    reason = "a helper that fails is a test that fails"
)]

mod support;

use std::fs;
use std::time::Instant;

use shard_process::Exit;
use support::*;

#[tokio::test]
async fn a_process_in_the_background_is_named_and_ends_with_its_guard() {
    let mut running = start("sleep 60 & echo done");
    let begun = Instant::now();
    assert_eq!(line(&mut running).await, "done");
    assert_eq!(running.exited().await, Exit::Code(0));
    assert!(begun.elapsed().as_secs() < 2);
    // The shell may not have got to execute it.
    let names = || {
        running
            .left_behind()
            .into_iter()
            .map(|it| it.command)
            .collect::<Vec<_>>()
    };
    until("it is named", || names() == ["sleep 60"]).await;
    let left = running.left_behind();
    let reaper = running.process.reaper();
    let background = running.keep();
    assert_eq!(background.left_behind(), left);
    drop(background);
    until_gone(&[left[0].pid, reaper]).await;
}

#[tokio::test]
async fn a_kept_process_may_print_without_end() {
    let mut running = start("(while :; do echo noise; done) & exit 0");
    assert_eq!(running.exited().await, Exit::Code(0));
    let loud = running.left_behind()[0].pid;
    let background = running.keep();
    let written = || {
        let io = fs::read_to_string(format!("/proc/{loud}/io")).unwrap();
        let line = io.lines().find(|line| line.starts_with("wchar:")).unwrap();
        line.split(' ').nth(1).unwrap().parse::<u64>().unwrap()
    };
    // More than a pipe holds, so that somebody must be reading.
    until("the noise is read", || written() > 300_000).await;
    background.end().await;
    assert!(!exists(loud));
}

#[tokio::test]
async fn when_nothing_is_left_the_reaper_goes_by_itself() {
    let mut running = start("true");
    running.exited().await;
    until_gone(&[running.process.reaper()]).await;
    assert_eq!(running.left_behind(), []);
}

#[tokio::test]
async fn a_process_that_left_the_session_ends_with_the_command() {
    let mut running = start("setsid sleep 300 & disown; echo $!");
    let daemon = pids(&mut running).await;
    running.exited().await;
    until("it runs", || {
        running
            .left_behind()
            .iter()
            .any(|it| it.command == "sleep 300")
    })
    .await;
    running.end().await;
    assert!(!exists(daemon[0]));
}

#[tokio::test]
async fn a_daemon_that_forked_twice_ends_and_frees_its_port() {
    let mut running = start(
        r#"exec python3 -c '
import os, socket, time
if os.fork(): os._exit(0)
os.setsid()
if os.fork(): os._exit(0)
listener = socket.create_server(("127.0.0.1", 0))
print(os.getpid(), listener.getsockname()[1], flush=True)
time.sleep(300)'"#,
    );
    let said = pids(&mut running).await;
    let (daemon, port) = (said[0], u16::try_from(said[1]).unwrap());
    running.exited().await;
    assert!(std::net::TcpStream::connect(("127.0.0.1", port)).is_ok());
    let reaper = running.process.reaper();
    running.end().await;
    assert!(!exists(daemon) && !exists(reaper));
    std::net::TcpListener::bind(("127.0.0.1", port)).unwrap();
}

#[tokio::test]
async fn who_can_end_tidily_may() {
    let place = tempfile::tempdir().unwrap();
    let note = place.path().join("note");
    let mut running = start(&format!(
        "trap 'echo bye >{}; exit' TERM; echo ready; while :; do sleep 0.02; done",
        note.display()
    ));
    assert_eq!(line(&mut running).await, "ready");
    running.end().await;
    assert_eq!(fs::read_to_string(note).unwrap(), "bye\n");
}

#[tokio::test]
async fn a_script_does_not_go_on_when_its_step_is_ended() {
    let place = tempfile::tempdir().unwrap();
    let note = place.path().join("note");
    for _ in 0..20 {
        let mut running = start(&format!(
            "echo ready; sleep 300; echo on >{}",
            note.display()
        ));
        assert_eq!(line(&mut running).await, "ready");
        running.end().await;
        assert!(!note.exists());
    }
}

#[tokio::test]
async fn who_ignores_the_request_is_killed() {
    let begun = Instant::now();
    let mut running =
        start("trap '' TERM; (trap '' TERM; sleep 301 & echo $! $BASHPID; wait) & wait");
    let stubborn = pids(&mut running).await;
    running.end().await;
    assert!(begun.elapsed() < LIMIT);
    assert!(!stubborn.iter().any(|pid| exists(*pid)));
}

#[tokio::test]
async fn who_is_stopped_ends_too() {
    let mut running = start("sleep 302 & kill -STOP $!; echo $!; kill -STOP $$");
    let stopped = pids(&mut running).await;
    until("it is stopped", || state(stopped[0]) == Some('T')).await;
    running.end().await;
    assert!(!exists(stopped[0]));
}

#[tokio::test]
async fn a_script_that_forks_all_the_time_ends() {
    let mut running = start("echo $$; trap '' TERM; while :; do (sleep 9 &) ; done");
    let bomb = pids(&mut running).await;
    until("it forked a lot", || running.left_behind().len() >= 16).await;
    let reaper = running.process.reaper();
    let begun = Instant::now();
    running.end().await;
    assert!(begun.elapsed() < LIMIT);
    assert!(!exists(bomb[0]) && !exists(reaper));
}

#[tokio::test]
async fn processes_that_pass_themselves_on_end() {
    // Each forks its successor and exits, in a session of its own: none lives for long.
    let mut running = start(
        r#"exec python3 -c '
import os, signal
signal.signal(signal.SIGTERM, signal.SIG_IGN)
print("ready", flush=True)
while True:
    if os.fork(): os._exit(0)
    os.setsid()'"#,
    );
    assert_eq!(line(&mut running).await, "ready");
    running.exited().await;
    let reaper = running.process.reaper();
    running.end().await;
    assert!(!exists(reaper), "it stays while one of them lives");
}

#[tokio::test]
async fn a_stopped_reaper_still_ends_its_tree() {
    let mut running = start("kill -STOP $PPID; echo $$; sleep 303");
    let command = pids(&mut running).await;
    let reaper = running.process.reaper();
    // While it starts it is helped along; from then on nobody does.
    let pid = rustix::process::Pid::from_raw(reaper.cast_signed()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::STOP).unwrap();
    until("the reaper is stopped", || state(reaper) == Some('T')).await;
    running.end().await;
    assert!(!exists(command[0]) && !exists(reaper));
}

#[tokio::test]
async fn a_command_that_stops_its_reaper_at_once_does_not_stop_the_owner() {
    for _ in 0..20 {
        let begun = Instant::now();
        let mut running = start("kill -STOP $PPID; echo $$; sleep 306");
        let command = pids(&mut running).await;
        running.end().await;
        assert!(begun.elapsed() < LIMIT);
        assert!(!exists(command[0]));
    }
}

#[tokio::test]
async fn a_command_that_kills_its_reaper_at_once_is_lost() {
    for _ in 0..20 {
        let mut running = start("kill -KILL $PPID; sleep 307");
        assert_eq!(running.exited().await, Exit::Lost);
        running.end().await;
    }
}

#[tokio::test]
async fn signals_to_the_reaper_change_nothing() {
    let running = start("for s in HUP INT TERM USR1 CHLD ALRM; do kill -$s $PPID; done; exit 5");
    assert_eq!(finish(running).await, (String::new(), Exit::Code(5)));
}

#[tokio::test]
async fn a_dropped_handle_ends_the_tree_and_leaves_no_zombie() {
    let mut running = start("sleep 304 & echo $! $$; wait");
    let mut all = pids(&mut running).await;
    all.push(running.process.reaper());
    drop(running);
    until_gone(&all).await;
}

#[test]
fn the_end_of_the_runtime_ends_the_tree() {
    let runtime = || {
        tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap()
    };
    let first = runtime();
    let (command, reaper) = first.block_on(async {
        let mut running = start("echo $$; sleep 305");
        let command = pids(&mut running).await[0];
        let reaper = running.process.reaper();
        tokio::spawn(async move { running.exited().await });
        (command, reaper)
    });
    drop(first);
    runtime().block_on(async {
        until("the tree is gone", || {
            !exists(command) && matches!(state(reaper), None | Some('Z'))
        })
        .await;
        // The next start waits for what the first runtime could not.
        run("true").await;
        assert!(!exists(reaper));
    });
}

#[tokio::test]
async fn a_failed_start_leaves_no_child() {
    let mut spec = bash("");
    spec.argv = vec!["/no/such/program".into()];
    let names = || -> Vec<String> {
        children()
            .into_iter()
            .filter_map(|pid| fs::read_to_string(format!("/proc/{pid}/comm")).ok())
            .collect()
    };
    for _ in 0..10 {
        shard_process::spawn(&spec).unwrap_err();
    }
    until("no child is a zombie", || {
        children().iter().all(|pid| state(*pid) != Some('Z'))
    })
    .await;
    // Those of other tests may be there, but none that never got to be called a reaper.
    assert!(
        names().iter().all(|name| name == "shard-reaper\n"),
        "{:?}",
        names()
    );
}
