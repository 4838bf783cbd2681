//! What git leaves out: the patterns of `.ignore`, `.gitignore`, `.git/info/exclude` and the
//! user's own file.
//!
//! Who made a repository chose what stands under these names, so they are read like any other
//! file: regular ones of reasonable size, and the rest is said to be skipped. That is why no
//! library reads them here.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};
use tokio_util::sync::CancellationToken;

use super::regular_file::{OpenError, read_start, read_text};
use super::visible;

/// The longest file of patterns, in bytes. Compiling takes some hundred times as much memory.
const FILE_BYTES: usize = 256 << 10;
/// Patterns taken from one file.
const PATTERNS: usize = 10_000;
/// Files of patterns that count at one place. A matcher may take some MiB, and a hostile tree is
/// as deep as a path can be long.
const FILES: usize = 64;
/// More than a path and what stands before it can have.
const LINK_BYTES: usize = 8 << 10;
/// Bytes of patterns that are compiled in one walk: seconds of work, and far more than a large
/// repository has.
const ALL_BYTES: usize = 8 << 20;
/// Skipped files named in a note.
const NAMED: usize = 3;

/// Which of the names that matter here stand in a folder.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Names {
    ignore: bool,
    git_ignore: bool,
    git: bool,
}

impl Names {
    /// Takes note of a name.
    pub(crate) fn see(&mut self, name: &[u8]) {
        match name {
            b".ignore" => self.ignore = true,
            b".gitignore" => self.git_ignore = true,
            b".git" => self.git = true,
            _ => {}
        }
    }

    /// Looks for them.
    fn of(folder: &Path) -> Self {
        let is_there = |name| folder.join(name).symlink_metadata().is_ok();
        Self {
            ignore: is_there(".ignore"),
            git_ignore: is_there(".gitignore"),
            git: is_there(".git"),
        }
    }
}

/// The patterns that count at one place of a walk.
pub(crate) struct Ignored {
    /// Outermost first; folders without patterns have none.
    levels: Vec<Level>,
    global: Gitignore,
    skipped: Vec<String>,
    more_skipped: u64,
    compiled: usize,
    cancel: CancellationToken,
}

struct Level {
    ignore: Gitignore,
    git_ignore: Gitignore,
    exclude: Gitignore,
    /// Git looks for no patterns above its repository.
    is_repository: bool,
}

impl Ignored {
    /// What counts in a folder because of those above it, and because of the user.
    pub(crate) fn above(folder: &Path, user: &UserFiles, cancel: CancellationToken) -> Self {
        let mut ignored = Self {
            levels: Vec::new(),
            global: Gitignore::empty(),
            skipped: Vec::new(),
            more_skipped: 0,
            compiled: 0,
            cancel,
        };
        let mut above = Vec::new();
        let mut repository = Names::of(folder).git.then_some(folder);
        for parent in folder.ancestors().skip(1) {
            let mut names = Names::of(parent);
            names.git_ignore &= repository.is_none();
            names.git &= repository.is_none();
            if names.git {
                repository = Some(parent);
            }
            above.push((parent, names));
        }
        ignored.global = ignored.read_global(user, repository.unwrap_or(folder));
        for (parent, names) in above.into_iter().rev() {
            ignored.enter(parent, names);
        }
        ignored
    }

    /// Goes into a folder. The result is what `leave` wants.
    pub(crate) fn enter(&mut self, folder: &Path, names: Names) -> usize {
        let depth = self.levels.len();
        if !(names.ignore || names.git_ignore || names.git) {
            return depth;
        }
        let mut read = |there: bool, name: &str| match there {
            true => self.read(&folder.join(name), folder),
            false => Gitignore::empty(),
        };
        let ignore = read(names.ignore, ".ignore");
        let git_ignore = read(names.git_ignore, ".gitignore");
        let exclude = match names.git {
            true => match self.git_folder(folder) {
                Some(git) => self.read(&git.join("info/exclude"), folder),
                None => Gitignore::empty(),
            },
            false => Gitignore::empty(),
        };
        self.levels.push(Level {
            ignore,
            git_ignore,
            exclude,
            is_repository: names.git,
        });
        depth
    }

    /// Goes back to where it was.
    pub(crate) fn leave(&mut self, depth: usize) {
        self.levels.truncate(depth);
    }

    /// Whether something right below the folder that was entered last is left out. The nearest
    /// file that says something decides; `.ignore` is stronger than what is git's.
    pub(crate) fn leaves_out(&self, path: &Path, is_folder: bool) -> bool {
        let mut found = [Match::None, Match::None, Match::None];
        let mut in_git = true;
        for level in self.levels.iter().rev() {
            let of_git =
                [&level.git_ignore, &level.exclude].map(|patterns| in_git.then_some(patterns));
            let all = [Some(&level.ignore), of_git[0], of_git[1]];
            for (found, patterns) in found.iter_mut().zip(all) {
                if let (Match::None, Some(patterns)) = (&found, patterns) {
                    *found = patterns.matched(path, is_folder);
                }
            }
            in_git &= !level.is_repository;
        }
        let [ignore, git_ignore, exclude] = found;
        ignore
            .or(git_ignore)
            .or(exclude)
            .or(self.global.matched(path, is_folder))
            .is_ignore()
    }

    /// What the user should know.
    pub(crate) fn note(&self) -> Option<String> {
        let more = match self.more_skipped {
            0 => String::new(),
            more => format!("; and {more} more"),
        };
        (!self.skipped.is_empty())
            .then(|| format!("patterns not used: {}{more}", self.skipped.join("; ")))
    }

    fn skip(&mut self, path: &Path, why: impl std::fmt::Display) {
        match self.skipped.len() < NAMED {
            true => self.skipped.push(format!(
                "{} {why}",
                visible::short(&visible::path(path), 200)
            )),
            false => self.more_skipped += 1,
        }
    }

    fn read_global(&mut self, user: &UserFiles, root: &Path) -> Gitignore {
        let named = user.configs.iter().find_map(|config| {
            let text = match read_text(config, FILE_BYTES) {
                Ok(text) => text,
                Err(OpenError::Missing) => return None,
                Err(error) => {
                    self.skip(config, error);
                    return None;
                }
            };
            user.excludes_file(&text)
        });
        match named.or_else(|| user.default.clone()) {
            Some(path) => self.read(&path, root),
            None => Gitignore::empty(),
        }
    }

    /// The folder that holds what all worktrees share: `.git`, or where a file of that name leads.
    fn git_folder(&mut self, folder: &Path) -> Option<PathBuf> {
        let git = folder.join(".git");
        if git.is_dir() {
            return Some(git);
        }
        let mut line = |path: &Path, key: &str| match read_text(path, LINK_BYTES) {
            Ok(text) => Some(text.lines().next()?.strip_prefix(key)?.trim().to_owned()),
            Err(OpenError::Missing) => None,
            Err(error) => {
                self.skip(path, error);
                None
            }
        };
        let own = folder.join(line(&git, "gitdir:")?);
        let common = line(&own.join("commondir"), "");
        Some(common.map_or_else(|| own.clone(), |common| own.join(common)))
    }

    fn read(&mut self, path: &Path, folder: &Path) -> Gitignore {
        // One file takes a moment to compile, so many take long.
        if self.cancel.is_cancelled() {
            return Gitignore::empty();
        }
        let open = self.levels.iter().map(Level::files).sum::<usize>();
        let read = match open >= FILES || self.compiled >= ALL_BYTES {
            true => Err("comes after too many others".to_owned()),
            false => read_patterns(path),
        };
        let compiled = read.and_then(|bytes| {
            self.compiled += bytes.len();
            compile(&bytes, folder)
        });
        compiled.unwrap_or_else(|why| {
            self.skip(path, why);
            Gitignore::empty()
        })
    }
}

impl Level {
    fn files(&self) -> usize {
        let all = [&self.ignore, &self.git_ignore, &self.exclude];
        all.iter().filter(|patterns| !patterns.is_empty()).count()
    }
}

fn read_patterns(path: &Path) -> Result<Vec<u8>, String> {
    match read_start(path, FILE_BYTES) {
        Ok(bytes) if bytes.len() <= FILE_BYTES => Ok(bytes),
        Ok(_) => Err(OpenError::TooLong(FILE_BYTES).to_string()),
        Err(OpenError::Missing) => Ok(Vec::new()),
        Err(error) => Err(error.to_string()),
    }
}

fn compile(bytes: &[u8], folder: &Path) -> Result<Gitignore, String> {
    let bytes = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes);
    let mut builder = GitignoreBuilder::new(folder);
    let lines = bytes.split(|byte| *byte == b'\n');
    let lines = lines.map(|line| line.strip_suffix(b"\r").unwrap_or(line));
    let lines = lines.filter(|line| !line.is_empty() && !line.starts_with(b"#"));
    for (nth, line) in lines.enumerate() {
        if nth == PATTERNS {
            return Err(format!("has more than {PATTERNS} patterns"));
        }
        // As with git, a line that is no pattern matches nothing, and the others count.
        if let Ok(line) = std::str::from_utf8(line) {
            _ = builder.add_line(None, line);
        }
    }
    builder
        .build()
        .map_err(|_| "has patterns that are too large".to_owned())
}

/// Where git keeps what a user wants left out everywhere.
#[derive(Debug, Default)]
pub(crate) struct UserFiles {
    home: Option<PathBuf>,
    /// May name the file; the first that does so decides.
    configs: Vec<PathBuf>,
    /// The file when none is named.
    default: Option<PathBuf>,
}

impl UserFiles {
    /// As the environment has it.
    pub(crate) fn of_environment() -> Self {
        Self::of(|name| std::env::var_os(name))
    }

    fn of(variable: impl Fn(&str) -> Option<OsString>) -> Self {
        let path = |name| {
            let value = variable(name).filter(|value| !value.is_empty());
            value.map(PathBuf::from)
        };
        let home = path("HOME");
        let below_home = |name| home.as_ref().map(|home| home.join(name));
        let config = path("XDG_CONFIG_HOME").or_else(|| below_home(".config"));
        let system = path("GIT_CONFIG_SYSTEM").unwrap_or_else(|| "/etc/gitconfig".into());
        let users = match path("GIT_CONFIG_GLOBAL") {
            Some(only) => [Some(only), None],
            None => [
                below_home(".gitconfig"),
                config.as_ref().map(|config| config.join("git/config")),
            ],
        };
        Self {
            configs: users.into_iter().flatten().chain([system]).collect(),
            default: config.map(|config| config.join("git/ignore")),
            home,
        }
    }

    /// The file that a configuration names. Sections are not told apart: no other has this key.
    fn excludes_file(&self, config: &str) -> Option<PathBuf> {
        let value = config.lines().find_map(|line| {
            let (key, value) = line.split_once('=')?;
            let is_it = key.trim().eq_ignore_ascii_case("excludesfile");
            is_it.then(|| value.trim().trim_matches('"').trim())
        })?;
        let path = match (value.strip_prefix("~/"), &self.home) {
            (Some(below), Some(home)) => home.join(below),
            _ => PathBuf::from(value),
        };
        (!value.is_empty()).then_some(path)
    }
}

#[cfg(test)]
mod tests;
