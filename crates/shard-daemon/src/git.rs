//! Git, as the daemon runs it: the one place that does.
//!
//! A repository may be anybody's. What it configures is not executed: no hook, no monitor of files,
//! no filter of its own, no transport, and nothing is fetched. What the user's own configuration
//! names counts as ever. Each call is an argument list, has a deadline and a bound on what it may
//! print, and ends with all that it started, also when the daemon is killed.
//!
//! What git says in an error is kept without paths, as clients hear it.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use shard_process::{CommandSpec, Exit, Output, Running, SpawnError, spawn_with_errors};
use tokio::sync::OnceCell;
use tokio::time::timeout;

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

/// Most filters of a repository that are turned off; more are no repository to work in.
const MOST_GUARDS: usize = 1000;

/// What git needs of the daemon's own environment. All else, `GIT_*` above all, stays out.
const PASSED_ON: [&str; 6] = [
    "PATH",
    "HOME",
    "XDG_CONFIG_HOME",
    "USER",
    "LOGNAME",
    "TMPDIR",
];

/// Nobody is asked, nothing is fetched or replaced, no index is written on the side.
const FIXED: [(&str, &str); 9] = [
    ("LC_ALL", "C"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("GIT_OPTIONAL_LOCKS", "0"),
    ("GIT_NO_LAZY_FETCH", "1"),
    ("GIT_ALLOW_PROTOCOL", "none"),
    ("GIT_NO_REPLACE_OBJECTS", "1"),
    ("GIT_GRAFT_FILE", "/dev/null"),
    ("GIT_PAGER", "cat"),
    ("GIT_EDITOR", "false"),
];

/// Stronger than what any file configures.
const CONFIGURED: [(&str, &str); 9] = [
    ("core.hooksPath", "/dev/null"),
    ("core.fsmonitor", "false"),
    ("core.untrackedCache", "false"),
    // A graph of commits that lies would prove what is not so.
    ("core.commitGraph", "false"),
    ("core.sshCommand", "false"),
    ("submodule.recurse", "false"),
    ("log.showSignature", "false"),
    ("gc.auto", "0"),
    ("maintenance.auto", "false"),
];

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
        let passed_on = environment
            .iter()
            .filter(|(name, _)| PASSED_ON.iter().any(|it| name == it));
        let checked = passed_on.map(|(name, value)| match name == "PATH" {
            true => (name.clone(), absolute(value)),
            false => (name.clone(), value.clone()),
        });
        Self {
            environment: checked.collect(),
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
            let done = self.run(place, &["version".into()], QUESTION, &[]).await?;
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
        guards: &[(OsString, &'static str)],
    ) -> Result<Done, GitError> {
        let what = args.first().map(|it| it.to_string_lossy().into_owned());
        let what = what.unwrap_or_default();
        let argv = std::iter::once("git".into()).chain(args.iter().cloned());
        let spec = CommandSpec {
            argv: argv.collect(),
            cwd: place.folder.clone(),
            env: self.variables(place, guards),
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

    fn variables(
        &self,
        place: &Place<'_>,
        guards: &[(OsString, &'static str)],
    ) -> Vec<(OsString, OsString)> {
        let mut variables = self.environment.clone();
        let mut set = |name: String, value: &OsStr| variables.push((name.into(), value.to_owned()));
        for (name, value) in FIXED {
            set(name.to_owned(), value.as_ref());
        }
        if let Some(git_dir) = &place.git_dir {
            set("GIT_DIR".to_owned(), git_dir.as_os_str());
            set("GIT_WORK_TREE".to_owned(), place.folder.as_os_str());
        }
        let fixed = CONFIGURED.map(|(key, value)| (OsString::from(key), value));
        let all: Vec<_> = fixed.iter().chain(guards).collect();
        set(
            "GIT_CONFIG_COUNT".to_owned(),
            all.len().to_string().as_ref(),
        );
        for (index, (key, value)) in all.into_iter().enumerate() {
            set(format!("GIT_CONFIG_KEY_{index}"), key);
            set(format!("GIT_CONFIG_VALUE_{index}"), value.as_ref());
        }
        variables
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
        let done = self.git.run(self, &args, QUESTION, &[]).await?;
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
        let done = self.git.run(self, &args, QUESTION, &[]).await?;
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

    /// What turns off the programs that the repository's own configuration names for work on
    /// files and for hooks. Others than these are not run by what is asked of git here.
    async fn guards(&self) -> Result<Vec<(OsString, &'static str)>, GitError> {
        let list = [
            "config",
            "--list",
            "--show-scope",
            "--name-only",
            "--includes",
            "-z",
        ];
        let output = self.ask(&list).await?;
        let mut fields = output.split(|byte| *byte == 0);
        let mut named = BTreeSet::new();
        while let (Some(scope), Some(key)) = (fields.next(), fields.next()) {
            let end = key.iter().rposition(|byte| *byte == b'.').unwrap_or(0);
            let section = &key[..end];
            let runs = section.starts_with(b"filter.") || section.starts_with(b"hook.");
            if runs && (scope == b"local" || scope == b"worktree") {
                named.insert(section.to_vec());
            }
        }
        if named.len() > MOST_GUARDS {
            let said = format!("the repository configures more than {MOST_GUARDS} programs");
            let what = "config".to_owned();
            return Err(GitError::Refused { what, said });
        }
        let off = |section: Vec<u8>| {
            let values: &[(&str, &'static str)] = match section.starts_with(b"filter.") {
                true => &[
                    (".clean", ""),
                    (".smudge", ""),
                    (".process", ""),
                    (".required", "false"),
                ],
                false => &[(".enabled", "false"), (".command", "true")],
            };
            let key =
                move |name: &str| OsString::from_vec([&section[..], name.as_bytes()].concat());
            values
                .iter()
                .map(|(name, value)| (key(name), *value))
                .collect::<Vec<_>>()
        };
        Ok(named.into_iter().flat_map(off).collect())
    }
}

/// A `PATH` without what would be looked up in the repository itself.
fn absolute(path: &OsStr) -> OsString {
    let folders = std::env::split_paths(path).filter(|folder| folder.is_absolute());
    std::env::join_paths(folders).unwrap_or_default()
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

/// What matters of what git says.
fn complaint(said: &str, exit: Exit) -> String {
    if said.contains("dubious ownership") {
        return "the repository belongs to another user; if you trust it, name it with \
                `git config --global --add safe.directory`"
            .to_owned();
    }
    let lines = || said.lines().map(str::trim).filter(|line| !line.is_empty());
    let named = lines().find_map(|line| {
        let rest = line.strip_prefix("fatal: ");
        rest.or_else(|| line.strip_prefix("error: "))
    });
    match named.or_else(|| lines().next()) {
        Some(line) => line.chars().take(300).collect(),
        None => format!("it ended with {exit:?}"),
    }
}

/// The text with dots in the place of absolute paths.
fn without_paths(said: &str) -> String {
    let shown = |word: &str| {
        let bare = word.trim_start_matches(['\'', '"', '(']);
        match bare.starts_with('/') {
            true => format!("{}…", &word[..word.len() - bare.len()]),
            false => word.to_owned(),
        }
    };
    let words: Vec<String> = said.split(' ').map(shown).collect();
    words.join(" ")
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
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    /// A git that is this script. `version` it knows.
    fn git(folder: &Path, script: &str, more: &[(&str, &str)]) -> Git {
        let script = format!(
            "#!/bin/sh\nif [ \"$1\" = version ]; then echo git version 2.47.3; exit; fi\n{script}\n"
        );
        let program = folder.join("git");
        std::fs::write(&program, script).unwrap();
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
        let path = format!(".::rel:{}:/usr/bin:/bin", folder.display());
        let mut environment = vec![("PATH".into(), path.into())];
        environment.extend(more.iter().map(|(name, value)| (name.into(), value.into())));
        Git::new(&environment)
    }

    #[tokio::test]
    async fn its_environment_is_its_own_and_no_program_is_sought_in_the_repository() {
        let folder = tempfile::tempdir().unwrap();
        let more = [
            ("HOME", "/h"),
            ("GIT_DIR", "/x"),
            ("GIT_SSH_COMMAND", "x"),
            ("API_KEY", "x"),
            ("LD_PRELOAD", ""),
        ];
        let git = git(folder.path(), "env", &more);
        let seen = git.at(folder.path()).text(&["x"]).await.unwrap();
        let has = |line: &str| seen.lines().any(|it| it == line);
        let path = format!("PATH={}:/usr/bin:/bin", folder.path().display());
        assert!(has(&path) && has("HOME=/h") && has("LC_ALL=C"), "{seen}");
        assert!(has("GIT_TERMINAL_PROMPT=0"), "{seen}");
        for absent in ["GIT_DIR=", "GIT_SSH_COMMAND", "API_KEY", "LD_PRELOAD"] {
            assert!(!seen.contains(absent), "{absent}: {seen}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn what_takes_too_long_is_ended_with_all_that_it_started() {
        let folder = tempfile::tempdir().unwrap();
        let git = git(folder.path(), "sleep 1000 & echo $! > pid; wait", &[]);
        let error = git.at(folder.path()).ask(&["x"]).await.unwrap_err();
        assert!(matches!(error, GitError::TooSlow { .. }), "{error}");
        // It may have been ended before it came to that.
        if let Ok(pid) = std::fs::read_to_string(folder.path().join("pid")) {
            let state = std::fs::read_to_string(format!("/proc/{}/stat", pid.trim()));
            assert!(state.is_err(), "{state:?}");
        }
    }

    #[tokio::test]
    async fn what_prints_too_much_or_fails_is_told() {
        let folder = tempfile::tempdir().unwrap();
        let script = "case $1 in much) head -c 70000000 /dev/zero;; loud) head -c 100000 /dev/zero >&2; exit 3;; \
                      none) exit 1;; *) echo fatal: no /x >&2; exit 128;; esac";
        let git = git(folder.path(), script, &[]);
        let place = git.at(folder.path());
        let told = async |what: &str| place.ask(&[what]).await.unwrap_err().to_string();
        assert!(told("much").await.contains("too large"));
        assert_eq!(told("loud").await, "git loud: it complained at length");
        assert_eq!(told("other").await, "git other: no …");
        assert_eq!(place.find(&["none"]).await.unwrap(), None);
        assert!(place.find(&["other"]).await.is_err());
    }

    #[test]
    fn what_git_says_is_told_without_paths() {
        let said = |text: &str| without_paths(&complaint(text, Exit::Code(128)));
        assert_eq!(
            said("hint: x\nfatal: '/a/b/.git/worktrees/x' is locked: (/c) and a/b\nmore"),
            "'… is locked: (… and a/b"
        );
        assert_eq!(said("warning: y\n"), "warning: y");
        assert_eq!(said(""), "it ended with Code(128)");
        assert!(said("fatal: detected dubious ownership in /x").contains("safe.directory"));
    }
}
