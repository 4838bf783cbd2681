//! Starting commands and looking at what becomes of them.
#![allow(dead_code, reason = "each test file uses a part of it")]

use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use shard_process::{CommandSpec, Exit, Running, spawn};

/// What the contract allows a tree to take to end.
pub(crate) const LIMIT: Duration = Duration::from_secs(5);

pub(crate) fn bash(script: &str) -> CommandSpec {
    CommandSpec {
        argv: ["bash", "-c", script].map(Into::into).to_vec(),
        cwd: PathBuf::from("/"),
        env: std::env::vars_os().collect(),
        domain: None,
    }
}

pub(crate) fn start(script: &str) -> Running {
    spawn(&bash(script)).unwrap()
}

/// Everything the command writes, and how it ended.
pub(crate) async fn finish(mut running: Running) -> (String, Exit) {
    let mut text = Vec::new();
    let mut buffer = [0; 4096];
    loop {
        match running.read(&mut buffer).await.unwrap() {
            0 => break,
            read => text.extend_from_slice(&buffer[..read]),
        }
    }
    (String::from_utf8(text).unwrap(), running.exited().await)
}

pub(crate) async fn run(script: &str) -> (String, Exit) {
    finish(start(script)).await
}

/// Reads up to and including a line end.
pub(crate) async fn line(running: &mut Running) -> String {
    let mut text = Vec::new();
    let mut byte = [0];
    while running.read(&mut byte).await.unwrap() == 1 && byte != *b"\n" {
        text.push(byte[0]);
    }
    String::from_utf8(text).unwrap()
}

/// Reads a line of process ids.
pub(crate) async fn pids(running: &mut Running) -> Vec<u32> {
    line(running)
        .await
        .split_whitespace()
        .map(|pid| pid.parse().unwrap())
        .collect()
}

/// A process exists, be it as a zombie.
pub(crate) fn exists(pid: u32) -> bool {
    fs::exists(format!("/proc/{pid}")).unwrap()
}

/// The state letter of a process.
pub(crate) fn state(pid: u32) -> Option<char> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat.rsplit_once(") ")?.1.chars().next()
}

/// The living and dead children of this process.
pub(crate) fn children() -> Vec<u32> {
    let mut found = Vec::new();
    for task in fs::read_dir("/proc/self/task").unwrap() {
        let list = fs::read_to_string(task.unwrap().path().join("children")).unwrap_or_default();
        found.extend(
            list.split_whitespace()
                .map(|pid| pid.parse::<u32>().unwrap()),
        );
    }
    found
}

/// Waits for what nobody announces: the state of foreign processes.
pub(crate) async fn until(what: &str, condition: impl Fn() -> bool) {
    let start = Instant::now();
    while !condition() {
        assert!(start.elapsed() < LIMIT, "waited in vain until {what}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

pub(crate) async fn until_gone(pids: &[u32]) {
    until(&format!("{pids:?} are gone"), || {
        !pids.iter().any(|pid| exists(*pid))
    })
    .await;
}
