//! What a command finds when it starts, and what its owner learns of it.
#![expect(
    clippy::unwrap_used,
    reason = "a helper that fails is a test that fails"
)]

mod support;

use std::os::unix::fs::PermissionsExt;
use std::time::{Duration, Instant};

use shard_process::{CommandSpec, Exit, SpawnError, spawn, spawn_with_errors};
use support::*;

#[tokio::test]
async fn exit_codes_and_signals_are_told_apart() {
    assert_eq!(run("exit 0").await, (String::new(), Exit::Code(0)));
    assert_eq!(run("exit 143").await, (String::new(), Exit::Code(143)));
    assert_eq!(
        run("kill -TERM $$").await,
        (String::new(), Exit::Signal(15))
    );
    assert_eq!(run("kill -KILL $$").await, (String::new(), Exit::Signal(9)));
}

#[tokio::test]
async fn output_and_errors_come_in_the_order_they_were_written() {
    let (text, exit) = run("for i in 1 2 3; do echo out $i; echo err $i >&2; done").await;
    assert_eq!(text, "out 1\nerr 1\nout 2\nerr 2\nout 3\nerr 3\n");
    assert_eq!(exit, Exit::Code(0));
}

#[tokio::test]
async fn much_output_arrives_whole() {
    let (text, _) = run("head -c 3000000 /dev/zero | tr '\\0' x").await;
    assert_eq!(text.len(), 3_000_000);
}

#[tokio::test]
async fn standard_input_is_empty() {
    assert_eq!(run("read x; echo got:$x").await.0, "got:\n");
}

#[tokio::test]
async fn there_is_no_terminal() {
    let (text, exit) = run("tty; : </dev/tty").await;
    assert!(text.starts_with("not a tty\n"), "{text}");
    assert!(
        text.contains("/dev/tty: No such device or address"),
        "{text}"
    );
    assert_eq!(exit, Exit::Code(1));
}

#[tokio::test]
async fn only_the_three_standard_descriptors_are_open() {
    let _leaked = std::fs::File::open("/etc/passwd").unwrap();
    // The fourth is the listed directory itself.
    let (text, _) = run("exec ls -l /proc/self/fd").await;
    let open: Vec<_> = text
        .lines()
        .filter_map(|line| line.split(" -> ").nth(1))
        .collect();
    assert_eq!(open.len(), 4, "{text}");
    assert_eq!(open[0], "/dev/null");
    assert!(open[1].starts_with("pipe:") && open[1] == open[2], "{text}");
}

#[tokio::test]
async fn the_environment_is_the_given_one_and_nothing_else() {
    let spec = CommandSpec {
        argv: vec!["env".into()],
        cwd: "/".into(),
        env: vec![
            ("PATH".into(), "/usr/bin:/bin".into()),
            ("A".into(), "b c".into()),
        ],
        domain: None,
    };
    let (text, _) = finish(spawn(&spec).unwrap()).await;
    let mut lines: Vec<_> = text.lines().collect();
    lines.sort_unstable();
    assert_eq!(lines, ["A=b c", "PATH=/usr/bin:/bin"]);
}

#[tokio::test]
async fn standard_error_can_be_apart() {
    let (running, mut errors) =
        spawn_with_errors(&bash("echo out; echo err >&2; echo out")).unwrap();
    let (text, exit) = finish(running).await;
    assert_eq!((text.as_str(), exit), ("out\nout\n", Exit::Code(0)));
    let mut buffer = [0; 64];
    let length = errors.read(&mut buffer).await.unwrap();
    assert_eq!(&buffer[..length], b"err\n");
    assert_eq!(errors.read(&mut buffer).await.unwrap(), 0);
}

#[tokio::test]
async fn it_starts_in_the_given_directory_with_all_signals_at_their_default() {
    let place = tempfile::tempdir().unwrap();
    let place = place.path().canonicalize().unwrap();
    let spec = CommandSpec {
        cwd: place.clone(),
        ..bash("pwd; exec cat /proc/self/status")
    };
    let (text, _) = finish(spawn(&spec).unwrap()).await;
    let mut lines = text.lines();
    assert_eq!(lines.next(), place.to_str());
    let signals = ["SigBlk", "SigIgn", "SigCgt"];
    for line in lines.filter(|line| signals.iter().any(|name| line.starts_with(name))) {
        assert!(line.ends_with("\t0000000000000000"), "{line}");
    }
}

#[tokio::test]
async fn it_cannot_look_into_other_processes_nor_gain_rights() {
    // 19 and 21 are SYS_PTRACE and SYS_ADMIN, 38 is PERFMON.
    let forbidden = 1_u64 << 19 | 1 << 21 | 1 << 38;
    let (text, _) = run("grep -E '^(Cap|NoNewPrivs)' /proc/self/status").await;
    let mut seen = 0;
    for line in text.lines().filter(|line| line.starts_with("Cap")) {
        let set = u64::from_str_radix(line.split('\t').nth(1).unwrap(), 16).unwrap();
        let may_drop = rustix::process::geteuid().is_root() || !line.starts_with("CapBnd");
        assert!(!may_drop || set & forbidden == 0, "{line}");
        seen += 1;
    }
    assert_eq!(seen, 5, "{text}");
    assert!(text.contains("NoNewPrivs:\t1"), "{text}");
}

#[tokio::test]
async fn a_missing_program_is_an_error_and_leaves_no_process() {
    let spec = CommandSpec {
        argv: vec!["no-such-program".into()],
        ..bash("")
    };
    let error = spawn(&spec).unwrap_err();
    let SpawnError::Exec { program, source } = error else {
        panic!("{error:?}")
    };
    assert_eq!(program, "no-such-program");
    assert_eq!(source.kind(), std::io::ErrorKind::NotFound);
}

#[tokio::test]
async fn a_program_that_may_not_be_executed_is_an_error() {
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("program");
    std::fs::write(&file, "#!/bin/sh\n").unwrap();
    std::fs::set_permissions(&file, PermissionsExt::from_mode(0o644)).unwrap();
    let error = spawn(&CommandSpec {
        argv: vec![file.into()],
        ..bash("")
    })
    .unwrap_err();
    let SpawnError::Exec { source, .. } = error else {
        panic!("{error:?}")
    };
    assert_eq!(source.kind(), std::io::ErrorKind::PermissionDenied);
}

#[tokio::test]
async fn a_missing_directory_is_an_error_of_its_own() {
    let error = spawn(&CommandSpec {
        cwd: "/no/such/place".into(),
        ..bash("")
    })
    .unwrap_err();
    let SpawnError::Cwd { cwd, source } = error else {
        panic!("{error:?}")
    };
    assert_eq!(cwd.to_str(), Some("/no/such/place"));
    assert_eq!(source.kind(), std::io::ErrorKind::NotFound);
}

#[tokio::test]
async fn an_empty_command_line_is_an_error() {
    let error = spawn(&CommandSpec {
        argv: Vec::new(),
        ..bash("")
    })
    .unwrap_err();
    assert!(matches!(error, SpawnError::NoProgram), "{error:?}");
}

#[test]
fn without_a_runtime_nothing_starts() {
    assert!(matches!(spawn(&bash("true")), Err(SpawnError::NoRuntime)));
}

#[tokio::test]
async fn output_and_exit_can_be_awaited_together() {
    let mut running = start("echo first; exit 7");
    let mut buffer = [0; 64];
    let (mut text, mut exit) = (Vec::new(), None);
    loop {
        tokio::select! {
            read = running.output.read(&mut buffer) => match read.unwrap() {
                0 => break,
                read => text.extend_from_slice(&buffer[..read]),
            },
            ended = running.process.exited(), if exit.is_none() => exit = Some(ended),
        }
    }
    assert_eq!(text, b"first\n");
    assert_eq!(running.exited().await, Exit::Code(7));
    assert_eq!(running.exited().await, Exit::Code(7), "may be asked again");
}

#[tokio::test]
async fn many_commands_run_side_by_side() {
    let start = Instant::now();
    let all: Vec<_> = (0..40)
        .map(|n| tokio::spawn(async move { run(&format!("sleep 0.5; echo {n}; exit {n}")).await }))
        .collect();
    for (n, one) in all.into_iter().enumerate() {
        let expected = (format!("{n}\n"), Exit::Code(i32::try_from(n).unwrap()));
        assert_eq!(one.await.unwrap(), expected);
    }
    assert!(
        start.elapsed() < Duration::from_secs(10),
        "one after the other takes 20 s"
    );
}
