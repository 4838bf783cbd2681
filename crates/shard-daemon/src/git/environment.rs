//! What git is run with: an environment of its own, and settings that are stronger than those of
//! any file.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStringExt;

use super::{GitError, Place};

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
const CONFIGURED: [(&str, &str); 14] = [
    ("core.hooksPath", "/dev/null"),
    ("core.fsmonitor", "false"),
    ("core.untrackedCache", "false"),
    // A graph of commits that lies would prove what is not so.
    ("core.commitGraph", "false"),
    // What would hide a changed file, or take one for another that is spelled almost like it.
    ("core.ignoreCase", "false"),
    ("core.ignoreStat", "false"),
    ("core.trustctime", "true"),
    ("core.checkStat", "default"),
    ("core.sshCommand", "false"),
    ("core.askPass", "false"),
    ("submodule.recurse", "false"),
    ("log.showSignature", "false"),
    ("gc.auto", "0"),
    ("maintenance.auto", "false"),
];

/// What is passed on of an environment.
pub(super) fn passed_on(environment: &[(OsString, OsString)]) -> Vec<(OsString, OsString)> {
    let passed_on = environment
        .iter()
        .filter(|(name, _)| PASSED_ON.iter().any(|it| name == it));
    let checked = passed_on.map(|(name, value)| match name == "PATH" {
        true => (name.clone(), absolute(value)),
        false => (name.clone(), value.clone()),
    });
    checked.collect()
}

/// A `PATH` without what would be looked up in the repository itself.
fn absolute(path: &OsStr) -> OsString {
    let folders = std::env::split_paths(path).filter(|folder| folder.is_absolute());
    std::env::join_paths(folders).unwrap_or_default()
}

/// Settings, and what they are set to.
pub(super) type Guards = Vec<(OsString, &'static str)>;

/// Whether Git LFS, which is the user's own filter, would run what is configured there.
fn is_run_by_lfs(section: &[u8], key: &[u8]) -> bool {
    let of_lfs = [&b"lfs.customtransfer."[..], b"lfs.extension."];
    of_lfs.iter().any(|it| section.starts_with(it))
        || section.starts_with(b"credential") && key.ends_with(b".helper")
}

impl Place<'_> {
    /// The whole environment of a call here.
    pub(super) fn variables(&self, guards: &Guards) -> Vec<(OsString, OsString)> {
        let mut variables = self.git.environment.clone();
        let mut set = |name: String, value: &OsStr| variables.push((name.into(), value.to_owned()));
        for (name, value) in FIXED {
            set(name.to_owned(), value.as_ref());
        }
        if let Some(git_dir) = &self.git_dir {
            set("GIT_DIR".to_owned(), git_dir.as_os_str());
            set("GIT_WORK_TREE".to_owned(), self.folder.as_os_str());
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

    /// What turns off the programs that the repository's own configuration names for work on
    /// files and for hooks. Others than these are not run by what is asked of git here.
    ///
    /// What is included may depend on the folder and the branch, so they are good for calls in the
    /// same place alone.
    pub(super) async fn guards(&self) -> Result<Guards, GitError> {
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
            if scope != b"local" && scope != b"worktree" {
                continue;
            }
            if runs {
                named.insert(section.to_vec());
            }
            if is_run_by_lfs(section, key) {
                named.insert(b"filter.lfs".to_vec());
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
