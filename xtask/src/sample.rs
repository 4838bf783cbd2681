//! A small repository to try an agent in: a script with a mistake, and a test that finds it.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::program;

const FILES: [(&str, &str); 3] = [
    (
        "README.md",
        "# Shopping cart\n\n\
         Adds up prices, one whole number a line:\n\n    \
         printf '2\\n3\\n' | bash src/cart.sh\n\n\
         `bash test.sh` runs the tests. One of them fails.\n",
    ),
    (
        "src/cart.sh",
        "# Reads prices, one a line, and prints their sum.\n\
         total() {\n  local price sum\n  while read -r price; do\n    \
         sum=$((sum + price))\n  done\n  echo \"$sum\"\n}\n\n\
         if [[ ${BASH_SOURCE[0]} == \"$0\" ]]; then\n  total\nfi\n",
    ),
    (
        "test.sh",
        "#!/usr/bin/env bash\n# Checks src/cart.sh; exits with 1 when a check fails.\n\
         cd \"$(dirname \"$0\")\" || exit\nsource src/cart.sh\nfailed=0\n\n\
         check() { # NAME EXPECTED PRICE...\n  local name=$1 expected=$2 got\n  shift 2\n  \
         got=$(for price in \"$@\"; do echo \"$price\"; done | total)\n  \
         if [[ $got == \"$expected\" ]]; then\n    echo \"ok: $name\"\n  else\n    \
         echo \"FAILED: $name: expected '$expected', got '$got'\"\n    failed=1\n  fi\n}\n\n\
         check \"one price\" 7 7\n\
         check \"several prices\" 10 1 2 3 4\n\
         check \"an empty cart costs nothing\" 0\n\
         exit \"$failed\"\n",
    ),
];

/// Makes the repository with a first commit, unless it is there.
pub(crate) fn make(repository: &Path) -> Result<()> {
    if repository.exists() {
        return Ok(());
    }
    // It gets its name when it is whole, so that a run that was broken off leaves no half of it.
    let fresh = repository.with_extension("new");
    if fresh.exists() {
        std::fs::remove_dir_all(&fresh)
            .with_context(|| format!("cannot remove {}", fresh.display()))?;
    }
    for (name, text) in FILES {
        let path = fresh.join(name);
        let folder = path.parent().unwrap_or(&fresh);
        std::fs::create_dir_all(folder)
            .and_then(|()| std::fs::write(&path, text))
            .with_context(|| format!("cannot write {}", path.display()))?;
    }
    git(&fresh, &["init", "--quiet"])?;
    git(&fresh, &["add", "--all"])?;
    git(&fresh, &["commit", "--quiet", "--message", "Add up prices"])?;
    std::fs::rename(&fresh, repository)
        .with_context(|| format!("cannot make {}", repository.display()))
}

/// Runs git with a fixed author, and without what a person's settings may add to a commit.
fn git(folder: &Path, arguments: &[&str]) -> Result<()> {
    let mut command = Command::new("git");
    for setting in [
        "user.name=Shard",
        "user.email=sample@shard.invalid",
        "commit.gpgSign=false",
        "core.hooksPath=/dev/null",
        "init.defaultBranch=main",
    ] {
        command.args(["-c", setting]);
    }
    command.args(arguments).current_dir(folder);
    // Git sets these where it runs a hook, and they would mean another repository.
    for name in ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"] {
        command.env_remove(name);
    }
    if !folder.is_dir() {
        bail!("{} is no folder", folder.display());
    }
    program::run(&mut command)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(folder: &Path, program: &str, arguments: &[&str]) -> (bool, String) {
        let mut command = Command::new(program);
        let output = command.args(arguments).current_dir(folder).output();
        let output = output.unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        (output.status.success(), text)
    }

    #[test]
    fn one_test_of_the_sample_fails_and_making_it_again_changes_nothing() {
        let root = tempfile::tempdir().unwrap();
        let sample = root.path().join("sample");
        std::fs::create_dir(root.path().join("sample.new")).unwrap();
        make(&sample).unwrap();
        assert_eq!(
            run(&sample, "bash", &["test.sh"]),
            (
                false,
                "ok: one price\nok: several prices\n\
                 FAILED: an empty cart costs nothing: expected '0', got ''\n"
                    .to_owned()
            )
        );
        let log = ["log", "--format=%an <%ae> %s"];
        let commit = "Shard <sample@shard.invalid> Add up prices\n".to_owned();
        assert_eq!(run(&sample, "git", &log), (true, commit));
        assert_eq!(
            run(&sample, "git", &["status", "--short"]),
            (true, String::new())
        );
        std::fs::write(sample.join("README.md"), "mine").unwrap();
        make(&sample).unwrap();
        let kept = std::fs::read_to_string(sample.join("README.md")).unwrap();
        assert_eq!(kept, "mine");
        assert!(!root.path().join("sample.new").exists());
    }
}
