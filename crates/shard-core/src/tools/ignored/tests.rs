use std::os::unix::fs::symlink;
use std::time::{Duration, Instant};

use rustix::fs::{CWD, Mode, mkfifoat};
use serde_json::json;

use super::super::bench::Bench;
use super::*;

/// Every kind of file that must not be read.
const BAD: [&str; 4] = ["zero", "fifo", "huge", "process"];

fn put_bad(kind: &str, path: &Path) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    match kind {
        "zero" => symlink("/dev/zero", path).unwrap(),
        "fifo" => mkfifoat(CWD, path, Mode::RWXU).unwrap(),
        "process" => symlink("/proc/self/environ", path).unwrap(),
        _ => std::fs::File::create(path)
            .unwrap()
            .set_len(1 << 32)
            .unwrap(),
    }
}

async fn found(bench: &Bench, path: &str) -> String {
    bench
        .good("find", json!({ "pattern": "*", "path": path }))
        .await
}

#[tokio::test]
async fn what_is_no_file_of_patterns_is_skipped_and_that_is_said() {
    for kind in BAD {
        for name in [".gitignore", ".ignore", ".git/info/exclude", ".git"] {
            let bench = Bench::new();
            bench.file("sub/f", "text\n");
            bench.file("sub/.ignore", "");
            put_bad(kind, &bench.cwd.join(name));
            for (tool, path) in [
                ("find", "."),
                ("find", "sub"),
                ("grep", "."),
                ("grep", "sub"),
            ] {
                let pattern = if tool == "find" { "f" } else { "text" };
                let input = json!({ "pattern": pattern, "path": path, "limit": 5 });
                let call = tokio::time::timeout(Duration::from_secs(5), bench.good(tool, input));
                let text = call
                    .await
                    .unwrap_or_else(|_| panic!("{kind} {name} {tool}"));
                assert!(
                    text.contains("sub/f") && text.contains("patterns not used: "),
                    "{text}"
                );
                assert!(text.contains(&format!("{name} ")), "{text}");
            }
        }
    }
}

#[test]
fn the_users_own_file_is_read_within_bounds() {
    for kind in BAD {
        for name in [
            ".gitconfig",
            "named",
            ".config/git/config",
            ".config/git/ignore",
        ] {
            let bench = Bench::new();
            let home = bench.root.join("home");
            put_bad(kind, &home.join(name));
            if name == "named" {
                let config = "[core]\n\texcludesFile = \"~/named\"\n";
                std::fs::write(home.join(".gitconfig"), config).unwrap();
            }
            let user = UserFiles::of(|name| (name == "HOME").then(|| home.clone().into()));
            let ignored = Ignored::above(&bench.cwd, &user, bench.cancel.clone());
            let note = ignored.note().unwrap();
            assert!(note.contains(&format!("{name} ")), "{note}");
        }
    }
}

#[test]
fn the_users_own_file_is_found_as_git_does() {
    let bench = Bench::new();
    let home = bench.root.join("home");
    std::fs::create_dir_all(home.join(".config/git")).unwrap();
    std::fs::write(home.join(".config/git/ignore"), "*.default\n").unwrap();
    let user = || UserFiles::of(|name| (name == "HOME").then(|| home.clone().into()));
    let leaves_out = |name: &str| {
        Ignored::above(&bench.cwd, &user(), bench.cancel.clone())
            .leaves_out(&bench.cwd.join(name), false)
    };
    assert!(leaves_out("a.default") && !leaves_out("a.named"));
    std::fs::write(home.join("mine"), "*.named\n").unwrap();
    std::fs::write(home.join(".gitconfig"), "[core]\nexcludesfile = ~/mine\n").unwrap();
    assert!(leaves_out("a.named") && !leaves_out("a.default"));
}

#[tokio::test]
async fn too_many_patterns_are_skipped() {
    let bench = Bench::new();
    bench.file(".gitignore", "*a*b?c[d]\n".repeat(20_000));
    bench.file("f", "");
    let started = Instant::now();
    let text = found(&bench, ".").await;
    assert!(text.contains("has more than 10000 patterns"), "{text}");
    assert!(started.elapsed() < Duration::from_secs(10));
    let deep = "d/".repeat(FILES + 5);
    for depth in 1..FILES + 5 {
        bench.file(&format!("{}.gitignore", &deep[..depth * 2]), "x\n");
    }
    let text = found(&bench, "d").await;
    assert!(text.contains("comes after too many others"), "{text}");
}

#[tokio::test]
async fn a_walk_compiles_only_so_much() {
    let bench = Bench::new();
    let text = format!("# {}\n", "x".repeat(FILE_BYTES - 3));
    let most = ALL_BYTES / FILE_BYTES;
    for nth in 0..=most {
        bench.file(&format!("{nth:02}/.gitignore"), &text);
    }
    let text = found(&bench, ".").await;
    let note = format!("/{most}/.gitignore comes after too many others]\n");
    assert!(text.ends_with(&note) && !text.contains("; "), "{text}");
}

#[tokio::test]
async fn the_nearest_pattern_decides() {
    let bench = Bench::new();
    bench.file("outer/.gitignore", "*.outer\n");
    let repo = "outer/repo";
    for (name, text) in [
        (
            ".git/info/exclude",
            "*.excluded\n!kept.log\n/sub/anchored\n",
        ),
        (
            ".gitignore",
            "\u{feff}*.log\r\n# no *.txt\nbuild/\n\\#odd\n\n",
        ),
        ("sub/.gitignore", "!special.log\n*.below\n"),
        ("sub/.ignore", "secret\n!again.below\n"),
        ("inner/.git/HEAD", ""),
    ] {
        bench.file(&format!("{repo}/{name}"), text);
    }
    for name in [
        "a.outer",
        "a.txt",
        "a.log",
        "#odd",
        "kept.log",
        "a.excluded",
        "build/x",
        "sub/special.log",
        "sub/other.log",
        "sub/a.below",
        "sub/again.below",
        "sub/secret",
        "sub/anchored",
        "sub/build",
        "inner/a.log",
        "inner/a.excluded",
        "a.below",
    ] {
        bench.file(&format!("{repo}/{name}"), "");
    }
    let all = |names: &[&str], prefix: &str| -> String {
        names
            .iter()
            .map(|name| format!("{prefix}{name}\n"))
            .collect()
    };
    let want = [
        ".gitignore",
        "a.below",
        "a.outer",
        "a.txt",
        "inner/",
        "inner/a.excluded",
        "inner/a.log",
        "sub/",
        "sub/.gitignore",
        "sub/.ignore",
        "sub/again.below",
        "sub/build",
        "sub/special.log",
    ];
    assert_eq!(found(&bench, repo).await, all(&want, "outer/repo/"));
    let below = [
        ".gitignore",
        ".ignore",
        "again.below",
        "build",
        "special.log",
    ];
    assert_eq!(
        found(&bench, "outer/repo/sub").await,
        all(&below, "outer/repo/sub/")
    );
    // Asked for by name, a folder is shown although it is left out elsewhere.
    assert_eq!(
        found(&bench, "outer/repo/build").await,
        "outer/repo/build/x\n"
    );
}

#[tokio::test]
async fn a_worktree_leaves_out_what_its_repository_does() {
    let bench = Bench::new();
    bench.file("store/info/exclude", "*.excluded\n");
    bench.file("store/worktrees/tree/commondir", "../..\n");
    bench.file("tree/.git", "gitdir: ../store/worktrees/tree\n");
    bench.file("tree/a.excluded", "");
    bench.file("tree/a.txt", "");
    assert_eq!(found(&bench, "tree").await, "tree/a.txt\n");
}

#[test]
fn an_abort_ends_the_reading_of_patterns() {
    let bench = Bench::new();
    bench.file(".ignore", "f\n");
    let leaves_out = || {
        let ignored = Ignored::above(
            &bench.cwd.join("sub"),
            &UserFiles::default(),
            bench.cancel.clone(),
        );
        ignored.leaves_out(&bench.cwd.join("sub/f"), false)
    };
    assert!(leaves_out());
    bench.cancel.cancel();
    assert!(!leaves_out());
}
