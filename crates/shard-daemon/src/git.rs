//! Git, as the daemon runs it: the one place that does.
//!
//! A repository may be anybody's. What it configures is not executed: no hook, no monitor of files,
//! no filter of its own, no transport, and nothing is fetched. What the user's own configuration
//! names counts as ever. Each call is an argument list, has a deadline and a bound on what it may
//! print, and ends with all that it started, also when the daemon is killed.
//!
//! What git says in an error is kept without paths, as clients hear it.

mod environment;
mod said;

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use shard_process::{CommandSpec, Exit, Output, Running, SpawnError, spawn_with_errors};
use tokio::sync::OnceCell;
use tokio::time::timeout;

use environment::Guards;
use said::{complaint, without_paths};

/// The oldest git that knows all that is asked of it here.
const OLDEST: (u32, u32) = (2, 36);

/// How long a question may take.
const QUESTION: Duration = Duration::from_secs(30);

/// How long it may take to write or to look through a whole worktree.
const WORK: Duration = Duration::from_secs(300);

/// Most that is read of what a call prints, in bytes: a large repository's list of files.
const MOST_OUTPUT: usize = 64 << 20;

/// Most that is kept of what a call complains about, in bytes.
const MOST_ERRORS: usize = 16 << 10;

/// Why git did not do as it was told.
#[derive(Debug, thiserror::Error)]
pub(crate) enum GitError {
    #[error("git was not found; install it, or have PATH name its folder when the daemon starts")]
    Missing,
    #[error(
        "{found} is too old for worktrees; install git {}.{} or newer",
        OLDEST.0,
        OLDEST.1
    )]
    TooOld { found: String },
    #[error("git {what}: {said}")]
    Refused { what: String, said: String },
    #[error("git {what} took longer than {} s and was ended; try again", patience.as_secs())]
    TooSlow { what: String, patience: Duration },
    #[error("git {what} printed more than {MOST_OUTPUT} bytes; the repository is too large")]
    TooMuch { what: String },
    #[error("git {what} could not be started: {source}")]
    Start { what: String, source: io::Error },
}

/// What a call came to.
struct Done {
    exit: Exit,
    output: Vec<u8>,
    errors: Vec<u8>,
}

/// The program, and what it is run with.
#[derive(Debug)]
pub(crate) struct Git {
    environment: Vec<(OsString, OsString)>,
    /// Set once its version was found to be fit.
    fit: OnceCell<()>,
}

impl Git {
    /// Git as it is found from this environment, of which only a few variables count.
    pub(crate) fn new(environment: &[(OsString, OsString)]) -> Self {
        Self {
            environment: environment::passed_on(environment),
            fit: OnceCell::new(),
        }
    }

    /// Git in a folder.
    pub(crate) fn at(&self, folder: &Path) -> Place<'_> {
        Place {
            git: self,
            folder: folder.to_owned(),
            git_dir: None,
        }
    }

    /// Git in a worktree whose own folder in the repository is known, whatever its `.git` says.
    pub(crate) fn in_worktree(&self, folder: &Path, git_dir: &Path) -> Place<'_> {
        Place {
            git_dir: Some(git_dir.to_owned()),
            ..self.at(folder)
        }
    }

    async fn check_version(&self, place: &Place<'_>) -> Result<(), GitError> {
        let check = async || {
            let done = self
                .run(place, &["version".into()], QUESTION, &Guards::new())
                .await?;
            let found = String::from_utf8_lossy(&done.output).trim().to_owned();
            let numbers = found.strip_prefix("git version ").unwrap_or_default();
            let mut numbers = numbers.split('.').map(|it| it.parse::<u32>().unwrap_or(0));
            let version = (
                numbers.next().unwrap_or(0),
                numbers.next().unwrap_or_default(),
            );
            match version >= OLDEST {
                true => Ok(()),
                false => Err(GitError::TooOld { found }),
            }
        };
        self.fit.get_or_try_init(check).await.copied()
    }

    async fn run(
        &self,
        place: &Place<'_>,
        args: &[OsString],
        patience: Duration,
        guards: &Guards,
    ) -> Result<Done, GitError> {
        let what = args.first().map(|it| it.to_string_lossy().into_owned());
        let what = what.unwrap_or_default();
        let argv = std::iter::once("git".into()).chain(args.iter().cloned());
        let spec = CommandSpec {
            argv: argv.collect(),
            cwd: place.folder.clone(),
            env: place.variables(guards),
            domain: None,
        };
        // It waits until the program is executed.
        let started = tokio::task::spawn_blocking(move || spawn_with_errors(&spec)).await;
        let (running, mut errors) = match started {
            Ok(Ok(started)) => started,
            Ok(Err(error)) => return Err(not_started(what, error)),
            Err(error) => {
                let source = io::Error::other(error);
                return Err(GitError::Start { what, source });
            }
        };
        let Running {
            mut output,
            mut process,
        } = running;
        let listening = async {
            tokio::join!(
                read(&mut output, MOST_OUTPUT),
                read(&mut errors, MOST_ERRORS),
                process.exited()
            )
        };
        let outcome = match timeout(patience, listening).await {
            Ok((Some(output), errors, exit)) => Ok(Done {
                exit,
                output,
                errors: errors.unwrap_or_else(|| b"fatal: it complained at length".to_vec()),
            }),
            Ok((None, ..)) => Err(GitError::TooMuch { what }),
            Err(_) => Err(GitError::TooSlow { what, patience }),
        };
        process.end().await;
        outcome
    }
}

/// Where git is run.
#[derive(Debug)]
pub(crate) struct Place<'a> {
    git: &'a Git,
    folder: PathBuf,
    git_dir: Option<PathBuf>,
}

impl Place<'_> {
    /// Asks git something; gives what it prints.
    pub(crate) async fn ask<A: AsRef<OsStr>>(&self, args: &[A]) -> Result<Vec<u8>, GitError> {
        self.git.check_version(self).await?;
        let args = owned(args);
        let done = self.git.run(self, &args, QUESTION, &Guards::new()).await?;
        succeeded(&args, done)
    }

    /// The same, of a single text.
    pub(crate) async fn text<A: AsRef<OsStr>>(&self, args: &[A]) -> Result<String, GitError> {
        Ok(text(&self.ask(args).await?))
    }

    /// Asks git for something that there may not be: `None` if it says so by its exit code 1.
    pub(crate) async fn find<A: AsRef<OsStr>>(
        &self,
        args: &[A],
    ) -> Result<Option<String>, GitError> {
        self.git.check_version(self).await?;
        let args = owned(args);
        let done = self.git.run(self, &args, QUESTION, &Guards::new()).await?;
        match done.exit {
            Exit::Code(1) => Ok(None),
            _ => succeeded(&args, done).map(|output| Some(text(&output))),
        }
    }

    /// Has git write something, or look through a worktree.
    pub(crate) async fn work<A: AsRef<OsStr>>(&self, args: &[A]) -> Result<Vec<u8>, GitError> {
        self.git.check_version(self).await?;
        let guards = self.guards().await?;
        let args = owned(args);
        let done = self.git.run(self, &args, WORK, &guards).await?;
        succeeded(&args, done)
    }
}

fn owned<A: AsRef<OsStr>>(args: &[A]) -> Vec<OsString> {
    args.iter().map(|it| it.as_ref().to_owned()).collect()
}

fn text(output: &[u8]) -> String {
    let output = output.strip_suffix(b"\n").unwrap_or(output);
    String::from_utf8_lossy(output).into_owned()
}

fn succeeded(args: &[OsString], done: Done) -> Result<Vec<u8>, GitError> {
    if done.exit == Exit::Code(0) {
        return Ok(done.output);
    }
    let what = args.first().map(|it| it.to_string_lossy().into_owned());
    let said = String::from_utf8_lossy(&done.errors);
    tracing::debug!(?args, exit = ?done.exit, %said, "git refused");
    Err(GitError::Refused {
        what: what.unwrap_or_default(),
        said: without_paths(&complaint(&said, done.exit)),
    })
}

fn not_started(what: String, error: SpawnError) -> GitError {
    match error {
        SpawnError::Exec { source, .. } if source.kind() == io::ErrorKind::NotFound => {
            GitError::Missing
        }
        SpawnError::Exec { source, .. } | SpawnError::Setup(source) => {
            GitError::Start { what, source }
        }
        SpawnError::Cwd { source, .. } => GitError::Refused {
            what,
            said: format!("its folder cannot be entered: {source}"),
        },
        other => GitError::Start {
            what,
            source: io::Error::other(other),
        },
    }
}

/// All that is printed; `None` if that is more than `most`, of which the rest is thrown away.
async fn read(output: &mut Output, most: usize) -> Option<Vec<u8>> {
    let (mut all, mut whole) = (Vec::new(), true);
    let mut part = vec![0; 16 << 10];
    while let Ok(length @ 1..) = output.read(&mut part).await {
        whole &= all.len() + length <= most;
        if whole {
            all.extend_from_slice(&part[..length]);
        }
    }
    whole.then_some(all)
}

/// A repository, whichever of its worktrees it was found from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Repository {
    /// The git folder that all worktrees share, links resolved.
    pub(crate) common: PathBuf,
    /// The root of its main checkout; a bare one has none.
    pub(crate) root: Option<PathBuf>,
}

impl Git {
    /// The repository that a folder belongs to.
    ///
    /// # Errors
    /// [`GitError::Refused`] if it belongs to none.
    pub(crate) async fn repository(&self, folder: &Path) -> Result<Repository, GitError> {
        let place = self.at(folder);
        let path = async |args: &[&str]| {
            let output = place.ask(args).await?;
            let output = output.strip_suffix(b"\n").unwrap_or(&output);
            let path = Path::new(OsStr::from_bytes(output));
            Ok(path.canonicalize().unwrap_or_else(|_| path.to_owned()))
        };
        let common = path(&["rev-parse", "--path-format=absolute", "--git-common-dir"]).await?;
        let root = if common.file_name() == Some(OsStr::new(".git")) {
            common.parent().map(Path::to_owned)
        } else {
            let own = path(&["rev-parse", "--absolute-git-dir"]).await?;
            let inside = place.text(&["rev-parse", "--is-inside-work-tree"]).await?;
            match own == common && inside == "true" {
                true => Some(path(&["rev-parse", "--show-toplevel"]).await?),
                false => None,
            }
        };
        Ok(Repository { common, root })
    }
}

#[cfg(test)]
mod tests;
