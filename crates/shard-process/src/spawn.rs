//! From a [`CommandSpec`] to a running command.

use std::ffi::OsString;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;

use rustix::fs::Access;
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{PidfdFlags, pidfd_open};
use tokio::net::unix::pipe::Receiver;
use tokio::runtime::Handle;

use crate::reaper::{self, Ends};
use crate::running::{Output, Running};
use crate::watch::{self, Reaper};
use crate::{proc, strays, sys};

/// What to start.
#[derive(Debug, Clone)]
pub struct CommandSpec {
    /// The program, looked up in the `PATH` of `env`, and its arguments.
    pub argv: Vec<OsString>,
    /// The directory to start in.
    pub cwd: PathBuf,
    /// The whole environment: nothing is inherited.
    pub env: Vec<(OsString, OsString)>,
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
    if Handle::try_current().is_err() {
        return Err(SpawnError::NoRuntime);
    }
    if !proc::children_are_listed() {
        return Err(SpawnError::NoProcessList);
    }
    strays::reap_unwatched();

    let (output, output_end) = pipe()?;
    let (life_end, life) = pipe()?;
    let (status, status_end) = pipe()?;
    let output = Receiver::from_owned_fd(output)?;
    let status = Receiver::from_owned_fd(status)?;
    let ends = Ends {
        life: life_end.as_raw_fd(),
        status: status_end.as_raw_fd(),
    };
    let child = strays::listed(|| start(spec, output_end, ends))?;
    // From here on only the reaper holds its ends.
    drop((life_end, status_end));

    let reaper = Reaper::new(child);
    let pidfd = Arc::new(pidfd_open(reaper.pid(), PidfdFlags::empty()).map_err(io::Error::from)?);
    let process = watch::start(reaper, pidfd, status, life)?;
    Ok(Running {
        output: Output::new(output),
        process,
    })
}

fn pipe() -> Result<(OwnedFd, OwnedFd), io::Error> {
    Ok(pipe_with(PipeFlags::CLOEXEC)?)
}

/// Takes the writing end of the output so that no copy of it outlives this call.
fn start(spec: &CommandSpec, output: OwnedFd, ends: Ends) -> Result<Child, SpawnError> {
    let (program, arguments) = spec.argv.split_first().ok_or(SpawnError::NoProgram)?;
    let mut command = Command::new(program);
    command
        .args(arguments)
        .current_dir(&spec.cwd)
        .env_clear()
        .envs(spec.env.iter().map(|(name, value)| (name, value)))
        .stdin(Stdio::null())
        .stdout(Stdio::from(output.try_clone()?))
        .stderr(Stdio::from(output));
    sys::after_fork(&mut command, move || reaper::split(ends));
    command
        .spawn()
        .map_err(|source| refused(spec, program, source))
}

/// The system reports one error for either; which it was shows when the directory is looked at.
fn refused(spec: &CommandSpec, program: &OsString, source: io::Error) -> SpawnError {
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
