//! What the model is told when a command failed because of what it is confined to: the system's
//! own words ("Permission denied") would send it looking for the cause elsewhere.

use std::path::Path;

/// How programs say that the system refused a file.
const FILE_REFUSED: [&str; 7] = [
    "permission denied",
    "eacces",
    "os error 13",
    "read-only file system",
    "cross-device link",
    "exdev",
    "not writable",
];

/// How programs say that the system refused a signal, a socket or a mount.
const ACT_REFUSED: [&str; 4] = [
    "operation not permitted",
    "eperm",
    "os error 1)",
    "errno 1]",
];

/// What the command was confined to.
pub(super) struct Bounds<'a> {
    pub(super) cwd: &'a Path,
    /// Where it could write; empty if no file was restricted.
    pub(super) writable: Vec<&'a Path>,
    /// The common folder of the worktree's repository.
    pub(super) git: Option<&'a Path>,
    /// Whether signals stay inside.
    pub(super) signals: bool,
}

/// The notes to add to a result, most often none.
pub(super) fn explain(
    command: &str,
    output: &str,
    failed: bool,
    bounds: Option<&Bounds<'_>>,
) -> Vec<String> {
    let mut notes = Vec::new();
    if failed && runs(command, &["sudo", "su", "doas", "pkexec"]) {
        notes.push(
            "[`sudo` and its like cannot work here: what an agent starts never gains rights. A person can run it]"
                .to_owned(),
        );
    }
    let Some(bounds) = bounds else { return notes };
    if !bounds.writable.is_empty() {
        notes.extend(bounds.explain_files(output, failed));
    }
    let kills = ["kill", "pkill", "killall", "fuser"];
    if bounds.signals && runs(command, &kills) && says(output, &ACT_REFUSED) {
        notes.push(
            "[confined: signals reach only what the same call has started. What an earlier call left running is \
             ended by giving its pid as `end`]"
                .to_owned(),
        );
    }
    notes
}

impl Bounds<'_> {
    fn explain_files(&self, output: &str, failed: bool) -> Option<String> {
        let refused = output.lines().filter(|line| says(line, &FILE_REFUSED));
        let guilty = refused
            .map(|line| self.blames(line))
            .filter(|place| match place {
                Place::Git | Place::Outside => true,
                Place::Unnamed => failed,
                Place::Inside => false,
            });
        let git = match guilty.min()? {
            Place::Git => {
                ". From here git cannot change the repository's configuration and hooks, delete or pack references, \
                 collect garbage, or do what else needs new files directly in the folder that all worktrees share; \
                 a CHERRY_PICK_HEAD, REVERT_HEAD or the like that it could not take away can be removed with `rm` \
                 from where `git rev-parse --git-dir` says"
            }
            _ => "",
        };
        Some(format!(
            "[confined: commands can write only below {}, to temporary folders ($TMPDIR), to the caches of usual \
             tools, and to what `sandbox.write` in Shard's configuration names{git}. If writing elsewhere is needed, \
             a person can add the folder there]",
            self.cwd.display()
        ))
    }

    /// What a line that tells of a refusal says it was about.
    fn blames(&self, line: &str) -> Place {
        let separators = |c: char| c.is_whitespace() || "'\"`‘’“”:,;()[]<>=".contains(c);
        let words = line.split(separators).filter(|word| !word.is_empty());
        let named = words
            .filter(|word| word.contains('/') || self.cwd.join(word).symlink_metadata().is_ok())
            .filter_map(|word| crate::paths::resolve(self.cwd, word).ok());
        let place = |real: std::path::PathBuf| {
            if self.writable.iter().any(|place| real.starts_with(place)) {
                Place::Inside
            } else if self.git.is_some_and(|git| real.starts_with(git)) {
                Place::Git
            } else {
                Place::Outside
            }
        };
        named.map(place).min().unwrap_or(Place::Unnamed)
    }
}

/// The first of these that applies is what counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Place {
    Git,
    Outside,
    Inside,
    Unnamed,
}

fn says(text: &str, words: &[&str]) -> bool {
    let text = text.to_ascii_lowercase();
    words.iter().any(|word| text.contains(word))
}

fn runs(command: &str, programs: &[&str]) -> bool {
    command
        .split(|c: char| c.is_whitespace() || ";|&()`$".contains(c))
        .any(|word| programs.contains(&word.rsplit('/').next().unwrap_or(word)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn notes(command: &str, output: &str, failed: bool) -> String {
        let bounds = Bounds {
            cwd: Path::new("/w/tree"),
            writable: vec![Path::new("/w/tree"), Path::new("/w/main/.git/objects")],
            git: Some(Path::new("/w/main/.git")),
            signals: true,
        };
        explain(command, output, failed, Some(&bounds)).join("\n")
    }

    #[test]
    fn a_refusal_is_explained_where_confinement_can_be_its_cause() {
        let confined = |output: &str, failed, want: bool| {
            let notes = notes("x", output, failed);
            assert_eq!(
                notes.starts_with("[confined: commands can write"),
                want,
                "{output}: {notes}"
            );
            assert_eq!(notes.is_empty(), !want, "{output}: {notes}");
        };
        confined("bash: line 1: /etc/x: Permission denied", true, true);
        confined("bash: line 1: /etc/x: Permission denied", false, true);
        confined("touch: cannot touch '../x': Permission denied", true, true);
        confined(
            "mkdir: cannot create directory ‘/opt/x’: Permission denied",
            true,
            true,
        );
        confined(
            "Error: EACCES: permission denied, mkdir '/usr/lib/x'",
            true,
            true,
        );
        confined("error: Permission denied (os error 13)", true, true);
        confined("error: Permission denied (os error 13)", false, false);
        confined("bash: ./run.sh: Permission denied", true, false);
        confined("cat: /w/tree/secret: Permission denied", true, false);
        confined("all is well in /etc", true, false);
    }

    #[test]
    fn git_sudo_and_signals_have_words_of_their_own() {
        let lock = "error: Unable to create '/w/main/.git/packed-refs.lock': Permission denied";
        assert!(notes("git branch -d x", lock, true).contains("From here git cannot"));
        assert!(!notes("x", "/etc/x: Permission denied", true).contains("From here git cannot"));
        assert!(
            notes(
                "echo | sudo -n true",
                "sudo: the \"no new privileges\" flag is set",
                true
            )
            .contains("`sudo`")
        );
        assert_eq!(notes("sudo true", "", false), "");
        assert_eq!(notes("echo pseudosudo", "", true), "");
        let kill = notes(
            "kill 12",
            "bash: kill: (12) - Operation not permitted",
            true,
        );
        assert!(kill.contains("as `end`"), "{kill}");
        assert_eq!(
            notes("chown x y", "chown: y: Operation not permitted", true),
            ""
        );
    }

    #[test]
    fn what_is_not_confined_is_not_explained() {
        let output = "/etc/x: Permission denied";
        assert!(explain("x", output, true, None).is_empty());
        let bounds = Bounds {
            cwd: Path::new("/w"),
            writable: Vec::new(),
            git: None,
            signals: false,
        };
        assert!(explain("kill 1", output, true, Some(&bounds)).is_empty());
    }
}
