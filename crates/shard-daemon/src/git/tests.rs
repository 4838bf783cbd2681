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

/// In real time: the end of a process takes some.
#[tokio::test]
async fn what_takes_too_long_is_ended_with_all_that_it_started() {
    let folder = tempfile::tempdir().unwrap();
    let git = git(folder.path(), "sleep 1000 & echo $! > pid; wait", &[]);
    let (place, patience) = (git.at(folder.path()), Duration::from_secs(2));
    let asked = git.run(&place, &["x".into()], patience, &Vec::new()).await;
    let error = asked.err().unwrap();
    assert!(matches!(error, GitError::TooSlow { .. }), "{error}");
    let pid = std::fs::read_to_string(folder.path().join("pid")).unwrap();
    assert!(pid.ends_with('\n'), "{pid:?}");
    let process = Path::new("/proc").join(pid.trim());
    let gone = async {
        while process.exists() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    let waited = timeout(Duration::from_secs(5), gone).await;
    assert!(waited.is_ok(), "waited until what it started is gone");
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
