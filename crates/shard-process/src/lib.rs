//! The only place that starts processes for tools, and git for the daemon.
//!
//! Owns a command from the fork to the last descendant: each one runs below a small process of
//! its own, the *reaper*, which adopts whatever the command leaves behind and ends it when the
//! owner lets go. Executes what it is given; whether a command may run is decided elsewhere, and
//! so is what becomes of its output.
//!
//! Invariants:
//! - Nothing a command starts outlives its [`Running`] or [`Background`], nor this process,
//!   however it ends: the reaper watches a pipe that only this process holds open.
//! - A reaper holds nothing of its owner: no lock, no file, no end of the command's output.
//! - A command finds standard input empty, no terminal, no open file beyond 0, 1 and 2, and no
//!   right to look into other processes.
//! - No zombie stays: reapers are waited for by a task of their own, not by whoever holds the
//!   handle.
//!
//! Linux 5.9 or newer, with `/proc` mounted. Reading order: `spawn`, `reaper` (what happens
//! after the fork), `domain` (what a command may write), `watch` and `running` (the owner's side), `strays` (what if a reaper is
//! killed). All `unsafe` is in `sys`.

mod domain;
mod harden;
mod peer;
mod proc;
mod reaper;
mod running;
mod spawn;
mod strays;
mod sys;
mod watch;

pub use domain::{Domain, Landlock};
pub use harden::harden;
pub use peer::{Peer, PeerError};
pub use proc::LeftBehind;
pub use running::{Background, Exit, Output, Process, Running};
pub use spawn::{CommandSpec, SpawnError, spawn, spawn_with_errors};
pub use strays::{end_tree, sweep_adopted};
