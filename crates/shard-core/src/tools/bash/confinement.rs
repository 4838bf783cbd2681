//! Where the commands of one agent may write, and the domain that sees to it.

use std::ffi::OsString;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use shard_config::SandboxMode;
use shard_process::{Domain, Landlock};
use shard_types::time::now_ms;

use super::environment::{Environment, lookup};
use super::git_folders::{self, GitFolders};
use super::writable::{Found, without_links};
use super::{blocked, caches};
use crate::own_folders::OwnFolders;

/// Devices that commands write to.
const DEVICES: [&str; 7] = [
    "/dev/null",
    "/dev/zero",
    "/dev/full",
    "/dev/tty",
    "/dev/ptmx",
    "/dev/pts",
    "/dev/shm",
];

/// Where temporary files are if nothing says otherwise.
const TEMP: &str = "/tmp";

/// What confinement is made from.
pub struct Sandbox {
    /// Whether commands are confined.
    pub mode: SandboxMode,
    /// The home directory, in which tools keep their caches.
    pub home: Option<PathBuf>,
    /// Further places to write to.
    pub write: Vec<PathBuf>,
    /// Shard's configuration, which stays closed.
    pub config_dir: PathBuf,
    /// Shard's state, which stays closed but for managed worktrees.
    pub state_home: PathBuf,
}

/// The confinement of one agent's commands.
pub(super) struct Confinement {
    sandbox: Sandbox,
    kernel: Landlock,
    /// What stays closed.
    own: OwnFolders,
    /// What was found for the first command, and kept as long as it is the same. The lock is held
    /// while places are looked at, never while a command runs.
    prepared: Mutex<Option<Prepared>>,
}

/// What holds for commands in one working folder.
struct Prepared {
    cwd: PathBuf,
    /// The agent's own folder for temporary files, removed with it.
    temp: Option<tempfile::TempDir>,
    git: Option<GitFolders>,
    /// All places, with no link in any of them.
    places: Vec<PathBuf>,
    /// What of them could be opened when the domain was made.
    found: Found,
    domain: Option<Arc<Domain>>,
}

/// What a command starts with.
pub(super) struct Start {
    pub(super) domain: Option<Arc<Domain>>,
    pub(super) environment: Vec<(OsString, OsString)>,
}

impl Confinement {
    pub(super) fn new(sandbox: Sandbox) -> Self {
        Self {
            own: OwnFolders::new(&sandbox.config_dir, &sandbox.state_home),
            kernel: Landlock::here(),
            prepared: Mutex::default(),
            sandbox,
        }
    }

    #[cfg(test)]
    pub(super) fn sandbox_mut(&mut self) -> &mut Sandbox {
        &mut self.sandbox
    }

    /// What a command starts with, or why none may start.
    pub(super) fn start(&self, cwd: &Path, environment: &Environment) -> Result<Start, String> {
        let missing = self.kernel.missing();
        let restricts_files = match self.sandbox.mode {
            SandboxMode::On if !missing.is_empty() => {
                return Err(format!(
                    "not run: the configuration demands confinement (`sandbox.mode` is \"on\"), and this kernel \
                     cannot {}; a person can set it to \"auto\"",
                    missing.join(", nor ")
                ));
            }
            SandboxMode::On | SandboxMode::Auto => self.kernel.version().is_some(),
            SandboxMode::Off => false,
        };
        let mut prepared = self.prepared.lock().unwrap_or_else(PoisonError::into_inner);
        if prepared.as_ref().is_none_or(|prepared| prepared.cwd != cwd) {
            *prepared = Some(if restricts_files {
                self.find(cwd, environment.variables())
            } else {
                Prepared::hiding(cwd).map_err(refused)?
            });
        }
        let Some(prepared) = &mut *prepared else {
            return Err("not run: no confinement could be prepared".to_owned());
        };
        if restricts_files {
            prepared.refresh(&self.own).map_err(refused)?;
        }
        Ok(Start {
            domain: prepared.domain.clone(),
            environment: match &prepared.temp {
                Some(temp) => environment.with("TMPDIR", temp.path().as_os_str()),
                None => environment.variables().to_vec(),
            },
        })
    }

    /// What the model is to know of a command's failure beside its output.
    pub(super) fn explain(&self, command: &str, output: &str, failed: bool) -> Vec<String> {
        let prepared = self.prepared.lock().unwrap_or_else(PoisonError::into_inner);
        let bounds = prepared.as_ref().map(|prepared| blocked::Bounds {
            cwd: &prepared.cwd,
            writable: prepared
                .found
                .opened
                .iter()
                .map(|opened| &*opened.path)
                .collect(),
            git: prepared.git.as_ref().map(|git| &*git.common),
            signals: prepared.domain.is_some() && self.kernel.missing().is_empty(),
        });
        blocked::explain(command, output, failed, bounds.as_ref())
    }

    fn find(&self, cwd: &Path, variables: &[(OsString, OsString)]) -> Prepared {
        let temp = lookup(variables, "TMPDIR").map(PathBuf::from);
        let temp = temp.filter(|temp| temp.is_absolute());
        let temp = own_temp(temp.as_deref().unwrap_or(Path::new(TEMP)));
        let git = git_folders::outside(cwd);
        let named = DEVICES
            .iter()
            .map(PathBuf::from)
            .chain([PathBuf::from(TEMP)]);
        let places = std::iter::once(cwd.to_owned())
            .chain(temp.as_ref().map(|temp| temp.path().to_owned()))
            .chain(named)
            .chain(caches::find(variables, self.sandbox.home.as_deref()))
            .chain(self.sandbox.write.iter().cloned());
        let mut places = without_links(&places.collect::<Vec<_>>());
        places.extend(git.iter().flat_map(|git| git.writable.iter().cloned()));
        Prepared {
            cwd: cwd.to_owned(),
            temp,
            git,
            places,
            found: Found::default(),
            domain: None,
        }
    }
}

fn refused(error: std::io::Error) -> String {
    format!("not run: the command cannot be confined: {error}")
}

fn own_temp(folder: &Path) -> Option<tempfile::TempDir> {
    tempfile::Builder::new()
        .prefix("shard-agent-")
        .permissions(PermissionsExt::from_mode(0o700))
        .tempdir_in(folder)
        .ok()
}

impl Prepared {
    /// What holds where no file is restricted.
    fn hiding(cwd: &Path) -> std::io::Result<Self> {
        Ok(Self {
            cwd: cwd.to_owned(),
            temp: None,
            git: None,
            places: Vec::new(),
            found: Found::default(),
            domain: Domain::hiding_only()?.map(Arc::new),
        })
    }

    /// Makes the domain, unless everything is as it was when that was done last.
    fn refresh(&mut self, own: &OwnFolders) -> std::io::Result<()> {
        if self.domain.is_some() && self.found.holds(&self.places) {
            return Ok(());
        }
        let clock = Duration::from_millis(now_ms());
        let now = Found::look(&self.places, own, &self.cwd, clock);
        if self.domain.is_none() || now.opened != self.found.opened {
            let paths = now.opened.iter().map(|opened| &*opened.path);
            self.domain = Domain::writing_only(paths)?.map(Arc::new);
        }
        self.found = now;
        Ok(())
    }
}
