//! From a [`CommandSpec`] to a running command.

use std::ffi::{CString, NulError, OsString};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::fs::Access;
use rustix::io::Errno;
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use tokio::net::unix::pipe::Receiver;
use tokio::runtime::Handle;

use crate::domain::Domain;
use crate::reaper::{self, Ends, Report};
use crate::running::{Output, Running};
use crate::sys::Program;
use crate::watch::{self, Reaper};
use crate::{proc, strays, sys};

/// A reaper that is silent for so long may have been stopped.
const STOPPED_AFTER: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 20_000_000,
};

/// Where programs are sought if the environment doesn't say.
const DEFAULT_PATH: &[u8] = b"/usr/local/bin:/usr/bin:/bin";

/// What to start.
#[derive(Debug, Clone)]
pub struct CommandSpec {
    /// The program, looked up in the `PATH` of `env`, and its arguments. A script needs its
    /// `#!` line.
    pub argv: Vec<OsString>,
    /// The directory to start in.
    pub cwd: PathBuf,
    /// The whole environment: nothing is inherited.
    pub env: Vec<(OsString, OsString)>,
    /// What it is confined to, with all that it starts.
    pub domain: Option<Arc<Domain>>,
}

/// Why a command could not be started. Nothing of it runs then.
#[derive(Debug, thiserror::Error)]
pub enum SpawnError {
    /// `argv` is empty.
    #[error("no program given")]
    NoProgram,
    /// Called outside a runtime, so that nothing could watch the command.
    #[error("not inside a tokio runtime")]
    NoRuntime,
    /// Without this list, what a command leaves behind could not be ended.
    #[error("/proc does not list the children of a process")]
    NoProcessList,
    /// The directory to start in can't be entered.
    #[error("cannot enter {}", cwd.display())]
    Cwd {
        /// The directory.
        cwd: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The program can't be executed.
    #[error("cannot start {}", program.display())]
    Exec {
        /// The program.
        program: OsString,
        /// What the system said.
        source: io::Error,
    },
    /// The system ran out of something, or lacks something this crate builds on.
    #[error("cannot prepare to start a command")]
    Setup(#[from] io::Error),
}

/// Starts a command.
///
/// Standard input is empty; standard output and error are one pipe, so that both come out in the
/// order they were written. Blocks for about a millisecond, until the program is executed or
/// could not be.
///
/// # Errors
/// See [`SpawnError`].
///
/// # Panics
/// If the runtime was built without IO or time.
pub fn spawn(spec: &CommandSpec) -> Result<Running, SpawnError> {
    let (output, end) = pipe()?;
    let errors_end = end.try_clone().map_err(SpawnError::Setup)?;
    launch(spec, output, end, errors_end)
}

/// The same with standard error apart, for a caller that reads what a program prints.
///
/// # Errors
/// See [`SpawnError`].
///
/// # Panics
/// As [`spawn`].
pub fn spawn_with_errors(spec: &CommandSpec) -> Result<(Running, Output), SpawnError> {
    let (output, end) = pipe()?;
    let (errors, errors_end) = pipe()?;
    let running = launch(spec, output, end, errors_end)?;
    Ok((running, Output::new(Receiver::from_owned_fd(errors)?)))
}

fn launch(
    spec: &CommandSpec,
    output: OwnedFd,
    output_end: OwnedFd,
    errors_end: OwnedFd,
) -> Result<Running, SpawnError> {
    if Handle::try_current().is_err() {
        return Err(SpawnError::NoRuntime);
    }
    if !proc::children_are_listed() {
        return Err(SpawnError::NoProcessList);
    }
    strays::reap_unwatched();

    let (life_end, life) = pipe()?;
    let (status, status_end) = pipe()?;
    let ends = Ends {
        life: life_end.as_raw_fd(),
        status: status_end.as_raw_fd(),
        // Open until the command runs, as `spec` owns it.
        domain: spec.domain.as_deref().map(Domain::raw),
    };
    let mut reaper = Reaper::new(strays::listed(|| {
        start(spec, output_end, errors_end, ends)
    })?);
    // From here on only the reaper holds its ends.
    drop((life_end, status_end));

    let pidfd = Arc::new(pidfd_open(reaper.pid(), PidfdFlags::empty()).map_err(io::Error::from)?);
    if let Report::Refused(error) = first_report(&status, &pidfd)? {
        reaper.wait_idle();
        return Err(refused(spec, io::Error::from_raw_os_error(error)));
    }
    let output = Receiver::from_owned_fd(output)?;
    let status = Receiver::from_owned_fd(status)?;
    let process = watch::start(reaper, pidfd, status, life)?;
    Ok(Running {
        output: Output::new(output),
        process,
    })
}

/// Waits until the command is executed or can't be.
fn first_report(status: &OwnedFd, pidfd: &OwnedFd) -> io::Result<Report> {
    let mut record = [0; Report::SIZE];
    loop {
        let mut wanted = [PollFd::new(status, PollFlags::IN)];
        match rustix::event::poll(&mut wanted, Some(&STOPPED_AFTER)) {
            // The command may have stopped its reaper before that could say a word.
            Ok(0) => _ = pidfd_send_signal(pidfd, Signal::CONT),
            Ok(_) => break,
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    match rustix::io::read(status, &mut record)? {
        Report::SIZE => Ok(Report::from_bytes(record)),
        // Or killed it, which is found out in the same way as later on.
        _ => Ok(Report::Started),
    }
}

fn pipe() -> Result<(OwnedFd, OwnedFd), io::Error> {
    Ok(pipe_with(PipeFlags::CLOEXEC)?)
}

/// Takes the writing ends of the output so that no copy of them outlives this call.
fn start(
    spec: &CommandSpec,
    output: OwnedFd,
    errors: OwnedFd,
    ends: Ends,
) -> Result<Child, SpawnError> {
    let name = spec.argv.first().ok_or(SpawnError::NoProgram)?;
    let program = program(spec).map_err(io::Error::from)?;
    // The standard library forks, opens the standard descriptors, enters the directory and
    // reports errors up to there. It executes nothing itself: `split` doesn't return.
    let mut command = Command::new(name);
    command
        .current_dir(&spec.cwd)
        .stdin(Stdio::null())
        .stdout(Stdio::from(output))
        .stderr(Stdio::from(errors));
    sys::after_fork(&mut command, move || reaper::split(ends, &program));
    command.spawn().map_err(|source| refused(spec, source))
}

fn program(spec: &CommandSpec) -> Result<Program, NulError> {
    let argv = spec
        .argv
        .iter()
        .map(|argument| CString::new(argument.as_bytes()));
    let env = spec
        .env
        .iter()
        .map(|(name, value)| CString::new([name.as_bytes(), b"=", value.as_bytes()].concat()));
    Ok(Program::new(
        candidates(spec)?,
        argv.collect::<Result<_, _>>()?,
        env.collect::<Result<_, _>>()?,
    ))
}

/// Where a program may be: in the folders of `PATH`, unless its name says where.
fn candidates(spec: &CommandSpec) -> Result<Vec<CString>, NulError> {
    let name = spec.argv.first().map_or(&b""[..], |name| name.as_bytes());
    if name.is_empty() || name.contains(&b'/') {
        return Ok(vec![CString::new(name)?]);
    }
    let path = spec.env.iter().rev().find(|(name, _)| name == "PATH");
    let path = path.map_or(DEFAULT_PATH, |(_, path)| path.as_bytes());
    let folders = path.split(|byte| *byte == b':').map(|folder| match folder {
        b"" => b".",
        folder => folder,
    });
    folders
        .map(|folder| CString::new([folder, b"/", name].concat()))
        .collect()
}

/// The system reports one error for either; which it was shows when the directory is looked at.
fn refused(spec: &CommandSpec, source: io::Error) -> SpawnError {
    let program = spec.argv.first().cloned().unwrap_or_default();
    match rustix::fs::access(spec.cwd.join("."), Access::EXEC_OK) {
        Ok(()) => SpawnError::Exec {
            program: program.clone(),
            source,
        },
        Err(refusal) => SpawnError::Cwd {
            cwd: spec.cwd.clone(),
            source: refusal.into(),
        },
    }
}
